/** Threats LK-DISABLED, LK-CLOSED, LK-SIGNOUT: a sign-in rests on the owner of its credential, in every account and in every use. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSoftwarePasskey, type SoftwarePasskey } from '../support/browser/software-passkey.js';
import { Agent, type Answer, authorizeUrl, createPkce, postForm, signIn, titleOf } from '../support/client/agent.js';
import { isSignInPage } from '../support/client/authorization-response.js';
import { CIBA_GRANT, cibaClient } from '../support/client/ciba/call-centre.js';
import { credentialsOf, endpointsOf } from '../support/client/endpoints.js';
import { redeem, responseOf } from '../support/client/steps.js';
import { plainType, unusualType } from '../support/requests/both-doors.js';
import { samlAdminSeed } from '../support/saml/service/administration.js';
import { type RegisteredServiceProvider, useSamlService } from '../support/saml/service/use-saml-service.js';
import { travel } from '../support/saml/service-providers/travel.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const connection = { id: 'up', name: 'Up', issuer: '', clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
let upstream: UpstreamProvider;
beforeAll(async () => {
  upstream = await startUpstream();
  connection.issuer = upstream.issuer;
});
const service = useSamlService({
  hostname: 'localhost',
  seed: {
    ...samlAdminSeed,
    clients: [...samlAdminSeed.clients, cibaClient('desk')],
    extensions: { connections: [connection] },
  } as never,
  limits: { adminRequestsPerMinute: 100_000, signInFailuresPerAddress: 100_000 },
});
let provider: RegisteredServiceProvider;
beforeAll(async () => {
  upstream.register(service.issuer, ['up']);
  provider = await service.add();
});
afterAll(() => upstream?.close());

const pkce = createPkce();
const urlOf = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, {
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    scope: 'openid offline_access',
    ...parameters,
  });
const PASSWORD = 'the password of the parent';
const isIn = (answer: Answer): boolean => responseOf(answer).has('code');

interface Member {
  readonly tid: string;
  readonly oid: string;
  readonly personId: string;
  readonly userName: string;
}

async function member(more: object = {}): Promise<Member> {
  const name = `p-${randomUUID().slice(0, 8)}`;
  const userName = `${name}@tenants.test`;
  const { id: tid } = await service.idp.directory.tenants.create({ name });
  const { persons } = service.idp.tenant(tid);
  const user = { userName, status: 'active' as const, ...more };
  const { id: personId, user: made } = await persons.create({ givenName: name, familyName: 'P', email: userName, user });
  return { tid, oid: made?.id ?? '', personId, userName };
}

const roles = ['parent', 'child', 'sibling'] as const;
type Role = (typeof roles)[number];
type Family = Readonly<Record<Role, Member>> & { readonly subject: string };

/** Creates three accounts in three tenants. The credentials of the parent sign in to all three. */
async function family(): Promise<Family> {
  const subject = randomUUID();
  const parent = await member({ externalIdentities: [{ idp: 'up', subject }] });
  await service.idp.directory.credentials.seedPassword(parent.oid, PASSWORD);
  const [child, sibling] = [await member(), await member()];
  for (const { tid, oid } of [child, sibling]) await service.idp.tenant(tid).linking.link(oid, { tid: parent.tid, userId: parent.oid });
  return { parent, child, sibling, subject };
}

const choose = async (agent: Agent, page: Answer, { oid }: Member): Promise<Answer> =>
  agent.follow(await agent.submit(page, { choice: oid }));

/** Signs a browser in by the parent's password: to the parent, to the child, or by way of the child to the sibling. */
async function browserOf(people: Family, role: Role): Promise<{ readonly agent: Agent; readonly answer: Answer }> {
  const agent = new Agent();
  const first = role === 'parent' ? people.parent : people.child;
  const answer = await signIn(agent, urlOf({ acr_values: `tenant:${first.tid}` }), first.userName, PASSWORD);
  if (role !== 'sibling') return { agent, answer };
  const { sibling } = people;
  return {
    agent,
    answer: await choose(agent, await agent.follow(await agent.get(urlOf({ acr_values: `tenant:${sibling.tid}` }))), sibling),
  };
}

