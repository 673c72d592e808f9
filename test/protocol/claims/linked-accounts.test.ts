import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify } from 'jose';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let receiver: LogoutReceiver;
let endpoints: Endpoints;
const service = useIdp(async () => {
  receiver = await startLogoutReceiver();
  return { outgoing: callLoopback };
});
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  const { metadata } = await service.idp.directory.clients.require('jwt');
  await service.idp.directory.clients.update('jwt', {
    metadata: { ...metadata, backchannel_logout_uri: receiver.url, backchannel_logout_session_required: true },
  });
});
afterAll(async () => {
  receiver.close();
});
beforeEach(() => {
  receiver.tokens.length = 0;
});

const offline = { scope: 'openid org offline_access' };
const acmeAlice = { userName: 'alice@acme.test', password: 'alice' };
const globexAlice = { userName: 'alice@globex.test', password: 'alice' };
const bob = { userName: 'bob@globex.test', password: 'bob' };
const asJwt = { client: 'jwt', secret: 'jwt-secret' };

const accountOf = async (userName: string) => {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  if (!account) throw new Error(`no ${userName}`);
  return { oid: account.person.user.id, tid: account.tenant.id, tenantName: account.tenant.name };
};
const silently = async (agent: Agent, parameters: Record<string, string> = {}) => {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const { location = '' } = await agent.get(authorizeUrl(service.issuer, { prompt: 'none', ...challenge, ...parameters }));
  return new URL(location).searchParams;
};
const endSession = async (agent: Agent, idToken: string) =>
  agent.follow(await agent.get(`${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: idToken })}`));

/** Returns the claims that identify the user of a token. */
const identity = ({ sub, tid, oid }: Json) => ({ sub, tid, oid });

