/** Feature `fapi`, profile 2.0: the whole FAPI 2.0 Security Profile (§5.3.2, §5.4), by its clients and its requests. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent, authorizeUrl, basic, createPkce, postForm, signIn } from '../../support/client/agent.js';
import { type AssertingClient, assertionType, createAssertingClient } from '../../support/client/assertions.js';
import { responseOf } from '../../support/client/steps.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { type IdpInUse, useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const good = await createAssertingClient('good');
const rsa = await generateKeyPair('RS256', { extractable: true });
const metadataOf = ({ seed }: AssertingClient, more: Record<string, unknown> = {}) => ({
  ...seed.metadata,
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  ...more,
});
/** Settings that the profile refuses, by the client that has them. */
const refused: Readonly<Record<string, Record<string, unknown>>> = {
  secret: { token_endpoint_auth_method: 'client_secret_basic' },
  public: { token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] },
  direct: { require_pushed_authorization_requests: false },
  unbound: { dpop_bound_access_tokens: false },
  hybrid: { response_types: ['code id_token'], grant_types: ['authorization_code', 'implicit'], redirect_uris: ['https://rp.test/cb'] },
  http: { redirect_uris: ['http://rp.test/cb'] },
  'id-token': { id_token_signed_response_alg: 'RS256' },
  response: { authorization_signed_response_alg: 'RS256' },
  objects: { request_object_signing_alg: 'RS256' },
  assertions: { token_endpoint_auth_signing_alg: 'RS256' },
};
const clients = Object.fromEntries(
  await Promise.all(Object.keys(refused).map(async (id) => [id, await createAssertingClient(id)] as const)),
);
const seedOf = (client: AssertingClient, more: Record<string, unknown> = {}) => ({
  ...client.seed,
  allowedScopes: ['openid', 'offline_access', 'orders.read'],
  allowPlainPkce: true,
  metadata: metadataOf(client, more),
});
const withKey = { ...(good.seed.metadata.jwks as { keys: object[] }) };
const seed = async () => ({
  ...testSeed,
  clients: [
    ...testSeed.clients,
    {
      ...seedOf(good),
      metadata: metadataOf(good, {
        jwks: { keys: [...withKey.keys, { ...(await exportJWK(rsa.publicKey)), alg: 'RS256', use: 'sig', kid: 'rsa' }] },
      }),
    },
    ...Object.entries(refused).map(([id, more]) => ({
      ...seedOf(clients[id] as AssertingClient, more),
      ...(id === 'secret' ? { secret: `${id}-secret` } : {}),
    })),
  ],
});
const seeded = await seed();
const service = useIdp(() => ({ features: { fapi: { enabled: true, profile: '2.0' } }, lifetimes: { code: 600 }, seed: seeded as never }));
afterEach(backToPresent);

const keys = await generateKeyPair('ES256', { extractable: true });
const proof = async (url: string) =>
  new SignJWT({ htu: url, htm: 'POST', jti: randomUUID() })
    .setIssuedAt()
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(keys.publicKey) })
    .sign(keys.privateKey);
const post = async (path: string, fields: Record<string, string>, { isBound = false, by = good, own = service as IdpInUse } = {}) => {
  const url = `${own.issuer}/connect/${path}`;
  return postForm(url, { ...fields, ...(await by.sign(own.issuer)) }, isBound ? { dpop: await proof(url) } : {});
};
const pkce = createPkce();
const request = (more: Record<string, string> = {}) => ({
  client_id: 'good',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid offline_access',
  code_challenge: pkce.challenge,
  code_challenge_method: 'S256',
  ...more,
});
const agent = new Agent();
beforeAll(async () => {
  expect((await signIn(agent, await pushedUrl())).location).toContain('code=');
});
async function pushedUrl(): Promise<string> {
  const { json } = await post('par', request());
  return `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'good', request_uri: json.request_uri })}`;
}
const codeOf = async () => responseOf(await agent.get(await pushedUrl())).get('code') ?? '';
const redeem = (code: string, isBound = true) =>
  post('token', { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier }, { isBound });

