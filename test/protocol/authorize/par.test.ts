import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { Agent, basic, createPkce, postForm, signIn } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { redeem, responseOf } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

afterEach(backToPresent);

const pkce = createPkce();
const request = {
  response_type: 'code',
  client_id: 'web',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 'of the client',
  code_challenge: pkce.challenge,
  code_challenge_method: 'S256',
};
const authorize = (requestUri: string, client = 'web') =>
  `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client, request_uri: requestUri })}`;
const push = async (parameters: Record<string, string> = {}): Promise<string> =>
  (await endpoints.par({ ...request, ...parameters })).json.request_uri;

test('4.3 answers a request_uri of the documented form and its lifetime in seconds', async () => {
  const { status, json } = await endpoints.par(request);
  expect(status).toBe(201);
  expect(json).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:.{20,}$/),
    expires_in: expect.any(Number),
  });
  // The lifetime is 60 seconds, and a busy machine may have used some of them.
  expect(Math.ceil(json.expires_in / 30)).toBe(2);
});

test('4.3 a client library pushes a request; the browser brings client_id and request_uri only', async () => {
  const party = await discover(service.issuer);
  const verifier = openid.randomPKCECodeVerifier();
  const { client_id: _, ...parameters } = request;
  const url = await openid.buildAuthorizationUrlWithPAR(party, {
    ...parameters,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
  });
  expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
  const { location = '' } = await signIn(new Agent(), url.href);
  const checks = { pkceCodeVerifier: verifier, expectedState: request.state };
  expect(await openid.authorizationCodeGrant(party, new URL(location), checks)).toMatchObject({ token_type: 'bearer' });
});

test('4.3 what was pushed counts, not what the browser adds', async () => {
  const { location = '' } = await signIn(new Agent(), `${authorize(await push())}&state=of-the-browser&scope=openid+profile`);
  expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({ state: request.state, scope: 'openid' });
});

test('4.3 a request_uri is good for one response', async () => {
  const agent = new Agent();
  const url = authorize(await push());
  expect((await signIn(agent, url)).location).toContain('code=');
  const again = await agent.get(url);
  expect(again.location ?? `${again.status} ${again.body}`).toContain('invalid_request_uri');
});

test('4.3 a request_uri ends after its lifetime', async () => {
  const url = authorize(await push());
  passTime(61);
  const answer = await new Agent().get(url);
  expect([answer.status, answer.location]).toEqual([400, undefined]);
  expect(answer.body).toContain('invalid_request_uri');
});

test('4.3 a request_uri belongs to the client that pushed it', async () => {
  const answer = await new Agent().get(authorize(await push(), 'spa'));
  expect(answer.location ?? answer.body).not.toContain('code=');
  expect(answer.status).toBe(400);
});

test('4.3 a redirect URI that is not registered is refused at once', async () => {
  expect(await endpoints.par({ ...request, redirect_uri: 'http://127.0.0.1:9/other' })).toMatchObject({
    status: 400,
    json: { error: expect.stringMatching(/^invalid_(request|redirect_uri)$/) },
  });
});

test.each([
  ['an unknown scope', { scope: 'openid nonsense' }, 'invalid_scope'],
  ['a scope the client may not have', { scope: 'openid invoices.read' }, 'invalid_scope'],
  ['101 custom parameters', Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`p${index}`, 'v'])), 'invalid_request'],
  ['request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'request_uri_not_supported'],
  ['a code_challenge without its method', { code_challenge_method: '' }, 'invalid_request'],
])('4.3 %s is refused at once', async (_, parameters, error) => {
  expect(await endpoints.par({ ...request, ...(parameters as Record<string, string>) })).toMatchObject({ status: 400, json: { error } });
});

test('4.3 needs client authentication; a public client gives its id and PKCE', async () => {
  const url = `${service.issuer}/connect/par`;
  expect(await postForm(url, request)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  expect(await endpoints.par({ ...request, client_id: 'jwt' })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  expect(await postForm(url, { ...request, client_id: 'spa' })).toMatchObject({ status: 201 });
});

test('4.3 takes private_key_jwt', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: 'own', alg: 'ES256', use: 'sig' };
  await service.idp.directory.clients.create({
    id: 'keyed',
    name: 'Has a key',
    metadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } },
    allowedScopes: ['openid'],
  });
  const party = await discover(service.issuer, { client: 'keyed', authentication: openid.PrivateKeyJwt({ key: privateKey, kid: 'own' }) });
  const { client_id: _, ...parameters } = request;
  const url = await openid.buildAuthorizationUrlWithPAR(party, parameters);
  expect(url.searchParams.get('request_uri')).toMatch(/^urn:/);
});

test.each(['response_type', 'client_id', 'redirect_uri', 'scope'])('4.3 %s is required', async (name) => {
  const { [name]: _, ...without } = request as Record<string, string>;
  for (const fields of [without, { ...without, [name]: '' }])
    expect(await endpoints.par(fields)).toMatchObject({
      status: 400,
      json: { error: expect.stringMatching(/^invalid_(request|redirect_uri)$/) },
    });
});

