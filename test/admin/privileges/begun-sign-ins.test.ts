/**
 * Sign-ins by a means that an administrator without the privilege put in place, before the privilege was granted. Each means is tried over
 * HTTP with each grant that needs no confirmation. Sessions and tokens of the sign-in end with the grant. If an administrator who holds the
 * privilege confirms the means, the user signs in again.
 */
import { describe, expect, test } from '@jest/globals';
import { adminSeed } from '../../support/administration/admin.js';
import {
  GRANTED,
  lowAndHolder,
  type Member,
  ok,
  orgTenant,
  subjectOf,
  useAdministrators,
} from '../../support/administration/administrators.js';
import { createSoftwarePasskey } from '../../support/browser/software-passkey.js';
import { Agent, type Answer, authorizeUrl, createPkce, type Json, signIn, titleOf } from '../../support/client/agent.js';
import { isSignInPage } from '../../support/client/authorization-response.js';
import { introspect, redeem, refresh, userinfo } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { cibaClient, createAsking, redeem as redeemRequest } from '../../support/sign-in/ciba.js';
import { submit } from '../../support/sign-in/factors.js';
import { atUpstream } from '../../support/sign-in/upstream-provider.js';

const PASSWORD = 'a password that is long';
type Writer = 'low' | 'holder';

const asking = createAsking(() => service.idp);
/** Tenants without privileges, in which `low` may change connections, each with a connection of its name. */
const plain = Array.from({ length: 8 }, (_, index) => `plain-${index}`);
const { service, by, tidOf, upstream, providerFields, record, ...administrators } = useAdministrators({
  tenants: [orgTenant, { name: 'Home' }, ...plain.map((name) => ({ name }))],
  administrators: lowAndHolder(['Org', 'Home', ...plain]),
  connections: [
    { id: 'up', tenant: 'Org', name: 'up' },
    { id: 'home', tenant: 'Home', name: 'home' },
    ...plain.map((name) => ({ id: name, tenant: name, name })),
  ],
  clients: [
    ...adminSeed.clients.map((client) => (client.id === 'web' ? { ...client, allowedScopes: [...client.allowedScopes, GRANTED] } : client)),
    cibaClient('desk'),
  ],
  hostname: 'localhost',
  extensions: [asking.extension],
});

let count = 0;
const unused = [...plain];
const member = (tenant: string, password?: string, status?: 'invited') => administrators.member(tidOf(tenant), { password, status });

const pkce = createPkce();
const start = (more: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, {
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    scope: 'openid perms offline_access',
    ...more,
  });
const codeIn = ({ location }: Answer): string | undefined =>
  location === undefined ? undefined : (new URL(location).searchParams.get('code') ?? undefined);
const isCode = (answer: Answer): boolean => codeIn(answer) !== undefined;
const open = async (agent: Agent, url: string) => agent.follow(await agent.get(url));

async function atProvider(agent: Agent, idp: string, userId: string): Promise<Answer> {
  upstream().person = { sub: subjectOf(userId), email: 'x@y.test' };
  return agent.follow(
    await agent.get(await atUpstream(upstream(), await open(agent, start({ acr_values: `idp:${idp}`, prompt: 'login' })))),
  );
}
interface Begun {
  /** The signed-in user that gets the privilege. */
  readonly target: Member;
  readonly agent: Agent;
  /** Signs in by the same means again. */
  again(agent: Agent): Promise<Answer>;
}

