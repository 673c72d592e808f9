/** Threats LK-DISABLED, LK-SIGNOUT: sign-ins whose credential is not plainly the parent's, and the sessions and tokens of these. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Extension, GrantedSignIn } from 'tenant-idp/extension';
import { withCollections } from '../store/with-collections.js';
import { Agent, type Answer, authorizeUrl, createPkce, postForm, signIn, titleOf } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf, endpointsOf, isActive } from '../support/client/endpoints.js';
import { type LogoutReceiver, startLogoutReceiver } from '../support/client/receivers/logout-receiver.js';
import { redeem } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrolOn } from '../support/sign-in/factors.js';
import { impersonatingAt, operatorOptions } from '../support/sign-in/impersonating.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { until } from '../support/time/until.js';

const SLIP = 'urn:example:slip';
const slips = new Map<string, GrantedSignIn>();
const slipGrant: Extension = {
  name: 'slips',
  grantTypes: {
    [SLIP]: () => ({
      parameters: ['slip'],
      exchange: ({ parameters }) => slips.get(parameters.slip ?? '') ?? { error: 'invalid_grant' },
    }),
  },
};

let receiver: LogoutReceiver;
const store = memoryDirectory();
/** Names of the indexes by which documents of persons are read. */
const reads: string[] = [];
const service = useIdp(async () => {
  receiver = await startLogoutReceiver();
  const told = { backchannel_logout_uri: receiver.url, backchannel_logout_session_required: true };
  const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token', SLIP], ...told };
  const client = { id: 'app', name: 'App', secret: 'app-secret', metadata: code, allowedScopes: ['openid', 'profile'] };
  return {
    ...operatorOptions,
    directory: withCollections(store, (rows, name) =>
      name === 'persons'
        ? {
            find(where, page) {
              reads.push(...Object.keys(where));
              return rows.find(where, page);
            },
          }
        : {},
    ),
    seed: { ...operatorOptions.seed, clients: [...operatorOptions.seed.clients, client] } as never,
    extensions: [slipGrant],
    outgoing: { allowHosts: ['127.0.0.1'] },
    limits: { signInFailuresPerAddress: 100_000 },
  };
});
afterAll(() => receiver?.close());

const pkce = createPkce();
const urlOf = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, {
    client_id: 'app',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    scope: 'openid offline_access',
    ...parameters,
  });
const tokensOf = async (response: Answer) =>
  (await redeem(service.issuer, { client: 'app', code: membersOf(response).code ?? '', verifier: pkce.verifier })).json;
const endpoints = () => endpointsOf(service.issuer);
const silently = async (agent: Agent) => membersOf(await agent.get(urlOf({ prompt: 'none' })));

interface Member {
  readonly tid: string;
  readonly oid: string;
  readonly personId: string;
  readonly userName: string;
  readonly password: string;
}
async function member(): Promise<Member> {
  const password = `p-${randomUUID()}`;
  const userName = `${password}@tenants.test`;
  const { id: tid } = await service.idp.directory.tenants.create({ name: password.slice(0, 10) });
  const { id: personId, user } = await service.idp
    .tenant(tid)
    .persons.create({ givenName: 'P', familyName: 'P', user: { userName, status: 'active' } });
  const oid = user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, password);
  return { tid, oid, personId, userName, password };
}
const link = (child: Member, { tid, oid: userId }: Member) => service.idp.tenant(child.tid).linking.link(child.oid, { tid, userId });
async function pair(): Promise<{ readonly parent: Member; readonly child: Member }> {
  const [parent, child] = [await member(), await member()];
  await link(child, parent);
  return { parent, child };
}
/** Signs a browser in to the first account with the password of the second. Returns the browser and its tokens. */
async function browserOf({ userName }: Member, { password }: Member) {
  const agent = new Agent();
  return { agent, tokens: await tokensOf(await signIn(agent, urlOf(), userName, password)) };
}

