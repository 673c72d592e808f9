/** Service specification 4.2 and 4.3, `request`: signed authorization requests, by value and pushed. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import * as openid from 'openid-client';
import { Agent, type Answer, createPkce, formOf, type Json, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { assertionType } from '../../support/client/assertions.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { discover } from '../../support/client/relying-party.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { authorizationOf, steadyMembersOf } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

let endpoints: Endpoints;
let client: SigningClient;
let another: SigningClient;
let alice: Agent;
let tokens: Json;
const host = useDocumentHost();
const service = useIdp(() => ({ outgoing: { allowHosts: [host.address] } }));
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  client = await createSigningClient('signing');
  another = await createSigningClient('another');
  await service.idp.directory.clients.create(client.record);
  await service.idp.directory.clients.create(another.record);
  ({ agent: alice, tokens } = await obtainTokens(service.issuer, { client: 'jwt', secret: 'jwt-secret', scope: 'openid orders.read' }));
});
afterEach(backToPresent);

const { verifier, challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const sign = (members: Record<string, unknown> = {}, header?: Record<string, unknown>, by = client) =>
  by.sign(service.issuer, { ...pkce, state: 'signed', ...members }, header);
const get = (query: Record<string, string>, agent = alice): Promise<Answer> =>
  agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, ...query })}`);
/** Parameters by which a client gets an error if the object cannot be read. */
const outside = { redirect_uri: redirectUri, response_type: 'code', state: 'outside' };