/** Functions that sign in by a means that the writer put in place. */
const means = {
  'an identity': async (writer: Writer): Promise<Begun> => {
    const target = await member('Org');
    await record(by(writer), target, 'up');
    return begunBy(target, (agent) => atProvider(agent, 'up', target.userId));
  },
  'the settings of a connection': async (writer: Writer): Promise<Begun> => {
    const name = unused.pop() ?? '';
    const target = await member(name);
    await record(by('root'), target, name);
    ok(await by(writer).patch(`/tenants/${target.tid}/connections/${name}`, { parameters: [{ name: 'hd', value: 'x' }] }));
    return begunBy(target, (agent) => atProvider(agent, name, target.userId));
  },
  'a password that an invitation link set': async (writer: Writer): Promise<Begun> => {
    const target = await member('Org', undefined, 'invited');
    const { tid, userId, userName } = target;
    const { id } = ok(await by(writer).post(`/tenants/${tid}/invitations`, { userId, send: false })).json as { readonly id: string };
    const url = String(ok(await by(writer)(`/tenants/${tid}/invitations/${id}/link`)).json.url);
    const agent = new Agent();
    await agent.follow(await agent.submit(await agent.get(url), { password: PASSWORD }));
    expect(isCode(await open(agent, start()))).toBe(true);
    return { target, agent, again: (other) => signIn(other, start(), userName, PASSWORD) };
  },
  'a passkey that was added in such a sign-in': async (writer: Writer): Promise<Begun> => {
    const target = await member('Org');
    await record(by(writer), target, 'up');
    const { agent } = await begunBy(target, (first) => atProvider(first, 'up', target.userId));
    const passkey = createSoftwarePasskey(service.issuer);
    const list = await passkey.enrolOn(agent, await open(agent, `${service.issuer}/idp/factors`));
    expect(titleOf(list)).toBe('Second factor and passkeys');
    return begunBy(target, async (other) => passkey.proveOn(other, await open(other, start({ acr_values: 'idp:passkey' }))));
  },
  'an account link': async (writer: Writer): Promise<Begun> => {
    const [parent, target] = [await member('Home', PASSWORD), await member('Org')];
    ok(await by(writer).post(`/tenants/${target.tid}/users/${target.userId}/link/${parent.userId}`));
    return begunBy(target, (agent) => signIn(agent, start(), target.userName, PASSWORD));
  },
  'an identity of the parent': async (writer: Writer): Promise<Begun> => {
    const [parent, target] = [await member('Home'), await member('Org')];
    await service.idp.tenant(target.tid).linking.link(target.userId, { tid: parent.tid, userId: parent.userId });
    await record(by(writer), parent, 'home');
    return begunBy(target, async (agent) => {
      const page = await atProvider(agent, 'home', parent.userId);
      if (!isCode(page)) return page;
      const chooser = await open(agent, start({ acr_values: `tenant:${target.tid}` }));
      return agent.follow(await agent.submit(chooser, { choice: target.userId }));
    });
  },
} as const satisfies Record<string, (writer: Writer) => Promise<Begun>>;

async function begunBy(target: Member, again: Begun['again']): Promise<Begun> {
  const agent = new Agent();
  expect(isCode(await again(agent))).toBe(true);
  return { target, agent, again };
}

/** Functions that give the privilege without a confirmation. */
const grants = {
  'host code puts the user into a group': async ({ tid, userId }: Member) => {
    count += 1;
    const { groups, users } = service.idp.tenant(tid);
    const { id } = await groups.create({ name: `Group ${count}`, permissionIds: [GRANTED] });
    await users.addGroups(userId, { ids: [id] });
  },
  'host code gives a permission to a group of the user': async (target: Member) => {
    const { tid, id } = await groupWith(target);
    await service.idp.tenant(tid).groups.update(id, { permissionIds: [GRANTED] });
  },
} as const;

/** Creates a group without permissions, and adds the user. */
async function groupWith({ tid, userId }: Member): Promise<{ readonly tid: string; readonly id: string }> {
  count += 1;
  const { groups, users } = service.idp.tenant(tid);
  const { id } = await groups.create({ name: `Group ${count}` });
  await users.addGroups(userId, { ids: [id] });
  return { tid, id };
}

/** Gives a client and a browser tokens, a code, a request and a session of one sign-in. Returns a function that uses each of them. */
async function keep({ target, agent }: Pick<Begun, 'target' | 'agent'>) {
  const acr = { acr_values: `tenant:${target.tid}` };
  const codes = [await open(agent, start(acr)), await open(agent, start(acr))].map((answer) => String(codeIn(answer)));
  const [first = '', waiting = ''] = codes;
  const redeemed = (code: string) => redeem(service.issuer, { client: 'web', code, verifier: pkce.verifier });
  const { json: tokens } = await redeemed(first);
  expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
  const asked = await asking.ask(target.userName);
  const page = await open(agent, `${service.issuer}/idp/ciba/requests/${asked.request.id}`);
  await submit(agent, page, { decision: 'approve' });
  expect((await asking.requests.read(asked.request.id))?.state).toBe('approved');

  return async () => {
    const silent = await open(agent, start({ ...acr, prompt: 'none', scope: 'openid' }));
    const own = await open(agent, `${service.issuer}/idp/factors`);
    const answers = {
      'refresh token': await refresh(service.issuer, String(tokens.refresh_token)),
      code: await redeemed(waiting),
      'approved request': await redeemRequest(service.issuer, asked.authReqId),
    };
    return {
      introspection: (await introspect(service.issuer, tokens.access_token)).json.active as boolean,
      userinfo: (await userinfo(service.issuer, tokens.access_token)).status,
      session: isCode(silent) ? 'goes on' : new URL(String(silent.location)).searchParams.get('error'),
      'page of their own': isSignInPage(own) ? 'sign-in' : titleOf(own),
      ...Object.fromEntries(Object.entries(answers).map(([name, { status, json }]) => [name, [status, (json as Json).error]])),
    };
  };
}
const goesOn = {
  introspection: true,
  userinfo: 200,
  session: 'goes on',
  'page of their own': 'Second factor and passkeys',
  'refresh token': [200, undefined],
  code: [200, undefined],
  'approved request': [200, undefined],
};
const ended = {
  introspection: false,
  userinfo: 401,
  session: 'login_required',
  'page of their own': 'sign-in',
  'refresh token': [400, 'invalid_grant'],
  code: [400, 'invalid_grant'],
  'approved request': [400, 'invalid_grant'],
};

