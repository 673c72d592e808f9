import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { startIdp } from '../../support/service/idp.js';
import { testKeys } from '../../support/service/keys.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const type = 'application/token-introspection+jwt';
let endpoints: Endpoints;
let reference: Json;
let signed: Json;
const service = useIdp(() => {
  const clients = testSeed.clients.map((client) =>
    client.id === 'jwt' ? { ...client, metadata: { ...client.metadata, introspection_signed_response_alg: 'ES256' } } : client,
  );
  return { seed: { ...testSeed, clients } };
});
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  reference = (await obtainTokens(service.issuer, { scope: 'openid profile offline_access orders.read' })).tokens;
  signed = (await obtainTokens(service.issuer, { client: 'jwt', secret: 'jwt-secret', scope: 'openid offline_access orders.read' })).tokens;
});

const asked = (token: string, caller = 'web', accept = type, fields: Record<string, string> = {}) =>
  postForm(`${service.issuer}/connect/introspect`, { token, ...fields }, { ...credentialsOf(caller), accept });
const keys = () => createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });
const verified = (jwt: string, audience: string) =>
  jwtVerify(jwt, keys(), { issuer: service.issuer, audience, typ: 'token-introspection+jwt', maxTokenAge: '1m' });

describe('4.5 a request with Accept: application/token-introspection+jwt', () => {
  test('4.5 is answered 200 with that content type, and a raw JWT', async () => {
    const { status, headers, text } = await asked(reference.access_token);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe(type);
    expect(text).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  });

  test('4.5 its header has alg, kid and typ', async () => {
    const header = decodeProtectedHeader((await asked(reference.access_token)).text);
    expect(header).toEqual({ alg: 'RS256', kid: 'test-rs256', typ: 'token-introspection+jwt' });
  });

  test('4.5 its payload has iss, iat, aud and token_introspection, and nothing that would make it a token', async () => {
    const { payload } = await verified((await asked(reference.access_token)).text, 'web');
    expect(payload).toEqual({ iss: service.issuer, iat: expect.any(Number), aud: 'web', token_introspection: expect.any(Object) });
    expect(Math.abs((payload.iat ?? 0) - Date.now() / 1000)).toBeLessThan(30);
  });

  test('4.5 token_introspection has what the specification lists', async () => {
    for (const [token, caller] of [
      [reference.access_token, 'web'],
      [reference.access_token, 'orders'],
      [signed.access_token, 'orders'],
      [(await endpoints.clientCredentials()).access_token, 'orders'],
    ]) {
      const { token_introspection } = decodeJwt((await asked(token, caller)).text) as Json;
      expect(token_introspection).toMatchObject({
        iss: service.issuer,
        nbf: expect.any(Number),
        iat: expect.any(Number),
        exp: expect.any(Number),
        aud: ['orders'],
        client_id: expect.any(String),
        jti: expect.any(String),
        active: true,
        scope: expect.stringContaining('orders.read'),
      });
    }
  });

  test('design §5: it is the object of the JSON answer', async () => {
    for (const [token, caller] of [
      [reference.access_token, 'web'],
      [reference.refresh_token, 'web'],
      [reference.access_token, 'orders'],
      [signed.access_token, 'jwt'],
      [signed.refresh_token, 'jwt'],
    ]) {
      const { json } = await endpoints.introspect(token, caller);
      expect(json).toMatchObject({ active: true });
      expect((decodeJwt((await asked(token, caller)).text) as Json).token_introspection).toEqual(json);
    }
  });

  test.each(['unknown', 'eyJhbGciOiJub25lIn0.e30.', '\u0000', 'a'.repeat(44)])(
    'RFC 9701 §5: of %j it says active false and no more',
    async (token) => {
      for (const caller of ['web', 'orders', 'jwt']) {
        const { payload } = await verified((await asked(token, caller)).text, caller);
        expect(payload).toEqual({ iss: service.issuer, iat: expect.any(Number), aud: caller, token_introspection: { active: false } });
      }
    },
  );

  test('RFC 9701 §8.1: of a token that is not for the caller, too', async () => {
    const { payload } = await verified((await asked(reference.refresh_token, 'orders')).text, 'orders');
    expect(payload.token_introspection).toEqual({ active: false });
    expect((await verified((await asked(reference.access_token, 'invoices')).text, 'invoices')).payload.token_introspection).toEqual({
      active: false,
    });
  });

  test('4.5 by a client library, which checks signature, type, issuer and audience', async () => {
    for (const [client, token, alg] of [
      ['web', reference.access_token, 'RS256'],
      ['jwt', signed.access_token, 'ES256'],
    ] as const) {
      const party = await discover(service.issuer, { client, metadata: { introspection_signed_response_alg: alg } });
      expect(await openid.tokenIntrospection(party, token)).toMatchObject({ active: true, client_id: client });
      expect(await openid.tokenIntrospection(party, 'unknown')).toEqual({ active: false });
    }
  });
});