test('4.3 state and nonce are not', async () => {
  const { state: _, ...without } = request;
  const { json } = await endpoints.par(without);
  const response = responseOf(await signIn(new Agent(), authorize(json.request_uri)));
  expect([response.has('code'), response.has('state')]).toEqual([true, false]);
});

test('4.3 nonce is required for id_token requests', async () => {
  await service.idp.directory.clients.create({
    id: 'hybrid',
    name: 'Hybrid',
    secret: 'hybrid-secret',
    metadata: { redirect_uris: [redirectUri], response_types: ['code id_token'] },
    allowedScopes: ['openid'],
  });
  const hybrid = { ...request, client_id: 'hybrid', response_type: 'code id_token' };
  expect(await endpoints.par(hybrid, 'hybrid')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  expect(await endpoints.par({ ...hybrid, nonce: 'n' }, 'hybrid')).toMatchObject({ status: 201 });
});

test('4.3 a confidential client authenticates by HTTP Basic, or in the body; nobody authenticates for another', async () => {
  const url = `${service.issuer}/connect/par`;
  const web = { authorization: basic('web', 'web-secret') };
  expect(await postForm(url, request, web)).toMatchObject({ status: 201 });
  expect(await postForm(url, { ...request, client_secret: 'web-secret' })).toMatchObject({ status: 201 });
  expect(await postForm(url, request, { authorization: basic('web', 'wrong') })).toMatchObject({ status: 401 });
  expect(await postForm(url, { ...request, client_secret: 'web-secret' }, web)).toMatchObject({ status: 400 });
  expect(await postForm(url, request, { authorization: basic('jwt', 'jwt-secret') })).toMatchObject({ status: 400 });
  expect(await postForm(url, { ...request, client_id: 'orders' }, { authorization: basic('orders', 'orders-secret') })).toMatchObject({
    status: 400,
  });
});

test('4.3 a public client uses PKCE', async () => {
  const { code_challenge: _, code_challenge_method: __, ...without } = { ...request, client_id: 'spa' };
  const url = `${service.issuer}/connect/par`;
  expect(await postForm(url, without)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  const { json } = await postForm(url, { ...request, client_id: 'spa' });
  const code = responseOf(await signIn(new Agent(), authorize(json.request_uri, 'spa'))).get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, client_id: 'spa', code_verifier: pkce.verifier };
  expect(await postForm(`${service.issuer}/connect/token`, fields)).toMatchObject({ status: 200 });
});

test('4.3 a sign-in that began within the lifetime may end after it', async () => {
  const agent = new Agent();
  const page = await agent.follow(await agent.get(authorize(await push())));
  passTime(90);
  const password = await agent.submit(page, { identifier: 'alice@acme.test' });
  const response = responseOf(await agent.follow(await agent.submit(password, { password: 'alice' })));
  expect([response.has('code'), response.get('state')]).toEqual([true, request.state]);
});

test('4.3 a browser may open it again until there is a response', async () => {
  const agent = new Agent();
  const url = authorize(await push());
  for (const _ of [1, 2]) expect((await agent.follow(await agent.get(url))).status).toBe(200);
  expect(responseOf(await signIn(agent, url)).has('code')).toBe(true);
  expect((await agent.get(url)).status).toBe(400);
});

test('4.3 what the browser cannot bring: another client, another reference, no client', async () => {
  const uri = await push();
  for (const query of [
    { client_id: 'jwt', request_uri: uri },
    { client_id: 'nobody', request_uri: uri },
    { request_uri: uri },
    { client_id: 'web', request_uri: `${uri}x` },
    { client_id: 'web', request_uri: uri.toUpperCase() },
  ]) {
    const { status, location } = await new Agent().get(
      `${service.issuer}/connect/authorize?${new URLSearchParams(query as Record<string, string>)}`,
    );
    expect({ query, status, location }).toEqual({ query, status: 400, location: undefined });
  }
  expect(responseOf(await signIn(new Agent(), authorize(uri))).has('code')).toBe(true);
});

test('4.3 a client that was disabled meanwhile cannot use what it pushed', async () => {
  const uri = await push();
  await service.idp.directory.clients.update('web', { status: 'disabled' });
  const { status, location } = await new Agent().get(authorize(uri));
  await service.idp.directory.clients.update('web', { status: 'active' });
  expect([status, location]).toEqual([400, undefined]);
});

test('4.3 a code of a request that was pushed with dpop_jkt takes a proof by that key', async () => {
  const dpop_jkt = await calculateJwkThumbprint(await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey));
  for (const [parameters, status] of [
    [{}, 200],
    [{ dpop_jkt }, 400],
  ] as const) {
    const code = responseOf(await signIn(new Agent(), authorize(await push(parameters)))).get('code') ?? '';
    const answer = await redeem(service.issuer, { client: 'web', code, verifier: pkce.verifier });
    expect([answer.status, answer.json.error]).toEqual([
      status,
      status === 200 ? undefined : expect.stringMatching(/^invalid_(grant|dpop_proof)$/),
    ]);
  }
});