describe('Special claims: a linked user', () => {
  /** Signs in as this account, and returns each output that names the user, by the name of the output. */
  async function outputs(account: typeof acmeAlice): Promise<Record<string, Json>> {
    const { agent, tokens } = await obtainTokens(service.issuer, { ...account, ...asJwt, scope: 'openid org offline_access orders.read' });
    const refreshed = (await endpoints.refresh(tokens.refresh_token, 'jwt')).json;
    const reference = (await obtainTokens(service.issuer, { agent, scope: 'openid org' })).tokens;
    const own = credentialsOf('jwt');
    const asJwtOf = { ...own, accept: 'application/token-introspection+jwt' };
    const introspected = await postForm(`${service.issuer}/connect/introspect`, { token: tokens.access_token }, asJwtOf);
    const { sub, tid, oid } = decodeJwt(tokens.id_token) as Json;
    const scopeIntrospection = async (query: Record<string, string>) =>
      (await postForm(`${service.issuer}/connect/scope/introspect`, query, own)).json;
    const answers = {
      'ID token': decodeJwt(tokens.id_token),
      'refreshed ID token': decodeJwt(refreshed.id_token),
      'JWT access token': decodeJwt(tokens.access_token),
      'refreshed JWT access token': decodeJwt(refreshed.access_token),
      userinfo: (await endpoints.userinfo(tokens.access_token)).json,
      'userinfo after a refresh': (await endpoints.userinfo(refreshed.access_token)).json,
      introspection: (await endpoints.introspect(tokens.access_token, 'jwt')).json,
      'introspection by the API resource': (await endpoints.introspect(tokens.access_token, 'orders')).json,
      'introspection of the refresh token': (await endpoints.introspect(refreshed.refresh_token, 'jwt')).json,
      'introspection as a JWT': (decodeJwt(introspected.text) as Json).token_introspection,
      'scope introspection': await scopeIntrospection({ sub, tid }),
      'scope introspection by oid': await scopeIntrospection({ sub: oid, tid }),
      'ID token of another client': decodeJwt(reference.id_token),
      'introspection of a reference token': (await endpoints.introspect(reference.access_token)).json,
      'userinfo with a reference token': (await endpoints.userinfo(reference.access_token)).json,
    };
    await endSession(agent, tokens.id_token);
    return answers;
  }

  test('Special claims: has one sub in both tenants, and a tid and oid of its own in each, the same in every output', async () => {
    const parent = await accountOf('alice@acme.test');
    const child = await accountOf('alice@globex.test');
    for (const [account, { oid, tid }] of [
      [acmeAlice, parent],
      [globexAlice, child],
    ] as const) {
      const named = Object.entries(await outputs(account)).map(([name, claims]) => [name, identity(claims)]);
      expect(Object.fromEntries(named)).toEqual(Object.fromEntries(named.map(([name]) => [name, { sub: parent.oid, oid, tid }])));
    }
  });

  test('Special claims: the logout token names the same sub, and the session of the ID token', async () => {
    const { oid: sub } = await accountOf('alice@acme.test');
    for (const account of [acmeAlice, globexAlice]) {
      receiver.tokens.length = 0;
      const { agent, tokens } = await obtainTokens(service.issuer, { ...account, ...asJwt, ...offline });
      await endSession(agent, tokens.id_token);
      await receiver.received(1);
      expect(receiver.tokens).toHaveLength(1);
      const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });
      const { payload } = await jwtVerify(receiver.tokens[0] ?? '', keys, { issuer: service.issuer, audience: 'jwt', typ: 'logout+jwt' });
      expect(payload).toMatchObject({
        sub,
        sid: decodeJwt(tokens.id_token).sid,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        jti: expect.any(String),
        exp: expect.any(Number),
      });
      expect(payload).not.toHaveProperty('nonce');
    }
  });

  test('Special claims: may_login lists the other account, in scope org only', async () => {
    const parent = await accountOf('alice@acme.test');
    const child = await accountOf('alice@globex.test');
    const mayLogin = async (account: typeof acmeAlice, scope: string) =>
      (await endpoints.userinfo((await obtainTokens(service.issuer, { ...account, scope })).tokens.access_token)).json.may_login;
    expect(await mayLogin(acmeAlice, 'openid org')).toEqual([{ oid: child.oid, tid: child.tid, companyname: 'Globex' }]);
    expect(await mayLogin(globexAlice, 'openid org')).toEqual([{ oid: parent.oid, tid: parent.tid, companyname: 'Acme' }]);
    expect(await mayLogin(acmeAlice, 'openid profile')).toBeUndefined();
  });

  test('design §3: a user without links has no oid', async () => {
    const { tokens } = await obtainTokens(service.issuer, { ...bob, scope: 'openid org' });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('oid');
    expect(decodeJwt(tokens.id_token).sub).toBe((await accountOf('bob@globex.test')).oid);
    expect((await endpoints.userinfo(tokens.access_token)).json).not.toHaveProperty('may_login');
  });

  test('design §3: `tenant:` admits the account of that tenant and no other', async () => {
    const { tid } = await accountOf('alice@globex.test');
    const { agent } = await obtainTokens(service.issuer, acmeAlice);
    expect((await silently(agent, { acr_values: `tenant:${tid}` })).get('error')).toBe('account_selection_required');
    // A user name of a linked account of another tenant does not sign in here. The parent's does (test/linked-accounts/parent-names).
    const { tid: acme } = await accountOf('alice@acme.test');
    const refused = await signIn(
      new Agent(),
      authorizeUrl(service.issuer, { acr_values: `tenant:${acme}`, code_challenge: createPkce().challenge, code_challenge_method: 'S256' }),
      'alice@globex.test',
    );
    expect([refused.status, refused.location]).toEqual([400, undefined]);
    const { tokens } = await obtainTokens(service.issuer, { ...globexAlice, acr_values: `tenant:${tid}` });
    expect(decodeJwt(tokens.id_token).tid).toBe(tid);
  });
});

