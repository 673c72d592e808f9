import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { Agent, authorizeUrl, createPkce, type Json, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { redeem } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const types = ['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'token'] as const;
let endpoints: Endpoints;
let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  const metadata = { redirect_uris: [redirectUri], response_types: [...types], grant_types: undefined };
  const allowedScopes = ['openid', 'profile', 'email', 'orders.read'];
  const { clients } = service.idp.directory;
  await clients.create({ id: 'all', name: 'All flows', secret: 'all-secret', metadata, allowedScopes });
  await clients.create({ id: 'signed', name: 'Reads JWTs', secret: 'signed-secret', metadata, allowedScopes, accessTokenType: 'jwt' });
  await clients.create({
    id: 'implicit',
    name: 'Implicit',
    metadata: { redirect_uris: [redirectUri], response_types: ['token'], token_endpoint_auth_method: 'none' },
    allowedScopes,
  });
  alice = new Agent();
  await signIn(alice, authorizeUrl(service.issuer, challenge));
});

const pkce = createPkce();
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
const request = (responseType: string, parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, {
    client_id: 'all',
    response_type: responseType,
    nonce: 'of the client',
    state: 's',
    ...(responseType.includes('code') ? challenge : {}),
    ...parameters,
  });
const respond = async (responseType: string, parameters: Record<string, string | undefined> = {}, agent = alice) =>
  agent.follow(await agent.get(request(responseType, parameters)));
const responseTo = async (...call: Parameters<typeof respond>) => membersOf(await respond(...call));

const verified = async (token = ''): Promise<Json> => {
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });
  return (await jwtVerify(token, keys, { issuer: service.issuer, audience: ['all', 'signed'] })).payload;
};
const halfHash = async (value = '') => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(value));
  return Buffer.from(digest).subarray(0, 16).toString('base64url');
};

describe('4.2 response types', () => {
  test.each(types)('4.2 %s answers in the fragment with what it names, and with state, scope, session_state and iss', async (type) => {
    const { location = '' } = await respond(type);
    expect([new URL(location).search, location.startsWith(redirectUri)]).toEqual(['', true]);
    const members = await responseTo(type);
    const text = expect.any(String);
    expect(members).toEqual({
      ...(type.includes('code') ? { code: text } : {}),
      ...(type.includes('id_token') ? { id_token: text } : {}),
      ...(/(^| )token/.test(type) ? { access_token: text, token_type: 'Bearer', expires_in: '3600' } : {}),
      state: 's',
      scope: 'openid',
      session_state: text,
      iss: service.issuer,
    });
    if (!type.includes('id_token')) return;
    const claims = await verified(members.id_token);
    expect(claims).toMatchObject({ nonce: 'of the client', sid: text, tid: text, amr: ['pwd'], auth_time: expect.any(Number) });
    expect(claims.at_hash).toBe(members.access_token && (await halfHash(members.access_token)));
    expect(claims.c_hash).toBe(members.code && (await halfHash(members.code)));
  });

  test('4.2 the order of a combination does not matter', async () => {
    expect(Object.keys(await responseTo('token id_token')).sort()).toEqual(Object.keys(await responseTo('id_token token')).sort());
    expect(await responseTo('token code id_token')).toMatchObject({ code: expect.any(String), access_token: expect.any(String) });
  });

  test.each(types)('4.2 %s is refused for a client that did not register it, in the fragment', async (type) => {
    const { location = '' } = await respond(type, { client_id: 'web' });
    expect(new URL(location).search).toBe('');
    expect(new URLSearchParams(new URL(location).hash.slice(1)).get('error')).toMatch(/^(invalid_request|unauthorized_client)$/);
  });

  test('4.2 a client with `token` alone gets nothing more', async () => {
    expect(await responseTo('token', { client_id: 'implicit' })).toMatchObject({ access_token: expect.any(String) });
    expect(await responseTo('id_token token', { client_id: 'implicit' })).toMatchObject({ error: 'unauthorized_client' });
  });

  test.each(['none', 'code none', 'password', ''])('4.2 response type “%s” does not exist', async (type) => {
    const { location, body } = await respond(type);
    expect(location ?? body).toMatch(/unsupported_response_type|invalid_request/);
  });

  test.each(types.filter((type) => type.includes('id_token')))('4.2 nonce is required for %s', async (type) => {
    expect(await responseTo(type, { nonce: undefined })).toMatchObject({ error: 'invalid_request', state: 's' });
    expect(await responseTo(type, { scope: 'profile' })).toMatchObject({ error: 'invalid_request' });
  });

  test('4.2 `token` alone needs no nonce, and no openid', async () => {
    const { access_token: token, scope } = await responseTo('token', { nonce: undefined, scope: 'orders.read' });
    expect(scope).toBe('orders.read');
    expect((await endpoints.introspect(token ?? '', 'orders')).json).toMatchObject({ active: true, scope: 'orders.read', aud: ['orders'] });
    expect((await endpoints.userinfo(token ?? '')).status).toBe(403);
  });

  test('4.2 PKCE is required where there is a code, and only there', async () => {
    const { clients } = service.idp.directory;
    for (const requirePkce of [true, null]) {
      await clients.update('all', { requirePkce });
      for (const type of types) {
        const members = await responseTo(type, { code_challenge: undefined, code_challenge_method: undefined });
        // The requests have a nonce, which is enough if the client does not require PKCE.
        expect([type, members.error]).toEqual([type, requirePkce && type.includes('code') ? 'invalid_request' : undefined]);
      }
    }
  });

  test.each(types)('4.2 prompt=none returns %s without interaction, unless nobody is signed in', async (type) => {
    expect(await responseTo(type, { prompt: 'none' })).not.toHaveProperty('error');
    expect(await responseTo(type, { prompt: 'none' }, new Agent())).toMatchObject({
      error: 'login_required',
      state: 's',
      iss: service.issuer,
    });
  });

  test('4.2 an ID token that comes without an access token has the claims of the scopes', async () => {
    const alone = await verified((await responseTo('id_token', { scope: 'openid profile' })).id_token);
    const beside = await verified((await responseTo('id_token token', { scope: 'openid profile' })).id_token);
    expect([alone.name, beside.name]).toEqual(['Alice Adams', undefined]);
  });

  test('4.2 offline_access gives no refresh token where there is no code', async () => {
    expect(await responseTo('token', { scope: 'openid offline_access' })).toMatchObject({ scope: 'openid' });
  });

  test('4.2 tokens never go into a query', async () => {
    for (const type of types) expect(await responseTo(type, { response_mode: 'query' })).toMatchObject({ error: 'invalid_request' });
    const form = await respond('id_token token', { response_mode: 'form_post' });
    expect(membersOf(form)).toMatchObject({ id_token: expect.any(String), access_token: expect.any(String) });
  });

  test('4.2 the pages lead there as well', async () => {
    const agent = new Agent();
    expect(isSignInPage(await respond('token', {}, agent))).toBe(true);
    expect(membersOf(await signIn(agent, request('token')))).toMatchObject({ access_token: expect.any(String) });
  });
});