/** Events that happen to the owner of the credential. */
const events: Readonly<Record<string, (owner: Member) => Promise<unknown>>> = {
  nothing: async () => undefined,
  disabled: ({ tid, oid }) => service.idp.tenant(tid).users.disable(oid),
  'tenant disabled': ({ tid }) => service.idp.directory.tenants.disable(tid),
  'signed out everywhere': ({ tid, oid }) => service.idp.tenant(tid).users.signOutEverywhere(oid),
  async 'password reset'({ oid }) {
    const { passwordResets } = service.idp.directory;
    const due = await passwordResets.begin(oid, { requestId: randomUUID() });
    const ref = passwordResets.read(typeof due === 'object' ? String(due.url.split('/').at(-1)) : '');
    if (!ref) throw new Error('there is no link');
    await passwordResets.accept(ref, 'another password that is long');
  },
  'tenant removed': ({ tid }) => service.idp.directory.tenants.remove(tid),
  erased: ({ tid, personId }) => service.idp.tenant(tid).persons.remove(personId),
};

/** Uses a credential, or a sign-in that began before. Returns whether the use works. */
type Use = () => Promise<boolean>;

async function usesOf(people: Family, role: Role): Promise<Readonly<Record<string, Use>>> {
  const { issuer, idp } = service;
  const account = people[role];
  const other = people[role === 'parent' ? 'child' : 'parent'];
  const third = people[role === 'sibling' ? 'child' : 'sibling'];
  const { agent, answer } = await browserOf(people, role);
  const { json: tokens } = await redeem(issuer, { client: 'web', code: responseOf(answer).get('code') ?? '', verifier: pkce.verifier });
  let refreshToken: string = tokens.refresh_token;
  const by = (type: string) => ({ ...credentialsOf('web'), 'content-type': type });
  const refresh = (type: string) => async () => {
    const { json } = await postForm(`${issuer}/connect/token`, { grant_type: 'refresh_token', refresh_token: refreshToken }, by(type));
    refreshToken = json.refresh_token ?? refreshToken;
    return json.access_token !== undefined;
  };
  const introspection = (type: string) => async () =>
    (await postForm(`${issuer}/connect/introspect`, { token: tokens.access_token }, by(type))).json.active === true;

  const ask = () => postForm(`${issuer}/connect/ciba`, { scope: 'openid', login_hint: account.userName }, credentialsOf('desk'));
  const pageOf = async () => `${issuer}/idp/ciba/requests/${(await idp.ciba.pendingOf(account.oid))[0]?.id}`;
  const { json: approved } = await ask();
  await agent.submit(await agent.follow(await agent.get(await pageOf())), { decision: 'approve' });
  const { json: waiting } = await ask();
  const waitingAt = await pageOf();
  const poll = async (authReqId: string) =>
    (await postForm(`${issuer}/connect/token`, { grant_type: CIBA_GRANT, auth_req_id: authReqId }, credentialsOf('desk'))).json;

  const switches =
    ({ tid, oid }: Member) =>
    async () => {
      const page = await agent.follow(await agent.get(urlOf({ acr_values: `tenant:${tid}` })));
      return page.body.includes(`value="${oid}"`) && isIn(await choose(agent, page, { oid } as Member));
    };
  const back = async (page: Answer) => (isIn(page) ? page : choose(agent, page, account));
  return {
    'prompt=none': async () => isIn(await agent.get(urlOf({ prompt: 'none', acr_values: `tenant:${account.tid}` }))),
    refresh: refresh(plainType),
    'refresh by oidc-provider’s own handler': refresh(unusualType),
    userinfo: async () => (await endpointsOf(issuer).userinfo(tokens.access_token)).status === 200,
    introspection: introspection(plainType),
    'introspection by oidc-provider’s own handler': introspection(unusualType),
    'CIBA, approved before': async () => (await poll(approved.auth_req_id)).access_token !== undefined,
    'CIBA, to be approved': async () => {
      const page = await agent.follow(await agent.get(waitingAt));
      if (isSignInPage(page)) return false;
      await agent.submit(page, { decision: 'approve' });
      return (await poll(waiting.auth_req_id)).access_token !== undefined;
    },
    SAML: async () => (await travel(agent, provider.loginUrl)).body.includes('<h1>signed in as'),
    'account page': async () => {
      const page = await agent.follow(await agent.get(`${issuer}/idp/account`));
      return titleOf(page) === 'Your account' && page.body.includes(account.userName);
    },
    'account switch': switches(other),
    'account switch onwards, and back': async () => {
      if (!(await switches(third)())) return false;
      return isIn(await back(await agent.follow(await agent.get(urlOf({ acr_values: `tenant:${account.tid}` })))));
    },
  };
}