const names = Object.keys(means) as (keyof typeof means)[];
const ways = Object.keys(grants) as (keyof typeof grants)[];

describe.each(names.flatMap((name) => ways.map((way) => [name, way] as const)))(
  'T3-POS-IDENTITY: a sign-in by %s, then %s',
  (name, way) => {
    test('ends with all that came of it, if the means of somebody who lacks the privilege began it', async () => {
      const begun = await means[name]('low');
      const kept = await keep(begun);
      await grants[way](begun.target);
      const lines = service.lines.length;
      expect(await kept()).toEqual(ended);
      expect(
        service.lines.slice(lines).map(({ fields, message }) => ({ message, user: fields.user, reason: fields.reason })),
      ).toContainEqual({
        message: 'sign-in not continued',
        user: begun.target.userId,
        reason: 'unconfirmed',
      });
      expect(isCode(await begun.again(new Agent()))).toBe(false);
    });

    test('goes on, if the means of somebody who holds the privilege began it', async () => {
      const begun = await means[name]('holder');
      const kept = await keep(begun);
      await grants[way](begun.target);
      expect(await kept()).toEqual(goesOn);
    });
  },
);

describe.each(names)('a sign-in by %s', (name) => {
  test('goes on while the user has no privileges', async () => {
    expect(await (await keep(await means[name]('low')))()).toEqual(goesOn);
  });

  test('ends when somebody who holds the privilege confirms the means, but for an account link', async () => {
    const begun = await means[name]('low');
    const kept = await keep(begun);
    const { tid, id } = await groupWith(begun.target);
    const path = `/tenants/${tid}/groups/${id}`;
    const refused = await by('root').patch(path, { permissionIds: [GRANTED] });
    expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
    ok(await by('root').patch(path, { permissionIds: [GRANTED], confirm: true }));
    expect(await kept()).toEqual(name === 'an account link' ? goesOn : ended);
  });
});

/** Ways in which `low` hides the settings by which it signed in as another user. */
const hides = {
  'put the settings back, and an operator confirmed them for another user': async (name: string, tid: string) => {
    ok(await by('low').patch(`/tenants/${tid}/connections/${name}`, { subjectClaim: 'sub' }));
    const other = await member(name);
    await record(by('root'), other, name);
    const path = `/tenants/${tid}/groups/${(await groupWith(other)).id}`;
    expect((await by('root').patch(path, { permissionIds: [GRANTED] })).status).toBe(409);
    ok(await by('root').patch(path, { permissionIds: [GRANTED], confirm: true }));
  },
  'removed the connection': async (name: string, tid: string) => {
    ok(await by('low').remove(`/tenants/${tid}/connections/${name}`));
  },
} as const;
test.each(Object.keys(hides) as (keyof typeof hides)[])(
  'T3-POS-IDENTITY: a passkey of a sign-in by changed settings does not count after the administrator %s',
  async (hide) => {
    const name = unused.pop() ?? '';
    const target = await member(name);
    await record(by('root'), target, name);
    ok(await by('low').patch(`/tenants/${target.tid}/connections/${name}`, { subjectClaim: 'oid' }));
    upstream().person = { sub: 'stranger', oid: subjectOf(target.userId) };
    const agent = new Agent();
    const begun = await open(agent, start({ acr_values: `idp:${name}` }));
    expect(isCode(await agent.follow(await agent.get(await atUpstream(upstream(), begun))))).toBe(true);
    await hides[hide](name, target.tid);
    const passkey = createSoftwarePasskey(service.issuer);
    await passkey.enrolOn(agent, await open(agent, `${service.issuer}/idp/factors`));
    const proven = async (other = new Agent()) => passkey.proveOn(other, await open(other, start({ acr_values: 'idp:passkey' })));
    expect(isCode(await proven())).toBe(true);
    await grants['host code puts the user into a group'](target);
    expect(titleOf(await proven())).toBe('Your passkey must be confirmed first');
  },
);