describe('RFC 9701 §6: what signs it', () => {
  test("is what the client's metadata says, RS256 without", async () => {
    for (const [caller, alg] of [
      ['web', 'RS256'],
      ['jwt', 'ES256'],
    ] as const) {
      const { protectedHeader } = await verified((await asked('unknown', caller)).text, caller);
      expect(protectedHeader).toMatchObject({ alg, kid: `test-${alg.toLowerCase()}` });
    }
  });

  test('is what the API resource says, from its next request on', async () => {
    const { apiResources } = service.idp.directory;
    const alg = async () => (await verified((await asked('unknown', 'orders')).text, 'orders')).protectedHeader.alg;
    expect(await alg()).toBe('RS256');
    await apiResources.update('orders', { introspectionSignedResponseAlg: 'ES256' });
    expect(await alg()).toBe('ES256');
    await apiResources.update('orders', { introspectionSignedResponseAlg: null });
    expect(await alg()).toBe('RS256');
  });

  test('is nothing else', async () => {
    const { clients, apiResources } = service.idp.directory;
    for (const alg of ['none', 'HS256', 'PS256', 7])
      await expect(clients.update('web', { metadata: { introspection_signed_response_alg: alg } })).rejects.toMatchObject({
        code: 'invalid_record',
        details: { path: '/metadata/introspection_signed_response_alg' },
      });
    await expect(apiResources.update('orders', { introspectionSignedResponseAlg: 'HS256' as never })).rejects.toMatchObject({
      code: 'invalid_record',
    });
  });

  test('RFC 9701 §7: is in discovery', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
    expect(discovery.introspection_signing_alg_values_supported).toEqual(['RS256', 'ES256']);
  });

  test('is RS256 for all where there is no other key', async () => {
    const clients = testSeed.clients.filter(({ id }) => id !== 'jwt');
    const metadata = { introspection_signed_response_alg: 'ES256', redirect_uris: [redirectUri] };
    const seed = { ...testSeed, clients: [...clients, { id: 'es256', name: 'ES256', secret: 'es256-secret', metadata }] };
    const one = await startIdp({ seed, keys: { signing: testKeys.filter(({ alg }) => alg === 'RS256') } });
    const { text } = await postForm(`${one.issuer}/connect/introspect`, { token: 'x' }, { ...credentialsOf('es256'), accept: type });
    expect(decodeProtectedHeader(text)).toMatchObject({ alg: 'RS256', kid: 'test-rs256' });
    await one.close();
  });
});

test('4.5 it is signed with the key that is active, also after a rotation', async () => {
  // The service has no configured keys, so its keys rotate.
  const rotating = await startIdp({ keys: {} });
  const kidOf = async () => {
    const { text } = await postForm(`${rotating.issuer}/connect/introspect`, { token: 'x' }, { ...credentialsOf('web'), accept: type });
    return decodeProtectedHeader(text).kid;
  };
  const before = await kidOf();
  await rotating.idp.keys.rotate({ now: true });
  const after = await kidOf();
  expect(after).not.toBe(before);
  const { keys: published } = (await (await fetch(`${rotating.issuer}/.well-known/openid-configuration/jwks`)).json()) as Json;
  expect(published.map(({ kid }: Json) => kid)).toContain(after);
  await rotating.close();
});

describe('RFC 9110 §12: which form is preferred', () => {
  test.each([
    [type, true],
    [`${type}, application/json`, true],
    [`${type};q=1, application/json;q=0.9`, true],
    [`application/json;q=0.1, ${type};q=0.2`, true],
    [`${type}, */*`, true],
    [`*/*;q=0.1, ${type}`, true],
    ['APPLICATION/Token-Introspection+JWT', true],
    ['application/json', false],
    ['*/*', false],
    ['application/*', false],
    [`application/json, ${type};q=0.9`, false],
    [`${type};q=0, */*`, false],
    [`${type};q=0`, false],
    [`${type};q=0.1, */*`, false],
    ['application/jwt', false],
    ['text/plain', false],
    ['', false],
  ])('Accept: %s', async (accept, isJwt) => {
    for (const token of [reference.access_token, signed.access_token, 'unknown']) {
      const { status, headers } = await asked(token, 'web', accept);
      expect([status, headers.get('content-type')]).toEqual([200, isJwt ? type : 'application/json; charset=utf-8']);
    }
  });
});

describe('design §5: errors stay JSON', () => {
  test.each<[string, number, string, Record<string, string>, Record<string, string>]>([
    ['without authentication', 401, 'invalid_client', {}, { token: 'x' }],
    ['with a wrong secret', 401, 'invalid_client', { authorization: 'Basic d2ViOndyb25n' }, { token: 'x' }],
    ['without a token', 400, 'invalid_request', credentialsOf('web'), {}],
  ])('%s', async (_what, status, error, headers, fields) => {
    const answer = await postForm(`${service.issuer}/connect/introspect`, fields, { ...headers, accept: type });
    expect(answer).toMatchObject({ status, json: { error } });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test('by GET', async () => {
    const response = await fetch(`${service.issuer}/connect/introspect?token=x`, { headers: { ...credentialsOf('web'), accept: type } });
    expect([response.status, response.headers.get('content-type')]).toEqual([405, 'application/json; charset=utf-8']);
  });
});

test('RFC 9701 of all that, nothing is in the log', () => expectQuietLog(service));