describe('4.2 request: a JWT carrying the parameters', () => {
  test.each(['ES256', 'RS256', 'PS256', 'Ed25519'])('a client library signs it with %s', async (alg) => {
    const signing = await createSigningClient(`signing-${alg}`, { alg, metadata: { request_object_signing_alg: alg } });
    await service.idp.directory.clients.create(signing.record);
    const party = await discover(service.issuer, { client: signing.id });
    const request = { redirect_uri: redirectUri, scope: 'openid', state: 's', ...pkce };
    const url = await openid.buildAuthorizationUrlWithJAR(party, request, { key: signing.privateKey, kid: 'own' });
    expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request']);
    const { location = '' } = await signIn(new Agent(), url.href);
    const checks = { pkceCodeVerifier: verifier, expectedState: 's' };
    expect(await openid.authorizationCodeGrant(party, new URL(location), checks)).toMatchObject({ token_type: 'bearer' });
  });

  test('what is beside it does not count', async () => {
    const beside = {
      state: 'outside',
      scope: 'openid profile',
      basket: '1',
      redirect_uri: 'http://evil.example/',
      __custom: '{"custom":{"a":"b"}}',
    };
    expect(steadyMembersOf(await get({ ...beside, request: await sign() }))).toEqual({
      code: expect.any(String),
      state: 'signed',
      scope: 'openid',
      iss: service.issuer,
    });
  });

  test('custom parameters in it are returned, but for members of every JWT and names that mean something', async () => {
    const custom = { cart: '42', 'a b': '<&>', __custom: '{"custom":[["injected","yes"]]}' };
    const not = { none: null, sub: 'x', jti: 'x', password: 'x', access_token: 'x', code: 'x', nonce: 'n' };
    const request = await sign({ ...custom, ...not });
    const expected = { ...custom, code: expect.any(String), state: 'signed', scope: 'openid', iss: service.issuer };
    expect(steadyMembersOf(await get({ request }))).toEqual(expected);
    const form = formOf(await get({ request: await sign({ ...custom, ...not, response_mode: 'form_post' }) }));
    expect(form.fields).toEqual({ ...expected, session_state: expect.any(String) });
    expect(form.action).toBe(redirectUri);
  });

  test('they come back on errors and through the pages as well', async () => {
    const refused = await get({ request: await sign({ cart: '42', scope: 'openid nonsense' }), basket: '1' });
    expect(steadyMembersOf(refused)).toMatchObject({ error: 'invalid_scope', cart: '42', state: 'signed' });
    expect(steadyMembersOf(refused)).not.toHaveProperty('basket');
    const url = `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, request: await sign({ cart: '42' }) })}`;
    expect(steadyMembersOf(await signIn(new Agent(), url))).toMatchObject({ code: expect.any(String), cart: '42', state: 'signed' });
  });

  test('in every response type and mode', async () => {
    const metadata = { ...client.record.metadata, response_types: ['code', 'code id_token', 'id_token token'], grant_types: undefined };
    await service.idp.directory.clients.update(client.id, { metadata });
    for (const responseType of ['code id_token', 'id_token token', 'code'])
      for (const mode of ['fragment', 'form_post']) {
        const members = { response_type: responseType, response_mode: mode, nonce: 'n', cart: '42' };
        const answered = await get({ request: await sign(members), basket: '1', state: 'outside', response_type: responseType });
        const response =
          mode === 'form_post' ? formOf(answered).fields : Object.fromEntries(new URLSearchParams(answered.location?.split('#')[1]));
        expect(response).toMatchObject({ cart: '42', state: 'signed', scope: 'openid' });
        expect(response).not.toHaveProperty('basket');
        expect(Object.keys(response)).toEqual(expect.arrayContaining([responseType.includes('code') ? 'code' : 'access_token']));
      }
    await service.idp.directory.clients.update(client.id, { metadata: client.record.metadata });
  });

  test('by POST as well', async () => {
    const fields = { client_id: client.id, request: await sign({ cart: '42' }), state: 'outside' };
    const answered = await alice.follow(await alice.post(`${service.issuer}/connect/authorize`, fields));
    expect(steadyMembersOf(answered)).toMatchObject({ code: expect.any(String), cart: '42', state: 'signed' });
  });

  test('more than a hundred, or 4 KiB of them, are invalid_request', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`p${index}`, 'v']));
    for (const custom of [many, { big: 'x'.repeat(4094) }])
      expect(steadyMembersOf(await get({ request: await sign(custom) }))).toMatchObject({ error: 'invalid_request', state: 'signed' });
  });

  test('its scope and its challenge are held to the rules of any other', async () => {
    const plain = { code_challenge: verifier, code_challenge_method: 'plain' };
    for (const [members, error] of [
      [{ scope: 'openid email' }, 'invalid_scope'],
      [{ scope: undefined }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [plain, 'invalid_request'],
      [{ acr_values: 'impersonate' }, 'unmet_authentication_requirements'],
    ] as const)
      expect(steadyMembersOf(await get({ request: await sign(members) }))).toMatchObject({ error });
    await service.idp.directory.clients.update(client.id, { allowPlainPkce: true });
    const { code = '' } = steadyMembersOf(await get({ request: await sign(plain) }));
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    expect(await endpoints.token({ ...fields, code_verifier: verifier }, client.id)).toMatchObject({ status: 200 });
    await service.idp.directory.clients.update(client.id, { allowPlainPkce: false });
  });

  test('it may be used again until it expires, as a browser does that goes back; a pushed one is used once', async () => {
    const request = await sign({ jti: 'once', exp: epochSeconds() + 60 });
    for (const _ of [1, 2]) expect(steadyMembersOf(await get({ request }))).toHaveProperty('code');
    passTime(80);
    expect(steadyMembersOf(await get({ ...outside, request }))).toMatchObject({ error: 'invalid_request_object' });
  });
});

