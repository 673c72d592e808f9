/**
 * Plain token requests, which the service answers itself: the answers are those of oidc-provider to the same requests in an unusual form.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { authorizeUrl, basic, createPkce, type Json, obtainTokens } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { answerOf, formTypes, plainType, unusualType } from '../../support/requests/both-doors.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  await service.idp.directory.clients.create({
    id: 'es256',
    name: 'Claims in the ID token',
    secret: 'web-secret',
    metadata: {
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
    allowedScopes: ['openid', 'profile', 'email', 'org', 'roles', 'perms'],
    idTokenClaims: 'scopes',
  });
  await service.idp.directory.clients.create({
    id: 'brief',
    name: 'With lifetimes of its own',
    secret: 'brief-secret',
    metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] },
    allowedScopes: ['openid', 'orders.read'],
    lifetimes: { accessToken: 120, idToken: 60, refreshTokenIdle: 100, refreshTokenAbsolute: 200 },
  });
});

const answerTo = (path: string, init: RequestInit) => answerOf(service.issuer + path, init);

describe('4.4 a plain client credentials request is answered like any other', () => {
  /** Masks the access token, because two tokens are never the same. */
  const withoutToken = (answer: unknown) => JSON.parse(JSON.stringify(answer).replace(/"access_token":"[\w-]{44}"/, '"access_token":"…"'));

  test.each<[string, Record<string, string>, string]>([
    ['no scope', {}, 'service'],
    ['its scope', { scope: 'orders.read' }, 'service'],
    ['a scope twice', { scope: 'orders.read orders.read' }, 'service'],
    ['an unknown scope', { scope: 'unknown' }, 'service'],
    ['a scope of another API', { scope: 'invoices.read' }, 'service'],
    ['openid', { scope: 'openid' }, 'service'],
    ['an empty scope', { scope: '' }, 'service'],
    ['a scope that is a space', { scope: ' ' }, 'service'],
    ['two spaces between scopes', { scope: 'orders.read  orders.read' }, 'service'],
    ['a client that may not', {}, 'web'],
    ['an API resource', {}, 'orders'],
    ['another client id', { client_id: 'web' }, 'service'],
    ['a parameter nobody knows', { unknown: 'x' }, 'service'],
    ['a lifetime of its own', {}, 'brief'],
  ])('%s', async (_what, fields, caller) => {
    const answers = formTypes.map((type) =>
      answerTo('/connect/token', {
        method: 'POST',
        headers: { 'content-type': type, ...credentialsOf(caller) },
        body: new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString(),
      }),
    );
    const [direct, other] = (await Promise.all(answers)).map(withoutToken);
    expect(direct).toEqual(other);
  });

  test('and its token introspects the same', async () => {
    const [plain, unusual] = await Promise.all(
      formTypes.map(async (type) => {
        const headers = { 'content-type': type, ...credentialsOf('service') };
        const response = await fetch(`${service.issuer}/connect/token`, { method: 'POST', headers, body: 'grant_type=client_credentials' });
        const { json } = await endpoints.introspect(((await response.json()) as Json).access_token, 'service');
        return { ...json, jti: '', iat: 0, nbf: 0, exp: json.exp - json.iat };
      }),
    );
    expect(plain).toEqual(unusual);
    expect(plain).toMatchObject({ active: true, exp: 3600 });
  });
});