describe('a consent that was given in such a sign-in', () => {
  const asks = { client_id: 'third-party', scope: 'openid profile', redirect_uri: redirectUri };
  const isConsentPage = (page: Answer): boolean => page.body.includes('value="allow"');
  const allow = async (agent: Agent, page: Answer) => {
    expect(isConsentPage(page)).toBe(true);
    expect(isCode(await agent.follow(await agent.submit(page, { decision: 'allow' })))).toBe(true);
  };

  test.each(['low', 'holder'] as const)('by a means of %s', async (writer) => {
    const target = await member('Org', PASSWORD);
    await record(by(writer), target, 'up');
    const { agent } = await begunBy(target, (first) => atProvider(first, 'up', target.userId));
    await allow(agent, await open(agent, start(asks)));
    expect(isCode(await open(agent, start(asks)))).toBe(true);
    const byPassword = () => signIn(new Agent(), start(asks), target.userName, PASSWORD);
    expect(isCode(await byPassword())).toBe(true);
    await grants['host code puts the user into a group'](target);
    if (writer === 'holder') return expect(isCode(await byPassword())).toBe(true);
    const own = new Agent();
    await allow(own, await signIn(own, start(asks), target.userName, PASSWORD));
    // The consent of this sign-in counts from now on.
    expect(isCode(await byPassword())).toBe(true);
  });
});

test('a mapping that gives the privilege in another sign-in ends the sign-in', async () => {
  const target = await member('Org');
  const { tid, userId } = target;
  const group = await service.idp.tenant(tid).groups.create({ name: 'Mapped', permissionIds: [GRANTED] });
  const mapping = { groups: { update: true, claim: 'groups', values: [{ value: 'staff', groupId: group.id }] } };
  const fields = { ...providerFields(), name: 'Mapped', mapping };
  const { id } = ok(await by('root').post(`/tenants/${tid}/connections`, fields)).json as { readonly id: string };
  upstream().register(service.issuer, ['up', 'home', ...plain, id]);
  const mapped = { idp: id, subject: 'mapped' };
  ok(await by('root').patch(`/tenants/${tid}/users/${userId}`, { externalIdentities: [mapped] }));
  const low = { idp: 'up', subject: subjectOf(userId) };
  ok(await by('low').patch(`/tenants/${tid}/users/${userId}`, { externalIdentities: [mapped, low] }));
  const kept = await keep(await begunBy(target, (agent) => atProvider(agent, 'up', userId)));
  upstream().person = { sub: 'mapped', groups: ['staff'] };
  const agent = new Agent();
  const answer = await agent.get(await atUpstream(upstream(), await open(agent, start({ acr_values: `idp:${id}` }))));
  expect(isCode(await agent.follow(answer))).toBe(true);
  expect((await service.idp.tenant(tid).users.require(userId)).user.groupIds).toEqual([group.id]);
  expect(isCode(await open(agent, start({ prompt: 'none' })))).toBe(true);
  expect(await kept()).toEqual(ended);
});

test('of two identities of one connection, each sign-in counts for its own', async () => {
  const target = await member('Org');
  const path = `/tenants/${target.tid}/users/${target.userId}`;
  const own = { idp: 'up', subject: `own of ${target.userId}` };
  const low = { idp: 'up', subject: subjectOf(target.userId) };
  ok(await by('root').patch(path, { externalIdentities: [own] }));
  ok(await by('low').patch(path, { externalIdentities: [own, low] }));
  const kept = await keep(await begunBy(target, (agent) => atProvider(agent, 'up', target.userId)));
  const signInByOwn = async (agent: Agent) => {
    upstream().person = { sub: own.subject };
    return agent.follow(await agent.get(await atUpstream(upstream(), await open(agent, start({ acr_values: 'idp:up', prompt: 'login' })))));
  };
  const keptOfOwn = await keep(await begunBy(target, signInByOwn));
  await grants['host code puts the user into a group'](target);
  expect([await kept(), await keptOfOwn()]).toEqual([ended, goesOn]);
  const { agent } = await begunBy(target, signInByOwn);
  expect(isCode(await open(agent, start({ prompt: 'none' })))).toBe(true);
});