describe('RFC 9101 §10: a request object that is not right is invalid_request_object', () => {
  const refused = async (request: string): Promise<void> => {
    const response = steadyMembersOf(await get({ ...outside, request }));
    expect(response).toMatchObject({ error: 'invalid_request_object' });
    expect(response).not.toHaveProperty('code');
  };

  test.each<[string, () => Record<string, unknown>]>([
    ['another issuer', () => ({ iss: 'web' })],
    ['no issuer', () => ({ iss: undefined })],
    ['another audience', () => ({ aud: 'https://elsewhere.test' })],
    ['other audiences', () => ({ aud: ['https://elsewhere.test', `${service.issuer}/`] })],
    ['an empty list of audiences', () => ({ aud: [] })],
    ['an audience that is no text', () => ({ aud: [service.issuer, 7] })],
    ['an audience in a list in the list', () => ({ aud: [[service.issuer]] })],
    ['no audience', () => ({ aud: undefined })],
    ['no expiry', () => ({ exp: undefined })],
    ['an expiry that is past', () => ({ exp: epochSeconds() - 60 })],
    ['an expiry too far', () => ({ exp: epochSeconds() + 7200 })],
    ['a life too long', () => ({ nbf: epochSeconds() - 3600, exp: epochSeconds() + 60 })],
    ['a beginning to come', () => ({ nbf: epochSeconds() + 120 })],
    ['no client_id', () => ({ client_id: undefined })],
    ['another client_id', () => ({ client_id: 'web' })],
    ['the client as subject, as in a client assertion', () => ({ sub: client.id })],
    ['another request', () => ({ request: 'a.b.c' })],
    ['a reference to another', () => ({ request_uri: 'urn:ietf:params:oauth:request_uri:x' })],
  ])('with %s', async (_, members) => refused(await sign(members())));

  test('RFC 9101 §4: an array of audiences contains the issuer, in the URL and pushed', async () => {
    for (const aud of [[service.issuer], ['https://elsewhere.test', service.issuer]]) {
      expect(steadyMembersOf(await get({ ...outside, request: await sign({ aud }) }))).toHaveProperty('code');
      const { json } = await endpoints.par({ client_id: client.id, request: await sign({ aud }) }, client.id);
      expect(steadyMembersOf(await get({ request_uri: json.request_uri }))).toHaveProperty('code');
    }
  });

  test.each(['at+jwt', 'logout+jwt', 'login-hint+jwt', 'token-introspection+jwt', 'client-authentication+jwt', 'dpop+jwt', 7])(
    'of typ %s',
    async (typ) => refused(await sign({}, { typ })),
  );

  test('of typ oauth-authz-req+jwt, JWT or none it is taken', async () => {
    for (const typ of ['oauth-authz-req+jwt', 'application/oauth-authz-req+jwt', 'JWT', undefined])
      expect(steadyMembersOf(await get({ request: await sign({}, { typ }) }))).toHaveProperty('code');
  });

  test('unsigned, signed by another or by a secret, altered, encrypted, or no JWT', async () => {
    const members = {
      client_id: client.id,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      iss: client.id,
      aud: service.issuer,
    };
    const payload = { ...members, ...pkce, exp: epochSeconds() + 60 };
    const other = (await generateKeyPair('ES256')).privateKey;
    const secret = new TextEncoder().encode('signing-secret'.padEnd(32));
    const [header, , signature] = (await sign()).split('.');
    const altered = Buffer.from(JSON.stringify({ ...payload, scope: 'openid profile' })).toString('base64url');
    for (const request of [
      new UnsecuredJWT(payload).encode(),
      await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'own' }).sign(other),
      await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', jwk: client.publicKey, kid: 'own' }).sign(other),
      await new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: 'own' }).sign(secret),
      await another.sign(service.issuer, payload),
      `${header}.${altered}.${signature}`,
      `${header}.${altered}.`,
      'a.b.c.d.e',
      'a.b.c',
      'x',
    ])
      await refused(request);
  });

  test('by another algorithm than the client registered', async () => {
    await service.idp.directory.clients.update(client.id, { metadata: { ...client.record.metadata, request_object_signing_alg: 'RS256' } });
    await refused(await sign());
    await service.idp.directory.clients.update(client.id, { metadata: client.record.metadata });
    expect(steadyMembersOf(await get({ request: await sign() }))).toHaveProperty('code');
  });

  test('B13: no other JWT is one, and it is nothing else', async () => {
    const assertion = await sign({ sub: client.id, jti: 'x' }, { typ: undefined });
    for (const jwt of [tokens.id_token, tokens.access_token, assertion]) await refused(jwt);
    const request = await sign({ sub: client.id, jti: 'y' });
    await service.idp.directory.clients.update(client.id, {
      metadata: { ...client.record.metadata, token_endpoint_auth_method: 'private_key_jwt' },
    });
    const fields = { grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri, client_assertion_type: assertionType };
    const answered = await postForm(`${service.issuer}/connect/token`, { ...fields, client_assertion: request });
    await service.idp.directory.clients.update(client.id, { metadata: client.record.metadata });
    expect(answered).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    const hinted = await get({ ...outside, ...pkce, scope: 'openid', id_token_hint: await sign() });
    expect(steadyMembersOf(hinted)).toMatchObject({ error: 'invalid_request' });
  });

  test('by a client that has no keys; and a client that always signs is refused without one', async () => {
    const request = await sign({ iss: 'web', client_id: 'web' });
    expect(steadyMembersOf(await get({ ...outside, client_id: 'web', request }))).toMatchObject({ error: 'invalid_request_object' });
    await service.idp.directory.clients.update(client.id, { metadata: { ...client.record.metadata, require_signed_request_object: true } });
    expect(steadyMembersOf(await get({ ...outside, ...pkce, scope: 'openid' }))).toMatchObject({ error: 'invalid_request' });
    expect(steadyMembersOf(await get({ request: await sign() }))).toHaveProperty('code');
    await service.idp.directory.clients.update(client.id, { metadata: client.record.metadata });
  });

  test('the keys are those at jwks_uri, where a client has them', async () => {
    const remote = await createSigningClient('remote', { metadata: { jwks_uri: `${host.url}/jwks` } });
    const foreign = await exportJWK((await generateKeyPair('ES256')).publicKey);
    const publish = (keys: unknown[]) => {
      host.answerBy((_, response) => void response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys })));
    };
    publish([{ ...foreign, kid: 'own', alg: 'ES256' }]);
    await service.idp.directory.clients.create(remote.record);
    const respond = async () => steadyMembersOf(await get({ ...outside, client_id: remote.id, request: await sign({}, {}, remote) }));
    expect(await respond()).toMatchObject({ error: 'invalid_request_object' });
    publish([{ ...foreign, kid: 'other', alg: 'ES256' }, remote.publicKey]);
    passTime(120);
    expect(await respond()).toHaveProperty('code');
    expect(host.asked.filter((url) => url === '/jwks')).toHaveLength(2);
  });
});

