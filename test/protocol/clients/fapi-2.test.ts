/** `fapi: '2.0'` of a client, and of all: the whole FAPI 2.0 Security Profile (§5.3.2, §5.4), at each endpoint. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { Agent, authorizeUrl, postForm, signIn } from '../../support/client/agent.js';
import { assertionType, createAssertingClient } from '../../support/client/assertions.js';
import { CIBA_GRANT } from '../../support/client/ciba/call-centre.js';
import { createPlanClient, planCalls, planOptions, ways as planWays } from '../../support/client/ciba/ciba-plan.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { fapiCalls, fapiRecord, fapiRequest, pkce, signByRsa } from '../../support/client/fapi-client.js';
import { responseOf } from '../../support/client/steps.js';
import { startIdp, type TestIdpOptions } from '../../support/service/idp.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const good = await createAssertingClient('good');
const record = await fapiRecord(good);
const introspectionType = 'application/token-introspection+jwt';
const ofClient = { seed: { ...testSeed, clients: [...testSeed.clients, { ...record, fapi: '2.0' as const }] } };
/** Ways in which the profile applies to the client, and ways in which the service answers. */
const ways: Readonly<Record<string, TestIdpOptions>> = {
  'of all': { fapi: '2.0', seed: { ...testSeed, clients: [record] } },
  'of a client': ofClient,
  'of a client, where the handlers of oidc-provider answer': { ...ofClient, configure: (configuration) => configuration },
};
afterEach(backToPresent);