/** Returns new sign-ins by the parent's credentials. */
function signInsOf(people: Family, role: Role): Readonly<Record<'password' | 'connection', Use>> {
  const { tid, userName } = people[role];
  return {
    password: async () => isIn(await signIn(new Agent(), urlOf({ acr_values: `tenant:${tid}` }), userName, PASSWORD)),
    async connection() {
      const agent = new Agent();
      upstream.person = { sub: people.subject };
      const begun = await agent.follow(await agent.get(urlOf({ acr_values: `idp:up tenant:${tid}` })));
      return isIn(await agent.follow(await agent.get(await atUpstream(upstream, begun))));
    },
  };
}

async function withPasskey(people: Family): Promise<SoftwarePasskey> {
  const passkey = createSoftwarePasskey(service.issuer);
  const agent = new Agent();
  const page = await signIn(agent, urlOf({ acr_values: 'mfa' }), people.parent.userName, PASSWORD);
  expect(isIn(await passkey.enrolOn(agent, page))).toBe(true);
  return passkey;
}
async function byPasskey(passkey: SoftwarePasskey, { tid }: Member): Promise<boolean> {
  const agent = new Agent();
  const page = await agent.follow(await agent.get(urlOf({ acr_values: `idp:passkey tenant:${tid}` })));
  return isIn(await passkey.proveOn(agent, page));
}

const outcomes = async (uses: Readonly<Record<string, Use>>): Promise<Record<string, boolean>> => {
  const found: Record<string, boolean> = {};
  for (const [name, use] of Object.entries(uses)) found[name] = await use();
  return found;
};
const all = (uses: object, works: boolean): object => Object.fromEntries(Object.keys(uses).map((name) => [name, works]));

/** Credentials that sign in after the event. */
const left: Readonly<Record<string, readonly string[]>> = {
  nothing: ['password', 'connection', 'passkey'],
  'signed out everywhere': ['password', 'connection', 'passkey'],
  'password reset': ['connection', 'passkey'],
};

describe.each(Object.keys(events))('LK-DISABLED, LK-CLOSED, LK-SIGNOUT: the owner of the credential: %s', (event) => {
  const happen = (owner: Member) => events[event]?.(owner);

  test.each(roles)('%s: sign-ins of before', async (role) => {
    const people = await family();
    const uses = await usesOf(people, role);
    await happen(people.parent);
    expect(await outcomes(uses)).toEqual(all(uses, event === 'nothing'));
  });

  test('new sign-ins to the parent, the child and the sibling', async () => {
    const [people, holders] = [await family(), await family()];
    const passkey = await withPasskey(holders);
    for (const { parent } of [people, holders]) await happen(parent);
    for (const role of roles) {
      const found = { ...(await outcomes(signInsOf(people, role))), passkey: await byPasskey(passkey, holders[role]) };
      const expected = Object.keys(found).map((name) => [name, left[event]?.includes(name) ?? false]);
      expect([role, found]).toEqual([role, Object.fromEntries(expected)]);
    }
  });
});