describe('4.3 a request object may be pushed', () => {
  const push = async (members = {}, more = {}) => endpoints.par({ client_id: client.id, request: await sign(members), ...more }, client.id);

  test('with its custom parameters, and for one response', async () => {
    const { status, json } = await push({ cart: '42' }, { basket: '1', state: 'outside' });
    expect({ status, json }).toEqual({
      status: 201,
      json: { request_uri: expect.stringMatching(/^urn:/), expires_in: expect.any(Number) },
    });
    const response = steadyMembersOf(await get({ request_uri: json.request_uri, basket: '2' }));
    expect(response).toEqual({ cart: '42', code: expect.any(String), state: 'signed', scope: 'openid', iss: service.issuer });
    const again = await get({ request_uri: json.request_uri });
    expect([again.status, again.body.includes('invalid_request_uri')]).toEqual([400, true]);
  });

  test('for as long as it is good', async () => {
    expect((await push({ exp: epochSeconds() + 20 })).json.expires_in).toBeLessThanOrEqual(20);
    const { json } = await push();
    passTime(61);
    expect((await get({ request_uri: json.request_uri })).status).toBe(400);
  });

  test('and is checked as it comes, not when it is used', async () => {
    for (const members of [
      { exp: undefined },
      { aud: 'https://elsewhere.test' },
      { aud: ['https://elsewhere.test'] },
      { client_id: 'web' },
      { client_id: undefined },
      { sub: client.id },
    ])
      expect(await push(members)).toMatchObject({ status: 400, json: { error: 'invalid_request_object' } });
    expect(await push({ scope: 'openid email' })).toMatchObject({ status: 400, json: { error: 'invalid_scope' } });
    const foreign = await postForm(`${service.issuer}/connect/par`, { client_id: 'web', request: await sign() }, authorizationOf('web'));
    expect(foreign).toMatchObject({ status: 400, json: { error: 'invalid_request_object' } });
  });
});

test('4.1 discovery says so', async () => {
  const document = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
  expect(document).toMatchObject({
    request_parameter_supported: true,
    request_uri_parameter_supported: true,
    require_request_uri_registration: true,
    request_object_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'],
  });
});

test('4.2 nothing here is worth a line in the log', () => {
  expect(service.logged).toEqual([]);
});