describe('a client that only authenticates by private_key_jwt', () => {
  test('gets a bound token and an ID token of ES256, and the response names the issuer', async () => {
    const response = responseOf(await agent.get(await pushedUrl()));
    expect(response.get('iss')).toBe(service.issuer);
    const { json } = await redeem(response.get('code') ?? '');
    expect(json).toMatchObject({ token_type: 'DPoP', refresh_token: expect.any(String) });
    expect(decodeProtectedHeader(json.id_token).alg).toBe('ES256');
  });

  test('§5.3.2.1-9: refreshes with one refresh token, at the same time and until its absolute end', async () => {
    const { refresh_token: value } = (await redeem(await codeOf())).json;
    const refresh = () => post('token', { grant_type: 'refresh_token', refresh_token: value }, { isBound: true });
    for (const { status, json } of [...(await Promise.all([refresh(), refresh()])), await refresh()])
      expect([status, json.refresh_token ?? value]).toEqual([200, value]);
    passTime(20 * 86_400);
    expect(await refresh()).toMatchObject({ status: 200 });
    passTime(31 * 86_400);
    expect(await refresh()).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('§5.3.2.1: a code lives for 60 seconds, whatever the option says', async () => {
    const code = await codeOf();
    passTime(62);
    expect(await redeem(code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('§5.3.2.1: no token is bound to nothing', async () => {
    expect((await redeem(await codeOf(), false)).status).toBe(400);
    const { refresh_token: value } = (await redeem(await codeOf())).json;
    expect((await post('token', { grant_type: 'refresh_token', refresh_token: value })).status).toBe(400);
    expect((await post('token', { grant_type: 'client_credentials', scope: 'orders.read' })).status).toBe(400);
    expect((await post('token', { grant_type: 'client_credentials', scope: 'orders.read' }, { isBound: true })).json.token_type).toBe(
      'DPoP',
    );
  });

  test('§5.3.2.2: a request that was not pushed is refused, by GET, by POST and as a request object', async () => {
    const direct = await agent.follow(await agent.get(authorizeUrl(service.issuer, request())));
    expect(responseOf(direct).get('error')).toBe('invalid_request');
    const posted = await agent.follow(await agent.post(`${service.issuer}/connect/authorize`, request()));
    expect(responseOf(posted).get('error')).toBe('invalid_request');
  });

  test.each([
    ['without PKCE', { code_challenge: '', code_challenge_method: '' }],
    ['with PKCE by plain', { code_challenge: pkce.verifier, code_challenge_method: 'plain' }],
    ['with a nonce in place of PKCE', { code_challenge: '', code_challenge_method: '', nonce: 'n' }],
    ['for an ID token', { response_type: 'id_token', nonce: 'n' }],
    ['without redirect_uri', { redirect_uri: '' }],
  ])('§5.3.2.2: a request %s is refused', async (_, more) => {
    expect((await post('par', request(more))).status).toBe(400);
  });

  test.each(['par', 'token', 'introspect'])('§5.4.1: connect/%s refuses an assertion of RS256', async (path) => {
    const claims = { iss: 'good', sub: 'good', aud: service.issuer, jti: randomUUID(), iat: epochSeconds(), exp: epochSeconds() + 60 };
    const assertion = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'rsa' }).sign(rsa.privateKey);
    const fields = { client_assertion_type: assertionType, client_assertion: assertion, grant_type: 'client_credentials', token: 'x' };
    expect(await postForm(`${service.issuer}/connect/${path}`, { ...request(), ...fields })).toMatchObject({
      status: 401,
      json: { error: 'invalid_client' },
    });
  });

  test('§5.4.1: a request object of RS256 is refused', async () => {
    const claims = { ...request(), iss: 'good', aud: service.issuer, nbf: epochSeconds(), exp: epochSeconds() + 60 };
    const header = { kid: 'rsa', typ: 'oauth-authz-req+jwt' };
    const object = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(rsa.privateKey);
    expect(await post('par', { client_id: 'good', request: object })).toMatchObject({ json: { error: 'invalid_request_object' } });
  });
});

describe.each(Object.keys(refused))('a client whose settings the profile refuses: %s', (id) => {
  const endpoints = {
    par: () => request({ client_id: id }),
    token: () => ({ grant_type: 'authorization_code', code: 'x', client_id: id }),
  };
  test.each(Object.entries(endpoints))('is refused at connect/%s, and is told which setting it is', async (path, fieldsOf) => {
    const fields: Record<string, string> = fieldsOf();
    const url = `${service.issuer}/connect/${path}`;
    const answer =
      id === 'secret'
        ? await postForm(url, fields, { authorization: basic(id, `${id}-secret`) })
        : id === 'public'
          ? await postForm(url, fields)
          : await post(path, fields, { by: clients[id] as AssertingClient });
    // An assertion of ES256 is not of the registered algorithm.
    if (id === 'assertions') return expect(answer.status).toBe(401);
    expect(answer).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
    expect(answer.json.error_description).toMatch(/^FAPI 2\.0 requires metadata \w+ of this client to be /);
  });
});

describe('where a function names the profile', () => {
  const named = useIdp(() => ({
    features: {
      fapi: { enabled: true, profile: (_ctx, client) => (['good', 'whole'].includes(client?.clientId ?? '') ? '2.0' : undefined) },
    },
    seed: {
      ...seeded,
      clients: [
        ...seeded.clients,
        {
          ...seedOf(good, {
            require_pushed_authorization_requests: true,
            dpop_bound_access_tokens: true,
            id_token_signed_response_alg: 'ES256',
            authorization_signed_response_alg: 'ES256',
          }),
          id: 'whole',
        },
      ],
    } as never,
  }));

  test('a client has the settings in its own metadata, or is refused; others are as they were', async () => {
    expect(await post('par', request(), { own: named })).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
    const whole = await good.sign(named.issuer, { iss: 'whole', sub: 'whole' });
    expect(await postForm(`${named.issuer}/connect/par`, { ...request({ client_id: 'whole' }), ...whole })).toMatchObject({ status: 201 });
    const other = await agent.get(authorizeUrl(named.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256' }));
    expect(other.location).toContain('/interaction/');
  });
});
