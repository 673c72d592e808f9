import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import * as openid from 'openid-client';
import { Agent, authorizeUrl, basic, createPkce, type Json, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

afterEach(backToPresent);

const jwtClient = { client: 'jwt', secret: 'jwt-secret' };
const tokensOf = async (parameters: Record<string, string> = {}): Promise<Json> =>
  (await obtainTokens(service.issuer, { agent: alice, ...parameters })).tokens;
const inactive = '{"active":false}';

/** Returns a code that was not redeemed. */
async function unredeemed({ userName, password }: { userName: string; password: string }) {
  const { verifier, challenge } = createPkce();
  const agent = new Agent();
  const url = authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256' });
  const { location = '' } = await signIn(agent, url, userName, password);
  return { agent, verifier, code: new URL(location).searchParams.get('code') ?? '' };
}

describe('4.5 an active token', () => {
  test('4.5 says what the specification lists, and nbf, jti, tid', async () => {
    const { access_token: token, id_token: idToken } = await tokensOf({ scope: 'openid profile orders.read' });
    const { sub, tid, oid, auth_time } = decodeJwt(idToken) as Json;
    const { json } = await endpoints.introspect(token);
    expect(json).toEqual({
      active: true,
      scope: 'openid profile orders.read',
      client_id: 'web',
      username: 'alice@acme.test',
      token_type: 'Bearer',
      exp: expect.any(Number),
      iat: expect.any(Number),
      nbf: json.iat,
      sub,
      aud: ['orders'],
      iss: service.issuer,
      jti: expect.any(String),
      tid,
      oid,
      sid: json.sid,
      amr: ['pwd'],
      idp: 'local',
      auth_time,
    });
    expect(json.exp - json.iat).toBe(3600);
    for (const time of [json.exp, json.iat, json.nbf, json.auth_time]) expect(Number.isInteger(time)).toBe(true);
    expect(Math.abs(json.iat - Date.now() / 1000)).toBeLessThan(30);
  });

  test('4.5 its jti is not the token', async () => {
    const { access_token: token } = await tokensOf();
    const { json } = await endpoints.introspect(token);
    expect(json.jti).not.toContain(token);
    expect((await endpoints.introspect(json.jti)).text).toBe(inactive);
    expect((await endpoints.introspect(token)).json.jti).toBe(json.jti);
  });

  test('4.5 of no API has the issuer as audience', async () => {
    const { access_token: token } = await tokensOf();
    expect((await endpoints.introspect(token)).json.aud).toEqual([service.issuer]);
  });

  test('4.5 of a client itself has no user', async () => {
    const { access_token: token } = await endpoints.clientCredentials();
    const { json } = await endpoints.introspect(token, 'service');
    expect(json).toMatchObject({ active: true, client_id: 'service', scope: 'orders.read', aud: ['orders'], iss: service.issuer });
    for (const member of ['username', 'tid', 'oid', 'auth_time']) expect(json).not.toHaveProperty(member);
    expect(json.sub).toBe('service');
  });

  test.each(formTypes)('RFC 9068 §2.2: of a client itself, sub is the client, as a JWT and at introspection: %s', async (type) => {
    await service.idp.directory.clients.update('service', { accessTokenType: 'jwt' });
    const signed = (await endpoints.clientCredentials()).access_token;
    await service.idp.directory.clients.update('service', { accessTokenType: 'reference' });
    const opaque = (await endpoints.clientCredentials()).access_token;
    expect(decodeJwt(signed)).toMatchObject({ sub: 'service', client_id: 'service' });
    for (const caller of ['service', 'orders'])
      for (const token of [signed, opaque]) {
        const headers = { ...credentialsOf(caller), 'content-type': type };
        expect((await postForm(`${service.issuer}/connect/introspect`, { token }, headers)).json).toMatchObject({ sub: 'service' });
      }
  });

  test('4.5 a refresh token says so', async () => {
    const { refresh_token: token } = await tokensOf({ scope: 'openid offline_access' });
    const { json } = await endpoints.introspect(token);
    expect(json).toMatchObject({ active: true, client_id: 'web', scope: 'openid offline_access', username: 'alice@acme.test' });
    expect(json.token_type).toBe('refresh_token');
  });

  test.each(['access_token', 'refresh_token', 'nonsense'])('4.5 the hint %s is no more than a hint', async (hint) => {
    const { access_token, refresh_token } = await tokensOf({ scope: 'openid offline_access' });
    for (const token of [access_token, refresh_token]) {
      const fields = { token, token_type_hint: hint };
      const { json } = await postForm(`${service.issuer}/connect/introspect`, fields, credentialsOf('web'));
      expect(json.active).toBe(true);
    }
  });

  test('4.5 by a client library', async () => {
    const { access_token: token } = await tokensOf();
    const party = await discover(service.issuer);
    expect(await openid.tokenIntrospection(party, token)).toMatchObject({ active: true, client_id: 'web' });
    expect(await openid.tokenIntrospection(party, 'unknown')).toEqual({ active: false });
  });
});

describe('4.5 who may ask', () => {
  test('4.5 an API resource, about tokens for it only', async () => {
    const { access_token: token } = await tokensOf({ scope: 'openid orders.read' });
    const { access_token: other } = await tokensOf();
    expect(await isActive(endpoints, token, 'orders')).toBe(true);
    expect((await endpoints.introspect(token, 'invoices')).text).toBe(inactive);
    expect((await endpoints.introspect(other, 'orders')).text).toBe(inactive);
  });

  test('4.5 an API resource reads the tokens of clients themselves', async () => {
    const { access_token: token } = await endpoints.clientCredentials();
    expect(await isActive(endpoints, token, 'orders')).toBe(true);
    expect(await isActive(endpoints, token, 'invoices')).toBe(false);
  });

  test('4.5 a client, about its own tokens; a refresh token for nobody else at all', async () => {
    const { access_token, refresh_token } = await tokensOf({ scope: 'openid offline_access orders.read' });
    expect((await endpoints.introspect(access_token, 'jwt')).text).toBe(inactive);
    expect((await endpoints.introspect(refresh_token, 'jwt')).text).toBe(inactive);
    expect((await endpoints.introspect(refresh_token, 'orders')).text).toBe(inactive);
    expect(await isActive(endpoints, refresh_token)).toBe(true);
  });

  test('4.5 nobody without authentication', async () => {
    const { access_token: token } = await tokensOf();
    const url = `${service.issuer}/connect/introspect`;
    expect([400, 401]).toContain((await postForm(url, { token })).status);
    expect(await postForm(url, { token }, { authorization: basic('orders', 'wrong') })).toMatchObject({ status: 401 });
    expect(await postForm(url, { token, client_id: 'orders', client_secret: 'orders-secret' })).toMatchObject({ status: 200 });
  });

  test('4.5 a client without credentials learns nothing', async () => {
    const { tokens } = await obtainTokens(service.issuer, { agent: alice, client: 'spa', secret: '' });
    const { json } = await postForm(`${service.issuer}/connect/introspect`, { token: tokens.access_token, client_id: 'spa' });
    expect(json.active ?? json.error).not.toBe(true);
  });

  test('4.5 `token` is required', async () => {
    const answer = await postForm(`${service.issuer}/connect/introspect`, {}, credentialsOf('web'));
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
});

describe('4.5 who may ask about more, or less', () => {
  const tidOf = async (name: string) => (await service.idp.directory.tenants.find()).find((tenant) => tenant.name === name)?.id as string;
  const gateway = { id: 'gateway', name: 'Gateway', secret: 'gateway-secret', scopes: [] };
  afterEach(async () => {
    await service.idp.directory.apiResources.remove('gateway').catch(() => {});
    await service.idp.directory.clients.remove('inspector').catch(() => {});
  });

  test("design §5: an API resource that introspects 'all' reads every access token, and no refresh token", async () => {
    const { access_token, refresh_token } = await tokensOf({ scope: 'openid offline_access' });
    const { access_token: signed } = await tokensOf(jwtClient);
    const { access_token: own } = await endpoints.clientCredentials();
    await service.idp.directory.apiResources.create(gateway);
    for (const token of [access_token, signed, own]) expect((await endpoints.introspect(token, 'gateway')).text).toBe(inactive);
    await service.idp.directory.apiResources.update('gateway', { introspects: 'all' });
    for (const token of [access_token, signed, own]) expect(await isActive(endpoints, token, 'gateway')).toBe(true);
    expect((await endpoints.introspect(refresh_token, 'gateway')).text).toBe(inactive);
  });

  test("design §5: a client that introspects 'all' likewise", async () => {
    const { access_token, refresh_token } = await tokensOf({ scope: 'openid offline_access' });
    const metadata = { grant_types: ['client_credentials'] };
    const inspector = { id: 'inspector', name: 'Inspector', secret: 'inspector-secret', metadata, introspects: 'all' as const };
    await service.idp.directory.clients.create(inspector);
    expect(await isActive(endpoints, access_token, 'inspector')).toBe(true);
    expect((await endpoints.introspect(refresh_token, 'inspector')).text).toBe(inactive);
    await service.idp.directory.clients.update('inspector', { introspects: 'own' });
    expect((await endpoints.introspect(access_token, 'inspector')).text).toBe(inactive);
  });

  test('design §5: an API resource for some tenants reads nothing about users of others', async () => {
    const { access_token: ofAcme } = await tokensOf();
    const { access_token: ofGlobex } = (await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' })).tokens;
    const { access_token: ofNobody } = await endpoints.clientCredentials();
    await service.idp.directory.apiResources.create({ ...gateway, introspects: 'all', allowedTenants: [await tidOf('Acme')] });
    expect(await isActive(endpoints, ofAcme, 'gateway')).toBe(true);
    expect((await endpoints.introspect(ofGlobex, 'gateway')).text).toBe(inactive);
    expect(await isActive(endpoints, ofNobody, 'gateway')).toBe(true);
  });
});

describe('design §5: a token dies at once', () => {
  const read = { scope: 'openid orders.read' };
  const everywhere = async (token: string) => [await endpoints.introspect(token), await endpoints.introspect(token, 'orders')];
  const dead = [{ text: inactive }, { text: inactive }];
  const alive = [{ json: { active: true } }, { json: { active: true } }];

  test('with the user who is disabled, and stays dead', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol', ...read });
    const { tid, sub } = (await endpoints.userinfo(tokens.access_token)).json;
    const { users } = service.idp.tenant(tid);
    expect(await everywhere(tokens.access_token)).toMatchObject(alive);
    expect(await everywhere(tokens.access_token)).toMatchObject(alive);
    await users.disable(sub);
    expect(await everywhere(tokens.access_token)).toMatchObject(dead);
    await users.enable(sub);
    expect(await everywhere(tokens.access_token)).toMatchObject(dead);
  });

  test('with the tenant', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob', ...read });
    const { tid } = (await endpoints.userinfo(tokens.access_token)).json;
    await service.idp.directory.tenants.disable(tid);
    expect(await everywhere(tokens.access_token)).toMatchObject(dead);
    await service.idp.directory.tenants.enable(tid);
    expect(await everywhere(tokens.access_token)).toMatchObject(dead);
    const again = (await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob', ...read })).tokens;
    expect(await everywhere(again.access_token)).toMatchObject(alive);
  });

  test('for the client whose `allowedTenants` leave out its tenant, at every endpoint; what it has of others lives', async () => {
    const bob = { userName: 'bob@globex.test', password: 'bob', scope: 'openid offline_access orders.read' };
    const { tokens } = await obtainTokens(service.issuer, bob);
    const signed = (await obtainTokens(service.issuer, { ...bob, ...jwtClient })).tokens;
    const { agent, verifier, code } = await unredeemed(bob);
    const others = (await obtainTokens(service.issuer, read)).tokens;
    const allowedTenants = [(await endpoints.userinfo(others.access_token)).json.tid];
    for (const id of ['web', 'jwt']) await service.idp.directory.clients.update(id, { allowedTenants });
    expect(await everywhere(tokens.access_token)).toMatchObject(dead);
    for (const [{ access_token, refresh_token }, client] of [
      [tokens, 'web'],
      [signed, 'jwt'],
    ] as const) {
      expect((await endpoints.introspect(access_token, client)).text).toBe(inactive);
      expect((await endpoints.introspect(refresh_token, client)).text).toBe(inactive);
      expect(await endpoints.userinfo(access_token)).toMatchObject({ status: 401 });
      expect(await endpoints.refresh(refresh_token, client)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    }
    const redeemed = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    expect(await endpoints.token(redeemed)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const silent = authorizeUrl(service.issuer, { prompt: 'none', code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' });
    expect((await agent.get(silent)).location).toContain('error=login_required');
    expect(await everywhere(others.access_token)).toMatchObject(alive);
    for (const id of ['web', 'jwt']) await service.idp.directory.clients.update(id, { allowedTenants: null });
  });

  test('to an API resource whose `allowedTenants` leave out its tenant, and lives for its client', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob', ...read });
    expect(await everywhere(tokens.access_token)).toMatchObject(alive);
    await service.idp.directory.apiResources.update('orders', { allowedTenants: [] });
    expect(await everywhere(tokens.access_token)).toMatchObject([alive[0], dead[0]]);
    await service.idp.directory.apiResources.update('orders', { allowedTenants: null });
    expect(await everywhere(tokens.access_token)).toMatchObject(alive);
  });

  test('with the client it was issued to', async () => {
    const { access_token: token } = (await obtainTokens(service.issuer, { ...jwtClient, ...read })).tokens;
    const { access_token: opaque } = await endpoints.clientCredentials();
    for (const [id, own] of [['jwt', token] as const, ['service', opaque] as const]) {
      expect(await isActive(endpoints, own, 'orders')).toBe(true);
      await service.idp.directory.clients.update(id, { status: 'disabled' });
      expect((await endpoints.introspect(own, 'orders')).text).toBe(inactive);
      await service.idp.directory.clients.update(id, { status: 'active' });
      expect(await isActive(endpoints, own, 'orders')).toBe(true);
    }
  });
});

test('4.5 whatever is wrong with a token, the answer is the same to the byte', async () => {
  const revoked = (await obtainTokens(service.issuer)).tokens.access_token;
  await endpoints.revoke(revoked);
  const forged = await new SignJWT({ scope: 'openid', client_id: 'web', jti: 'x' })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'test-rs256' })
    .setIssuer(service.issuer)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode('a secret of at least 32 characters'));
  const expired = (await tokensOf()).access_token;
  const bad = {
    unknown: 'a'.repeat(expired.length),
    revoked,
    'of another client': (await endpoints.clientCredentials()).access_token,
    'JWT-shaped': 'eyJhbGciOiJub25lIn0.e30.',
    forged,
    'ID token': (await tokensOf()).id_token,
    'signed for another client': (await tokensOf(jwtClient)).access_token,
    'refresh token of another client': (await tokensOf({ ...jwtClient, scope: 'openid offline_access' })).refresh_token,
    odd: '../{"$gt":""}\u0000',
  };
  const answers = await Promise.all(Object.values(bad).map((token) => endpoints.introspect(token)));
  passTime(3601);
  answers.push(await endpoints.introspect(expired));
  expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [200, inactive]));
  const headersOf = ({ headers }: { headers: Headers }) => JSON.stringify([...headers].filter(([name]) => name !== 'date'));
  expect([...new Set(answers.map(headersOf))]).toEqual([
    expect.stringMatching(
      /^(?=.*"cache-control","no-store")(?=.*"pragma","no-cache")(?=.*"content-type","application\/json; charset=utf-8")/,
    ),
  ]);
});