describe('4.4 a plain code or refresh request is answered like any other', () => {
  interface Party {
    readonly client: string;
    readonly secret: string;
    readonly scope: string;
  }
  const web = (scope: string): Party => ({ client: 'web', secret: 'web-secret', scope });
  const pairwise = { client: 'pairwise', secret: 'pairwise-secret', scope: 'openid profile offline_access' };

  const request = async (type: string, { client, secret }: Party, fields: Record<string, string>): Promise<Json> => {
    const headers = { 'content-type': type, authorization: basic(client, secret) };
    const response = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams(fields).toString(),
    });
    return response.json();
  };

  /** Returns the content of the tokens: the claims of the ID token, and the introspection of the access token. */
  async function read({ access_token, id_token, refresh_token, ...rest }: Json, { client, secret }: Party): Promise<Json> {
    const asked = await fetch(`${service.issuer}/connect/introspect`, {
      method: 'POST',
      headers: { 'content-type': unusualType, authorization: basic(client, secret) },
      body: new URLSearchParams({ token: access_token ?? 'none' }).toString(),
    });
    const { jti: _jti, exp, iat, nbf: _nbf, ...introspected } = (await asked.json()) as Json;
    const { iat: issued, exp: ends, ...claims } = id_token ? decodeJwt(id_token) : ({} as Json);
    return {
      ...rest,
      lifetimes: [exp - iat, ends - issued],
      introspected,
      claims,
      header: id_token && decodeProtectedHeader(id_token),
      lengths: [access_token?.length, refresh_token?.length],
    };
  }

  test.each<[string, Party]>([
    ['openid', web('openid')],
    ['all claims, offline', web('openid profile email org roles perms offline_access orders.read')],
    ['without openid', web('orders.read')],
    ['a pairwise client', pairwise],
    ['lifetimes of its own', { client: 'brief', secret: 'brief-secret', scope: 'openid offline_access orders.read' }],
    ['claims in the ID token, ES256', { ...web('openid profile email org roles perms offline_access'), client: 'es256' }],
  ])('%s', async (_what, party) => {
    const { agent } = await obtainTokens(service.issuer, { ...party });
    const redeem = async (type: string): Promise<Json> => {
      const pkce = createPkce();
      const nonce = party.scope.includes('openid') ? 'a nonce' : undefined;
      const parameters = { client_id: party.client, scope: party.scope, nonce, code_challenge: pkce.challenge };
      const { location = '' } = await agent.get(authorizeUrl(service.issuer, { ...parameters, code_challenge_method: 'S256' }));
      const code = new URL(location).searchParams.get('code') ?? '';
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
      return request(type, party, fields);
    };
    const [direct, other] = [await redeem(plainType), await redeem(unusualType)];
    expect(await read(direct, party)).toEqual(await read(other, party));
    expect(direct).toMatchObject({ access_token: expect.any(String), token_type: 'Bearer' });
    if (!direct.refresh_token) return;
    const refresh = (type: string, token: string) => request(type, party, { grant_type: 'refresh_token', refresh_token: token });
    const [next, otherNext] = [await refresh(plainType, direct.refresh_token), await refresh(unusualType, other.refresh_token)];
    expect(await read(next, party)).toEqual(await read(otherNext, party));
    expect(next.refresh_token).not.toBe(direct.refresh_token);
    // A retry within the grace gets the same token, and that token still works.
    expect((await refresh(plainType, direct.refresh_token)).refresh_token).toBe(next.refresh_token);
    expect(await refresh(plainType, next.refresh_token)).toMatchObject({ refresh_token: expect.any(String) });
  });

  test.each<[string, Record<string, string>]>([
    ['a code that was used', { grant_type: 'authorization_code', redirect_uri: redirectUri }],
    ['another redirect_uri', { grant_type: 'authorization_code', redirect_uri: 'https://other.example.com/callback' }],
    ['no redirect_uri', { grant_type: 'authorization_code' }],
    ['no code_verifier', { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: '' }],
    ['a scope nobody knows', { grant_type: 'authorization_code', redirect_uri: redirectUri, scope: 'nonsense' }],
    ['a scope it may not have', { grant_type: 'authorization_code', redirect_uri: redirectUri, scope: 'invoices.read' }],
    ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'a'.repeat(44) }],
    ['no refresh token', { grant_type: 'refresh_token' }],
    ['an unknown grant type', { grant_type: 'password' }],
    ['no grant type', {}],
  ])('%s', async (_what, fields) => {
    const { code, verifier } = await obtainTokens(service.issuer, { scope: 'openid' });
    const given = { code, code_verifier: verifier, ...fields };
    const direct = await request(plainType, web('openid'), given);
    expect(direct).toEqual(await request(unusualType, web('openid'), given));
    expect(direct).toHaveProperty('error');
  });
});