describe('design §3: id_token_hint tells linked accounts apart', () => {
  test('design §3: the hint of one account yields no tokens of the other', async () => {
    const acme = await obtainTokens(service.issuer, acmeAlice);
    const globex = await obtainTokens(service.issuer, globexAlice);
    expect((await silently(globex.agent, { id_token_hint: acme.tokens.id_token })).get('error')).toBe('login_required');
    expect((await silently(acme.agent, { id_token_hint: globex.tokens.id_token })).get('error')).toBe('login_required');
    expect((await silently(globex.agent, { id_token_hint: globex.tokens.id_token })).has('code')).toBe(true);
  });

  test('design §3: nor after a switch in the same browser, though both were signed in there', async () => {
    const { agent, tokens: acme } = await obtainTokens(service.issuer, acmeAlice);
    const { tokens: globex } = await obtainTokens(service.issuer, { ...globexAlice, agent, prompt: 'login' });
    expect((await silently(agent, { id_token_hint: acme.id_token })).get('error')).toBe('login_required');
    expect((await silently(agent, { id_token_hint: globex.id_token })).has('code')).toBe(true);
  });
});

describe('design §3: one principal for each browser session', () => {
  test('design §3: switching to a linked account ends nothing; logout ends all of it', async () => {
    const { agent, tokens: acme } = await obtainTokens(service.issuer, { ...acmeAlice, ...offline });
    const { tokens: globex } = await obtainTokens(service.issuer, { ...globexAlice, ...offline, agent, prompt: 'login' });
    const [acmeTid, globexTid] = [(await accountOf('alice@acme.test')).tid, (await accountOf('alice@globex.test')).tid];
    expect([decodeJwt(acme.id_token).tid, decodeJwt(globex.id_token).tid]).toEqual([acmeTid, globexTid]);
    const refreshed = await Promise.all([acme, globex].map((tokens) => endpoints.refresh(tokens.refresh_token)));
    expect(refreshed.map(({ json }) => decodeJwt(json.id_token).tid)).toEqual([acmeTid, globexTid]);
    for (const { access_token: token } of [acme, globex]) expect(await isActive(endpoints, token)).toBe(true);

    await endSession(agent, globex.id_token);
    for (const { json } of refreshed) {
      expect(await isActive(endpoints, json.access_token)).toBe(false);
      expect(await endpoints.refresh(json.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    }
  });

  test("design §3: another person's sign-in is a full logout of the first", async () => {
    const { agent, tokens } = await obtainTokens(service.issuer, { ...acmeAlice, ...asJwt, ...offline });
    const other = (await obtainTokens(service.issuer, { ...acmeAlice, ...offline, agent })).tokens;
    const { tokens: bobs } = await obtainTokens(service.issuer, { ...bob, ...offline, agent, prompt: 'login' });
    expect(decodeJwt(bobs.id_token).sub).toBe((await accountOf('bob@globex.test')).oid);
    expect(await isActive(endpoints, tokens.access_token, 'jwt')).toBe(false);
    expect(await isActive(endpoints, other.access_token)).toBe(false);
    expect(await endpoints.refresh(other.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(endpoints, bobs.access_token)).toBe(true);
    await receiver.received(1);
    expect(receiver.tokens.map((token) => decodeJwt(token).sid)).toEqual([decodeJwt(tokens.id_token).sid]);
    expect(decodeJwt(bobs.id_token).sid).not.toBe(decodeJwt(other.id_token).sid);
  });

  test('design §3: an abandoned attempt of another person ends nothing', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer, acmeAlice);
    const url = authorizeUrl(service.issuer, { prompt: 'login', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    await signIn(agent, url, bob.userName, 'wrong');
    expect(await isActive(endpoints, tokens.access_token)).toBe(true);
    expect((await silently(agent)).has('code')).toBe(true);
  });
});

describe('design §3: linking and unlinking', () => {
  test('design §3: a live grant keeps its sub; the next sign-in, with the credentials of the parent, has the new one', async () => {
    const carol = await accountOf('carol@acme.test');
    const before = await accountOf('bob@globex.test');
    const { agent, tokens } = await obtainTokens(service.issuer, { ...bob, ...asJwt, ...offline });
    const linking = service.idp.tenant(before.tid).linking;
    await linking.link(before.oid, { tid: carol.tid, userId: carol.oid });

    const refreshed = (await endpoints.refresh(tokens.refresh_token, 'jwt')).json;
    const same = { sub: before.oid, tid: before.tid };
    expect(decodeJwt(refreshed.id_token)).toMatchObject(same);
    expect(decodeJwt(refreshed.access_token)).toMatchObject(same);
    expect((await endpoints.userinfo(tokens.access_token)).json).toMatchObject(same);
    expect((await endpoints.introspect(refreshed.access_token, 'jwt')).json).toMatchObject(same);

    const sameSession = [
      (await obtainTokens(service.issuer, { ...bob, agent })).tokens,
      (await obtainTokens(service.issuer, { ...bob, ...asJwt, agent, scope: 'openid email' })).tokens,
    ];
    for (const { id_token: token } of sameSession) expect(decodeJwt(token)).toMatchObject(same);

    const url = authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    expect((await signIn(new Agent(), url, bob.userName, bob.password)).location).toBeUndefined();
    const next = (await obtainTokens(service.issuer, { userName: bob.userName, password: 'carol', ...offline })).tokens;
    expect(identity(decodeJwt(next.id_token))).toEqual({ sub: carol.oid, tid: before.tid, oid: before.oid });
    const parents = (await obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol', ...offline })).tokens;
    expect(identity(decodeJwt(parents.id_token))).toEqual({ sub: carol.oid, tid: carol.tid, oid: carol.oid });

    await linking.unlink(before.oid, carol.oid);
    expect(await endpoints.refresh(next.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(endpoints, next.access_token)).toBe(false);
    expect(await endpoints.refresh(refreshed.refresh_token, 'jwt')).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(endpoints, parents.access_token)).toBe(true);
    const last = (await obtainTokens(service.issuer, bob)).tokens;
    expect(identity(decodeJwt(last.id_token))).toEqual({ sub: before.oid, tid: before.tid, oid: undefined });
  });
});

describe('design §3: an account that ends', () => {
  /** Ends the account in one way and restores the account. Its sessions and tokens end, and stay ended. */
  async function expectEnded(
    end: (account: { oid: string; tid: string }) => Promise<unknown>,
    restore: (account: { oid: string; tid: string }) => Promise<unknown>,
  ) {
    const account = await accountOf('bob@globex.test');
    const { agent, tokens } = await obtainTokens(service.issuer, { ...bob, ...offline });
    const jwt = (await obtainTokens(service.issuer, { ...bob, ...asJwt, agent })).tokens;
    await end(account);
    expect((await endpoints.introspect(tokens.access_token)).text).toBe('{"active":false}');
    expect((await endpoints.introspect(tokens.refresh_token)).text).toBe('{"active":false}');
    expect((await endpoints.introspect(jwt.access_token, 'jwt')).text).toBe('{"active":false}');
    for (const { access_token: token } of [tokens, jwt])
      expect(await endpoints.userinfo(token)).toMatchObject({ status: 401, json: { error: 'invalid_token' } });
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await silently(agent)).get('error')).toBe('login_required');
    const page = await signIn(
      new Agent(),
      authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' }),
      bob.userName,
      bob.password,
    );
    expect([page.status, page.location]).toEqual([400, undefined]);
    await restore(account);
    return { agent, tokens };
  }

  test('design §3: a disabled user: session and tokens are dead at once, and stay so', async () => {
    const { agent, tokens } = await expectEnded(
      ({ tid, oid }) => service.idp.tenant(tid).users.disable(oid),
      ({ tid, oid }) => service.idp.tenant(tid).users.enable(oid),
    );
    expect(await isActive(endpoints, tokens.access_token)).toBe(false);
    expect((await silently(agent)).get('error')).toBe('login_required');
    expect((await obtainTokens(service.issuer, { ...bob, agent })).tokens).toMatchObject({ id_token: expect.any(String) });
  });

  test('design §3: a disabled tenant: the same, for all of its users', async () => {
    await expectEnded(
      ({ tid }) => service.idp.directory.tenants.disable(tid),
      ({ tid }) => service.idp.directory.tenants.enable(tid),
    );
  });

  test('design §3: "sign out everywhere": what was is dead, a new sign-in works at once', async () => {
    const { tid, oid } = await accountOf('bob@globex.test');
    const { agent, tokens } = await obtainTokens(service.issuer, { ...bob, ...offline });
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await service.idp.tenant(tid).users.signOutEverywhere(oid);
    expect(await isActive(endpoints, tokens.access_token)).toBe(false);
    expect((await silently(agent)).get('error')).toBe('login_required');
    const again = (await obtainTokens(service.issuer, { ...bob, agent })).tokens;
    expect(await isActive(endpoints, again.access_token)).toBe(true);
  });
});

describe('OpenID Connect Core §8.1: a pairwise client', () => {
  const pairwise = { client: 'pairwise', secret: 'pairwise-secret' };

  test('OpenID Connect Core §8.1: sees a sub of its own, stable, the same for linked accounts, and every user id in that form', async () => {
    const parent = await accountOf('alice@acme.test');
    const child = await accountOf('alice@globex.test');
    const first = await obtainTokens(service.issuer, { ...acmeAlice, ...pairwise, scope: 'openid org' });
    const second = await obtainTokens(service.issuer, { ...acmeAlice, ...pairwise, scope: 'openid org' });
    const linked = await obtainTokens(service.issuer, { ...globexAlice, ...pairwise, scope: 'openid org' });
    const [claims, again, other] = [first, second, linked].map(({ tokens }) => decodeJwt(tokens.id_token) as Json);
    expect(identity(again)).toEqual(identity(claims));
    expect(other.sub).toBe(claims.sub);
    expect(claims.oid).toBe(claims.sub);
    expect(other.oid).not.toBe(claims.oid);
    expect((await endpoints.userinfo(first.tokens.access_token)).json).toMatchObject({
      ...identity(claims),
      may_login: [{ oid: other.oid, tid: child.tid, companyname: 'Globex' }],
    });
    const introspected = (await endpoints.introspect(first.tokens.access_token, 'pairwise')).json;
    expect(identity(introspected)).toEqual(identity(claims));
    const seen = JSON.stringify([claims, other, introspected, (await endpoints.userinfo(first.tokens.access_token)).json]);
    for (const { oid } of [parent, child]) expect(seen).not.toContain(oid);
  });

  test('OpenID Connect Core §8.1: two sectors see different subjects', async () => {
    await service.idp.directory.clients.create({
      id: 'elsewhere',
      name: 'Another sector',
      secret: 'elsewhere-secret',
      metadata: { redirect_uris: [redirectUri.replace('127.0.0.1', 'localhost')], subject_type: 'pairwise' },
      allowedScopes: ['openid'],
    });
    const { tokens } = await obtainTokens(service.issuer, { ...acmeAlice, ...pairwise });
    const pkce = createPkce();
    const elsewhere = redirectUri.replace('127.0.0.1', 'localhost');
    const url = authorizeUrl(service.issuer, {
      client_id: 'elsewhere',
      redirect_uri: elsewhere,
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
    });
    const code = new URL((await signIn(new Agent(), url)).location ?? '').searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: elsewhere, code_verifier: pkce.verifier };
    const other = (await endpoints.token(fields, 'elsewhere')).json;
    expect(decodeJwt(other.id_token).sub).not.toBe(decodeJwt(tokens.id_token).sub);
  });

  test('OpenID Connect Core §8.1: its id_token_hint is understood', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer, { ...acmeAlice, ...pairwise });
    const bobs = await obtainTokens(service.issuer, { ...bob, ...pairwise });
    expect((await silently(agent, { client_id: 'pairwise', id_token_hint: tokens.id_token })).has('code')).toBe(true);
    expect((await silently(bobs.agent, { client_id: 'pairwise', id_token_hint: tokens.id_token })).get('error')).toBe('login_required');
  });
});

test('design §3: nothing here was an error of the service', () => {
  expect(service.logged).toEqual([]);
});