describe.each(Object.entries(ways))("fapi: '2.0' %s", (way, options) => {
  const service = useIdp({ ...options, lifetimes: { code: 600 } });
  const { post, pushedUrl, codeFor, redeem, refresh } = fapiCalls(() => service.issuer, good);
  const request = (more: Record<string, string> = {}) => fapiRequest(good, more);
  const agent = new Agent();
  beforeAll(async () => {
    expect((await signIn(agent, await pushedUrl())).location).toContain('code=');
  });

  test('a client that says only how it authenticates gets a bound token and an ID token of ES256; the response names the issuer', async () => {
    const response = responseOf(await agent.get(await pushedUrl()));
    expect(response.get('iss')).toBe(service.issuer);
    const { json } = await redeem(response.get('code') ?? '');
    expect(json).toMatchObject({ token_type: 'DPoP', refresh_token: expect.any(String) });
    expect(decodeProtectedHeader(json.id_token).alg).toBe('ES256');
  });

  test('a signed response is of ES256', async () => {
    const { location = '' } = await agent.get(await pushedUrl({ response_mode: 'jwt' }));
    expect(decodeProtectedHeader(new URL(location).searchParams.get('response') ?? '').alg).toBe('ES256');
  });

  test('§5.3.2.1-9: refreshes with one refresh token, at the same time and until its absolute end', async () => {
    const { refresh_token: value } = (await redeem(await codeFor(agent))).json;
    for (const { status, json } of [...(await Promise.all([refresh(value), refresh(value)])), await refresh(value)])
      expect([status, json.refresh_token]).toEqual([200, value]);
    passTime(20 * 86_400);
    expect(await refresh(value)).toMatchObject({ status: 200 });
    passTime(31 * 86_400);
    expect(await refresh(value)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('§5.3.2.1: a code lives for 60 seconds, whatever the option says', async () => {
    const code = await codeFor(agent);
    passTime(62);
    expect(await redeem(code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('§5.3.2.1: no token is bound to nothing', async () => {
    expect((await redeem(await codeFor(agent), false)).status).toBe(400);
    const { refresh_token: value } = (await redeem(await codeFor(agent))).json;
    expect((await refresh(value, false)).status).toBe(400);
    const fields = { grant_type: 'client_credentials', scope: 'orders.read' };
    expect((await post('token', fields)).status).toBe(400);
    expect((await post('token', fields, { isBound: true })).json.token_type).toBe('DPoP');
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

  test.each(['par', 'token', 'introspect', 'revocation', 'ciba'])('§5.4.1: connect/%s refuses an assertion of RS256', async (path) => {
    const claims = { iss: 'good', sub: 'good', aud: service.issuer, jti: randomUUID(), iat: epochSeconds(), exp: epochSeconds() + 60 };
    const fields = { client_assertion_type: assertionType, client_assertion: await signByRsa(claims), grant_type: 'client_credentials' };
    expect(await postForm(`${service.issuer}/connect/${path}`, { ...request(), ...fields, token: 'x' })).toMatchObject({
      status: 401,
      json: { error: 'invalid_client' },
    });
  });

  test('§5.4.1: a request object of RS256 is refused, at PAR and at CIBA', async () => {
    const times = { nbf: epochSeconds(), iat: epochSeconds(), exp: epochSeconds() + 60, jti: randomUUID() };
    const claims = { ...request(), iss: 'good', aud: service.issuer, ...times };
    const object = await signByRsa(claims, 'oauth-authz-req+jwt');
    expect(await post('par', { client_id: 'good', request: object })).toMatchObject({ json: { error: 'invalid_request_object' } });
    const asked = await signByRsa({ iss: 'good', aud: service.issuer, ...times, scope: 'openid', login_hint: 'alice@acme.test' });
    expect(await post('ciba', { request: asked })).toMatchObject({
      json: { error: 'invalid_request', error_description: expect.stringContaining('PS256') },
    });
  });

  test('§5.4.1: a login_hint_token of RS256 is refused', async () => {
    const times = { iat: epochSeconds(), exp: epochSeconds() + 60, jti: randomUUID() };
    const hint = await signByRsa({ iss: 'good', aud: service.issuer, ...times, sub: randomUUID() }, 'login-hint+jwt');
    expect(await post('par', request({ login_hint_token: hint }))).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('a CIBA request ends in a bound token', async () => {
    const { json: asked } = await post('ciba', { scope: 'openid', login_hint: 'alice@acme.test' });
    const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
    const oid = account?.person.user.id ?? '';
    const [pending] = await service.idp.ciba.pendingOf(oid);
    await service.idp.ciba.approve(pending?.id ?? '', { oid, amr: ['pwd'], idp: 'local', authTime: epochSeconds() });
    const fields = { grant_type: CIBA_GRANT, auth_req_id: asked.auth_req_id };
    expect((await post('token', fields)).json.error).toBe('invalid_grant');
    const { json } = await post('token', fields, { isBound: true });
    expect([json.token_type, decodeProtectedHeader(json.id_token ?? '').alg]).toEqual(['DPoP', 'ES256']);
  });

  test('§5.4.1, RFC 9701: an introspection response is of ES256; one to an API resource too, where the profile is of all', async () => {
    const { json } = await post('token', { grant_type: 'client_credentials', scope: 'orders.read' }, { isBound: true });
    const own = await post('introspect', { token: json.access_token }, { accept: introspectionType });
    expect(decodeProtectedHeader(own.text).alg).toBe('ES256');
    expect(decodeJwt(own.text).token_introspection).toMatchObject({ active: true, cnf: { jkt: expect.any(String) } });
    const headers = { ...credentialsOf('orders'), accept: introspectionType };
    const api = await postForm(`${service.issuer}/connect/introspect`, { token: json.access_token }, headers);
    expect(decodeProtectedHeader(api.text).alg).toBe(way === 'of all' ? 'ES256' : 'RS256');
    expect(decodeJwt(api.text).token_introspection).toMatchObject({ active: true });
  });
});

describe.each(planWays.filter(({ isBound }) => isBound))('fapi: a client with certificates, $way', (way) => {
  const made = createPlanClient('holder');
  const service = useIdp(async () => {
    const holder = await made;
    const fapi = { ...holder.record(way, { grant_types: [CIBA_GRANT, 'client_credentials', 'refresh_token'] }), fapi: '2.0' };
    return { ...planOptions(way, []), seed: { ...testSeed, clients: [fapi] } as never };
  });

  test('gets a token that is bound to its certificate', async () => {
    const holder = await made;
    const { urls, credentials } = planCalls(service.issuer, way);
    const { fields, headers } = await credentials(holder, service.issuer);
    const { json } = await postForm(urls.token, { grant_type: 'client_credentials', scope: 'orders.read', ...fields }, { ...headers });
    const asked = await credentials(holder, service.issuer);
    const { json: seen } = await postForm(
      `${service.issuer}/connect/introspect`,
      { token: json.access_token, ...asked.fields },
      { ...asked.headers },
    );
    expect(seen).toMatchObject({ active: true, cnf: { 'x5t#S256': expect.any(String) } });
    if (way.method !== 'private_key_jwt') return;
    const other = await credentials(holder, urls.token);
    const refused = await postForm(urls.token, { grant_type: 'client_credentials', ...other.fields }, { ...other.headers });
    expect(refused.status).toBe(401);
  });
});

test('other clients are as they were, where one client has the profile', async () => {
  const service = await startIdp(ofClient);
  try {
    const page = await new Agent().get(authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256' }));
    expect(page.location).toContain('/interaction/');
    const { json } = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'client_credentials', scope: 'orders.read' },
      credentialsOf('service'),
    );
    expect(json.token_type).toBe('Bearer');
  } finally {
    await service.close();
  }
});

test('a function of the host that returns FAPI 2.0 is refused, because it would set nothing else', async () => {
  const service = await startIdp({ features: { fapi: { enabled: true, profile: (() => '2.0') as never } } });
  try {
    const { status } = await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, credentialsOf('service'));
    expect(status).toBe(500);
    const messages = service.logged.map(([fields]) => ((fields as { err?: Error }).err as Error | undefined)?.message);
    expect(messages).toContainEqual(expect.stringContaining("set fapi: '2.0' in the record of the client"));
  } finally {
    await service.close();
  }
});
