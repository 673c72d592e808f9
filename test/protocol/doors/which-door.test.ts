/** Requests that are answered without oidc-provider, and requests that are left to it. `both-ways.test.ts` compares the answers. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Extension } from 'tenant-idp/extension';
import { Agent, basic, type Json, postForm } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { obtainCode, redeem } from '../../support/client/steps.js';
import { formTypes, plainType } from '../../support/requests/both-doors.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let isByProvider: boolean | undefined;
/** An extension that tells whether oidc-provider answers, because only then a request has its context. */
const look: Extension = {
  name: 'look',
  around: Object.fromEntries(
    ['token', 'introspection', 'revocation', 'userinfo'].map((endpoint) => [
      endpoint,
      () => async (ctx, next) => {
        await next();
        isByProvider = 'oidc' in ctx;
      },
    ]),
  ),
};
/** A client whose redirect URI has no origin. */
const application = {
  id: 'application',
  name: 'Application',
  metadata: { application_type: 'native', redirect_uris: ['com.example.application:/callback'], token_endpoint_auth_method: 'none' },
  allowedScopes: ['openid'],
};
let asserting: AssertingClient;
let profiled: AssertingClient;
const nonceSecret = Buffer.alloc(32, 1);
const service = useIdp(async () => {
  asserting = await createAssertingClient();
  profiled = await createAssertingClient('profiled');
  const ofProfile = {
    ...profiled.seed,
    fapi: '2.0',
    metadata: { ...profiled.seed.metadata, redirect_uris: ['https://rp.example/callback'] },
  };
  return {
    extensions: [look],
    features: { dPoP: { nonceSecret } },
    seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed, ofProfile, application] } as never,
  };
});
let tokens: Json;
beforeAll(async () => {
  tokens = (await redeem(service.issuer, await obtainCode(service.issuer, new Agent(), 'spa', { scope: 'openid offline_access' }))).json;
});

const { origin } = new URL(redirectUri);
const credentials = { grant_type: 'client_credentials' };
const secret = { authorization: basic('web', 'web-secret') };
const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  postForm(`${service.issuer}/connect/${path}`, fields, { 'content-type': plainType, ...headers });
const refresh = (headers: Record<string, string> = {}) =>
  post('token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'spa' }, headers);
const userinfo = (headers: Record<string, string> = {}) =>
  fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}`, ...headers } });

describe('without oidc-provider', () => {
  test.each<[string, number, () => Promise<{ status: number }>]>([
    ['a refresh of a public client', 200, refresh],
    ['the same from its origin', 200, () => refresh({ origin })],
    ['a refusal to a public client', 400, () => post('token', { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'spa' })],
    ['a revocation by a public client', 200, () => post('revocation', { token: 'x', client_id: 'spa' })],
    ['an introspection by a public client', 200, () => post('introspect', { token: 'x', client_id: 'spa' })],
    ['userinfo', 200, userinfo],
    ['userinfo from the origin of the client', 200, () => userinfo({ origin })],
    ['an introspection from the origin of the client', 200, () => post('introspect', { token: 'x' }, { ...secret, origin })],
    ['an assertion', 200, async () => post('token', { ...credentials, ...(await asserting.sign(service.issuer)) })],
    [
      'an assertion beside the id',
      200,
      async () => post('introspect', { token: 'x', client_id: 'asserting', ...(await asserting.sign(service.issuer)) }),
    ],
  ])('%s', async (_what, status, ask) => {
    expect(await ask()).toMatchObject({ status });
    expect(isByProvider).toBe(false);
  });
});

describe('by oidc-provider', () => {
  test.each<[string, number, () => Promise<{ status: number }>]>([
    ['the id of a client with a secret, alone', 401, () => post('token', { ...credentials, client_id: 'service' })],
    ['the id of a client with assertions, alone', 401, () => post('token', { ...credentials, client_id: 'asserting' })],
    ['a public client with a secret', 401, () => post('introspect', { token: 'x', client_id: 'spa', client_secret: 'x' })],
    ['an origin of nobody', 400, () => refresh({ origin: 'https://elsewhere.example' })],
    ['userinfo from an origin of nobody', 400, () => userinfo({ origin: 'https://elsewhere.example' })],
    ['a client of FAPI 2.0', 400, async () => post('token', { ...credentials, ...(await profiled.sign(service.issuer)) })],
    [
      'an assertion for another audience',
      401,
      async () => post('token', { ...credentials, ...(await asserting.sign(service.issuer, { aud: 'https://elsewhere.example' })) }),
    ],
    ['an unknown grant type', 400, async () => post('token', { grant_type: 'x', ...(await asserting.sign(service.issuer)) })],
  ])('%s', async (_what, status, ask) => {
    expect(await ask()).toMatchObject({ status });
    expect(isByProvider).toBe(true);
  });
});

test.each(formTypes)('Fetch §3.2: the origin null is the origin of no client (%s)', async (type) => {
  const answer = await post('introspect', { token: 'x', client_id: 'application' }, { 'content-type': type, origin: 'null' });
  expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
});

test('an assertion that was used without oidc-provider is refused at every endpoint', async () => {
  const answered = await asserting.sign(service.issuer);
  expect(await post('token', { ...credentials, ...answered })).toMatchObject({ status: 200 });
  for (const path of ['token', 'introspect', 'revocation'])
    expect(await post(path, { ...credentials, token: 'x', ...answered })).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
});

test.each(['token', 'introspect', 'revocation', 'userinfo'])('RFC 9449 §8: %s exposes the same headers at both doors', async (path) => {
  const exposed = [];
  for (const more of [{}, { 'oauth-client-attestation-pop': 'x' }] as Record<string, string>[]) {
    const headers = { origin, ...more };
    const fields = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x', client_id: 'spa' };
    const answer = path === 'userinfo' ? await userinfo(headers) : await post(path, fields, headers);
    expect(isByProvider).toBe(Object.keys(more).length > 0);
    exposed.push(answer.headers.get('access-control-expose-headers'));
  }
  expect(exposed[0]).toBe(path === 'token' || path === 'userinfo' ? 'DPoP-Nonce,WWW-Authenticate' : 'WWW-Authenticate');
  expect(exposed[1]).toBe(exposed[0]);
});