describe('LK-DISABLED: the owner of the credential', () => {
  test('a parent who is enabled again signs in to the child as before; revoked sessions and tokens stay revoked', async () => {
    const { parent, child } = await pair();
    const { agent, tokens } = await browserOf(child, parent);
    const { users } = service.idp.tenant(parent.tid);
    await users.disable(parent.oid);
    await users.enable(parent.oid);
    expect(await silently(agent)).toMatchObject({ error: 'login_required' });
    expect((await endpoints().refresh(tokens.refresh_token, 'app')).status).toBe(400);
    expect((await browserOf(child, parent)).tokens).toHaveProperty('refresh_token');
  });

  test('a sign-in that the child’s own credential made before the link rests on the child alone', async () => {
    const [parent, child] = [await member(), await member()];
    const { agent, tokens } = await browserOf(child, child);
    await link(child, parent);
    await service.idp.tenant(parent.tid).users.disable(parent.oid);
    const now = await tokensOf(await agent.get(urlOf({ prompt: 'none' })));
    expect(decodeJwt(now.id_token)).toMatchObject({ sub: child.oid, tid: child.tid });
    const { json: refreshed } = await endpoints().refresh(tokens.refresh_token, 'app');
    expect(refreshed).toHaveProperty('refresh_token');
    // The next sign-in requires the parent's credentials, which do not work while the parent is disabled.
    for (const { password } of [child, parent])
      expect((await signIn(new Agent(), urlOf(), child.userName, password)).location).toBeUndefined();
    await service.idp.tenant(child.tid).users.signOutEverywhere(child.oid);
    expect(await silently(agent)).toMatchObject({ error: 'login_required' });
    expect((await endpoints().refresh(refreshed.refresh_token, 'app')).status).toBe(400);
  });

  test('such a sign-in changes nothing of the parent: neither factors nor links, and a factor that it sets up is the child’s own', async () => {
    const [parent, child] = [await member(), await member()];
    const { agent } = await browserOf(child, child);
    await link(child, parent);
    const factors = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    expect(isSignInPage(factors) || factors.body.includes('name="password"')).toBe(true);
    const list = await agent.follow(await agent.get(`${service.issuer}/idp/linked-accounts`));
    const asked = await agent.follow(await agent.submit(list, { step: 'link' }));
    expect(isSignInPage(asked) || asked.body.includes('name="password"')).toBe(true);
    const step = await agent.follow(await agent.get(urlOf({ acr_values: 'mfa' })));
    const { response } = await enrolOn(agent, step);
    expect(decodeJwt((await tokensOf(response)).id_token)).toMatchObject({ sub: child.oid, amr: ['pwd', 'mfa'] });
    // The parent has no factor. `mfa` lets the parent set up the first one, and other sign-ins require none.
    const fresh = new Agent();
    expect(titleOf(await signIn(fresh, urlOf({ acr_values: 'mfa' }), parent.userName, parent.password))).toBe('Set up a second factor');
    expect((await browserOf(child, parent)).tokens).toHaveProperty('access_token');
  });

  test('a parent whose row cannot be read refuses, and ends nothing for good', async () => {
    const { parent, child } = await pair();
    const { agent, tokens } = await browserOf(child, parent);
    const persons = store.collection<{ id: string; version: number; givenName: unknown }>('persons');
    await persons.update(parent.personId, (row) => ({ ...row, givenName: 5 }));
    expect(await silently(agent)).toMatchObject({ error: 'login_required' });
    expect(await isActive(endpoints(), tokens.access_token, 'app')).toBe(false);
    expect((await signIn(new Agent(), urlOf(), child.userName, parent.password)).location).toBeUndefined();
    await persons.update(parent.personId, (row) => ({ ...row, givenName: 'P' }));
    expect(await silently(agent)).toHaveProperty('code');
    expect((await endpoints().refresh(tokens.refresh_token, 'app')).status).toBe(200);
  });

  test('sign-ins without a recorded owner rest on the parent: a grant type of an extension, and a grant that a host made', async () => {
    const { parent, child } = await pair();
    slips.set('one', { oid: child.oid, amr: ['pwd'], idp: 'local', authTime: epochSeconds(), scopes: ['openid', 'offline_access'] });
    const { json: slip } = await postForm(`${service.issuer}/connect/token`, { grant_type: SLIP, slip: 'one' }, credentialsOf('app'));
    const { provider } = service.idp;
    const client = await provider.Client.find('app');
    const grant = new provider.Grant({ clientId: 'app', accountId: child.oid });
    grant.addOIDCScope('openid');
    const members = { accountId: child.oid, client, grantId: await grant.save(), gty: 'of_the_host', scope: 'openid' } as never;
    const ofHost = await new provider.AccessToken(members).save();
    const active = () => Promise.all([slip.access_token, ofHost].map((token) => isActive(endpoints(), token, 'app')));
    expect(await active()).toEqual([true, true]);
    await service.idp.tenant(parent.tid).users.disable(parent.oid);
    expect(await active()).toEqual([false, false]);
    expect((await endpoints().refresh(slip.refresh_token, 'app')).status).toBe(400);
  });

  test('an account that is not linked takes one read of a person for each refresh, a linked one two', async () => {
    const { parent, child } = await pair();
    for (const [account, expected] of [
      [parent, 1],
      [child, 2],
    ] as const) {
      const { tokens } = await browserOf(account, parent);
      reads.length = 0;
      await endpoints().refresh(tokens.refresh_token, 'app');
      // The outbox reads persons too.
      expect(reads.filter((index) => index !== 'byOutbox')).toEqual(Array(expected).fill('byUser'));
    }
  });
});

test('LK-SIGNOUT: signing the parent out everywhere notifies the clients of the child', async () => {
  const { parent, child } = await pair();
  const { tokens } = await browserOf(child, parent);
  const { sid } = decodeJwt(tokens.id_token);
  const list = () => service.idp.sessions.list({ tid: child.tid, userId: child.oid });
  expect(await list()).toHaveLength(1);
  await service.idp.tenant(parent.tid).users.signOutEverywhere(parent.oid);
  expect(await list()).toEqual([]);
  await until(() => receiver.tokens.some((token) => decodeJwt(token).sid === sid));
});

describe('LK-DISABLED: impersonation by, and of, a linked account', () => {
  let support: ReturnType<typeof impersonatingAt>;
  beforeAll(() => {
    support = impersonatingAt(service);
  });
  const known = async (name: string) => {
    const [account] = await service.idp.directory.accounts.candidates(name);
    if (!account) throw new Error(`nobody is called ${name}`);
    return { tid: account.tenant.id, oid: account.person.user.id };
  };

  test.each([
    ['the impersonator', 'olga@acme.test', 'bob@globex.test'],
    ['the impersonated user', 'olga@acme.test', 'alice@globex.test'],
  ])('it ends when the owner of the credentials of %s is disabled', async (who, operator, target) => {
    const { tid, oid } = await known(who === 'the impersonator' ? operator : 'alice@acme.test');
    const { agent, response } = await support.act(target, { operator });
    const tokens = await support.redeem(response);
    expect(decodeJwt(tokens.id_token)).toMatchObject({ act: expect.anything() });
    expect(await isActive(endpoints(), tokens.access_token)).toBe(true);
    const { users } = service.idp.tenant(tid);
    await users.disable(oid);
    expect(await isActive(endpoints(), tokens.access_token)).toBe(false);
    expect(await support.now(agent)).not.toHaveProperty('act');
    await users.enable(oid);
    expect(await isActive(endpoints(), tokens.access_token)).toBe(false);
  });
});
