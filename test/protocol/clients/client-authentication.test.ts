/** Service specification, Authentication: the clients that authenticate at each endpoint, and their methods. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type CryptoKey, generateKeyPair, SignJWT } from 'jose';
import { basic, postForm } from '../../support/client/agent.js';
import { type AssertingClient, assertionType, createAssertingClient } from '../../support/client/assertions.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { type IdpInUse, useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

let asserting: AssertingClient;
beforeAll(async () => {
  asserting = await createAssertingClient();
});
const seed = () => ({ ...testSeed, clients: [...testSeed.clients, asserting.seed] });
const service = useIdp(() => ({ seed: seed() }));
const lenient = useIdp(() => ({ seed: seed(), assertionAudience: 'token-endpoint' }));

const grant = { grant_type: 'client_credentials' };
const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}, { issuer } = service) =>
  postForm(`${issuer}/connect/${path}`, fields, headers);

describe('Authentication: required', () => {
  test.each(['token', 'introspect', 'revocation', 'par'])(
    'RFC 6749 §5.2: without any, connect/%s answers 401 invalid_client',
    async (path) => {
      for (const fields of [grant, { token: 'x' }, { client_id: '' }] as Record<string, string>[]) {
        const { status, json, headers } = await post(path, fields);
        expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
        expect(headers.get('www-authenticate')).toBe(`Basic realm="${service.issuer}"`);
      }
    },
  );

  test('RFC 6749 §5.2: a body that is no form is a malformed request still', async () => {
    expect(await post('token', grant, { 'content-type': 'text/plain' })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test.each(['web', 'spa', 'orders'])(
    'RFC 6749 §5.2: %s, which did not register the grant type, is an unauthorized_client',
    async (client) => {
      const headers = client === 'spa' ? {} : { authorization: basic(client, `${client}-secret`) };
      const fields = { ...grant, ...(client === 'spa' ? { client_id: client } : {}) };
      for (const type of formTypes)
        expect(await post('token', fields, { ...headers, 'content-type': type })).toMatchObject({
          status: 400,
          json: { error: 'unauthorized_client' },
        });
      expect((await post('token', { ...fields, client_secret: 'wrong', client_id: client })).json.error).toBe('invalid_client');
    },
  );
});

describe('Authentication: who authenticates where, and how', () => {
  const request = {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
  };
  const client = { authorization: basic('service', 'service-secret') };
  const apiResource = { authorization: basic('orders', 'orders-secret') };
  const inBody = (id: string) => ({ client_id: id, client_secret: `${id}-secret` });

  test('Authentication: PAR: confidential clients by Basic or private_key_jwt, public ones with PKCE', async () => {
    const web = { ...request, client_id: 'web' };
    expect(await post('par', web, { authorization: basic('web', 'web-secret') })).toMatchObject({ status: 201 });
    expect(await post('par', { ...request, client_id: 'asserting', ...(await asserting.sign(service.issuer)) })).toMatchObject({
      status: 201,
    });
    expect(await post('par', { ...request, client_id: 'spa' })).toMatchObject({ status: 201 });
    const { code_challenge: _, code_challenge_method: __, ...without } = request;
    expect(await post('par', { ...without, client_id: 'spa' })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    for (const headers of [{}, { authorization: basic('web', 'wrong') }] as Record<string, string>[])
      expect(await post('par', web, headers)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  });

  test('Authentication: token: by Basic, or in the body', async () => {
    expect(await post('token', grant, client)).toMatchObject({ status: 200 });
    expect(await post('token', { ...grant, ...inBody('service') })).toMatchObject({ status: 200 });
    expect(await post('token', { ...grant, client_id: 'service' })).toMatchObject({ status: 401 });
  });

  test('Authentication: introspection: an API resource or a client, by Basic', async () => {
    const { access_token: token } = (await post('token', grant, client)).json;
    for (const caller of [client, apiResource]) expect((await post('introspect', { token }, caller)).json).toMatchObject({ active: true });
    for (const id of ['service', 'orders'])
      expect((await post('introspect', { token, ...inBody(id) })).json).toMatchObject({ active: true });
    for (const wrong of [{}, { authorization: basic('orders', 'wrong') }, { authorization: `Bearer ${token}` }] as Record<string, string>[])
      expect((await post('introspect', { token }, wrong)).json).not.toHaveProperty('active');
  });

  test('Authentication: revocation: a client, by Basic', async () => {
    const { access_token: token } = (await post('token', grant, client)).json;
    for (const wrong of [{}, { authorization: basic('service', 'wrong') }, { authorization: `Bearer ${token}` }] as Record<
      string,
      string
    >[])
      expect((await post('revocation', { token }, wrong)).status).toBeGreaterThanOrEqual(400);
    expect((await post('introspect', { token }, client)).json).toMatchObject({ active: true });
    expect(await post('revocation', { token }, client)).toMatchObject({ status: 200 });
    expect((await post('introspect', { token }, client)).json).toEqual({ active: false });
  });

  test('Authentication: userinfo: the holder of a token, who is no client', async () => {
    const { access_token: token } = (await post('token', grant, client)).json;
    for (const headers of [{}, client, { authorization: `Bearer ${token}` }] as Record<string, string>[]) {
      const response = await fetch(`${service.issuer}/connect/userinfo`, { headers });
      // Another scheme than Bearer is a malformed request. @see RFC 6750 §3.1
      expect(response.status).toBe(headers === client ? 400 : 401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  test.each(['.well-known/openid-configuration', '.well-known/openid-configuration/jwks', 'connect/checksession', 'connect/endsession'])(
    'Authentication: %s is open, and credentials change nothing',
    async (path) => {
      const answers = await Promise.all(
        [{}, client, { authorization: basic('service', 'wrong') }].map((headers) =>
          fetch(`${service.issuer}/${path}`, { headers: headers as Record<string, string>, redirect: 'manual' }),
        ),
      );
      const [open, ...others] = await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]));
      expect(open?.[0]).toBe(path === 'connect/endsession' ? 303 : 200);
      for (const other of others) expect(other).toEqual(open);
    },
  );
});

describe('4.4 a parameter that is sent twice', () => {
  const twice = async (fields: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: `grant_type=client_credentials&${fields}`,
    });
    return [response.status, ((await response.json()) as { error: string }).error];
  };

  test('is invalid_request, whichever it is', async () => {
    const credentials = { authorization: basic('service', 'service-secret') };
    expect(await twice('grant_type=client_credentials', credentials)).toEqual([400, 'invalid_request']);
    expect(await twice('scope=orders.read&scope=orders.read', credentials)).toEqual([400, 'invalid_request']);
    expect(await twice('client_id=service&client_id=service&client_secret=service-secret')).toEqual([400, 'invalid_request']);
    expect(await twice('client_id=service&client_secret=service-secret&client_secret=x')).toEqual([400, 'invalid_request']);
  });
});

describe('private_key_jwt', () => {
  const spend = async (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, at = service) =>
    post('token', { ...grant, ...(await asserting.sign(at.issuer, claims, header)) }, {}, at);
  const invalidClient = { status: 401, json: { error: 'invalid_client' } };

  test('aud is the issuer, or by option the URL of the token endpoint', async () => {
    const endpoint = (at: IdpInUse) => `${at.issuer}/connect/token`;
    expect(await spend({ aud: endpoint(service) })).toMatchObject(invalidClient);
    expect(await spend({ aud: lenient.issuer }, {}, lenient)).toMatchObject({ status: 200 });
    expect(await spend({ aud: endpoint(lenient) }, {}, lenient)).toMatchObject({ status: 200 });
    const others = ['par', 'ciba'].map((path) => `${lenient.issuer}/connect/${path}`);
    for (const aud of [[endpoint(lenient)], [lenient.issuer], ...others, endpoint(service), `${endpoint(lenient)}/`])
      expect(await spend({ aud }, {}, lenient)).toMatchObject(invalidClient);
    const assertion = await asserting.sign(lenient.issuer, { aud: endpoint(lenient) });
    expect(await post('introspect', { token: 'x', ...assertion }, {}, lenient)).toMatchObject({ status: 200 });
  });

  test('iss and sub are the client, exp is within five minutes, nbf and iat are not to come', async () => {
    const wrong: Record<string, unknown>[] = [
      { iss: 'service' },
      { iss: undefined },
      { sub: undefined },
      { exp: undefined },
      { exp: epochSeconds() - 30 },
      { exp: epochSeconds() + 600 },
      { iat: undefined, exp: epochSeconds() + 600 },
      { iat: epochSeconds() - 400, exp: epochSeconds() + 60 },
      { iat: epochSeconds() + 120 },
      { nbf: epochSeconds() + 120 },
      { jti: undefined },
      { exp: String(epochSeconds() + 60) },
      { jti: 7 },
    ];
    for (const claims of wrong) {
      const { status, json } = await spend(claims);
      expect({ claims, status, error: json.error }).toEqual({ claims, status: 401, error: 'invalid_client' });
    }
    for (const right of [{ nbf: epochSeconds() - 60 }, { iat: undefined }, { exp: epochSeconds() + 299 }] as Record<string, unknown>[])
      expect(await spend(right)).toMatchObject({ status: 200 });
  });

  test('jti is used once, also when the client_id is in the body', async () => {
    const assertion = await asserting.sign(service.issuer, { jti: randomUUID() });
    expect(await post('token', { ...grant, client_id: 'asserting', ...assertion })).toMatchObject({ status: 200 });
    expect(await post('token', { ...grant, client_id: 'asserting', ...assertion })).toMatchObject(invalidClient);
    expect(await post('token', { ...grant, ...assertion })).toMatchObject(invalidClient);
  });

  test('of another client, with a secret beside it, with another key or algorithm it is refused', async () => {
    const assertion = await asserting.sign(service.issuer);
    expect((await post('token', { ...grant, client_id: 'service', ...assertion })).json.error).toMatch(/^invalid_(client|request)$/);
    expect(await post('token', { ...grant, ...assertion }, { authorization: basic('service', 'service-secret') })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
    const sign = async (alg: string, key: CryptoKey | Uint8Array) => ({
      client_assertion_type: assertionType,
      client_assertion: await new SignJWT({
        iss: 'asserting',
        sub: 'asserting',
        aud: service.issuer,
        jti: randomUUID(),
        exp: epochSeconds() + 60,
      })
        .setProtectedHeader({ alg, kid: 'own' })
        .sign(key),
    });
    for (const alg of ['ES256', 'RS256', 'PS256'])
      expect(await post('token', { ...grant, ...(await sign(alg, (await generateKeyPair(alg)).privateKey)) })).toMatchObject(invalidClient);
    expect(await post('token', { ...grant, ...(await sign('HS256', new TextEncoder().encode('x'.repeat(32)))) })).toMatchObject(
      invalidClient,
    );
  });

  test('alg is the one the client registered, if it did', async () => {
    const { metadata } = await service.idp.directory.clients.require('asserting');
    await service.idp.directory.clients.update('asserting', { metadata: { ...metadata, token_endpoint_auth_signing_alg: 'PS256' } });
    expect(await spend()).toMatchObject(invalidClient);
    await service.idp.directory.clients.update('asserting', { metadata: { ...metadata, token_endpoint_auth_signing_alg: 'ES256' } });
    expect(await spend()).toMatchObject({ status: 200 });
  });
});