describe.each(['all', 'signed'])('4.2 access tokens of the authorization endpoint, client %s', (client) => {
  const token = async () => (await responseTo('token', { client_id: client, scope: 'openid profile orders.read' })).access_token as string;

  test('4.5, 4.7 are introspected and used at userinfo like any other', async () => {
    const value = await token();
    expect((await endpoints.introspect(value, client)).json).toMatchObject({
      active: true,
      client_id: client,
      username: 'alice@acme.test',
      sid: expect.any(String),
      aud: ['orders'],
    });
    expect((await endpoints.userinfo(value)).json).toMatchObject({ name: 'Alice Adams' });
    if (client === 'signed') expect(decodeJwt(value)).toMatchObject({ aud: ['orders'], client_id: 'signed', amr: ['pwd'] });
  });

  test('4.6 are revoked', async () => {
    const value = await token();
    expect((await endpoints.revoke(value, client)).status).toBe(200);
    expect(await isActive(endpoints, value, client)).toBe(false);
    expect((await endpoints.userinfo(value)).status).toBe(401);
  });

  test('4.8 end with the session', async () => {
    const agent = new Agent();
    const answer = await signIn(agent, request('id_token token', { client_id: client }));
    const { access_token: value = '', id_token: hint = '' } = membersOf(answer);
    expect(await isActive(endpoints, value, client)).toBe(true);
    await agent.follow(await agent.get(`${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: hint })}`));
    expect(await isActive(endpoints, value, client)).toBe(false);
  });
});

describe('4.2 hybrid flow', () => {
  test.each(types.filter((type) => type.includes('code')))('4.2 the code of %s buys tokens of the same sign-in', async (type) => {
    const members = await responseTo(type);
    const { json } = await redeem(service.issuer, { client: 'all', code: members.code ?? '', verifier: pkce.verifier });
    const claims = await verified(json.id_token);
    expect(claims).toMatchObject({ nonce: 'of the client' });
    if (members.id_token) {
      const { sub, sid, tid, auth_time } = await verified(members.id_token);
      expect(claims).toMatchObject({ sub, sid, tid, auth_time });
    }
  });

  test('4.2 a client library runs it, c_hash checked', async () => {
    const party = await discover(service.issuer, { client: 'all' });
    openid.useCodeIdTokenResponseType(party);
    const verifier = openid.randomPKCECodeVerifier();
    const nonce = openid.randomNonce();
    const url = openid.buildAuthorizationUrl(party, {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      nonce,
      state: 'x',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const { location = '' } = await alice.follow(await alice.get(url.href));
    const tokens = await openid.authorizationCodeGrant(party, new URL(location), {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: 'x',
    });
    expect(await openid.fetchUserInfo(party, tokens.access_token, tokens.claims()?.sub ?? '')).toMatchObject({ name: 'Alice Adams' });
  });
});

test('4.2 implicit flow: a client library verifies the ID token', async () => {
  const party = await discover(service.issuer, { client: 'all' });
  openid.useIdTokenResponseType(party);
  const nonce = openid.randomNonce();
  const url = openid.buildAuthorizationUrl(party, { redirect_uri: redirectUri, scope: 'openid profile', nonce, state: 'x' });
  const { location = '' } = await alice.follow(await alice.get(url.href));
  const claims = await openid.implicitAuthentication(party, new URL(location), nonce, { expectedState: 'x' });
  expect(claims).toMatchObject({ name: 'Alice Adams', aud: 'all' });
});
