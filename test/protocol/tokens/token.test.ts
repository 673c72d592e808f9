/** Service specification 4.4: client authentication at the token endpoint, codes, client credentials. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { Agent, basic, createPkce, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { obtainCode, redeem } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

afterEach(backToPresent);

const tokenUrl = () => `${service.issuer}/connect/token`;
const offline = { scope: 'openid offline_access' };
const invalidGrant = { status: 400, json: { error: 'invalid_grant' } };

describe('4.4 client authentication', () => {
  const secret = 'sp:cial p@ss+w/ord=%41&?"~';
  const grant = { grant_type: 'client_credentials' };
  beforeAll(async () => {
    await service.idp.directory.clients.create({
      id: 'sp:cial/client',
      name: 'Special',
      secret,
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: ['orders.read'],
    });
  });

  test('4.4 Basic credentials are form-encoded before they are joined', async () => {
    expect(await postForm(tokenUrl(), grant, { authorization: basic('sp:cial/client', secret) })).toMatchObject({ status: 200 });
    const form = (value: string) => new URLSearchParams({ value }).toString().slice('value='.length);
    const plus = `Basic ${Buffer.from(`${form('sp:cial/client')}:${form(secret)}`).toString('base64')}`;
    expect(plus).not.toBe(basic('sp:cial/client', secret));
    expect(await postForm(tokenUrl(), grant, { authorization: plus })).toMatchObject({ status: 200 });
  });

  test('4.4 credentials may be in the body, as they are', async () => {
    expect(await postForm(tokenUrl(), { ...grant, client_id: 'sp:cial/client', client_secret: secret })).toMatchObject({ status: 200 });
  });

  test('RFC 7591 §2.1 a client without redirect URIs needs no response types, whatever else it says', async () => {
    for (const [id, grants] of Object.entries({ machine: ['client_credentials'], nothing: undefined, code: ['authorization_code'] })) {
      await service.idp.directory.clients.create({
        id,
        name: id,
        secret,
        metadata: grants ? { grant_types: grants } : {},
        allowedScopes: ['orders.read'],
      });
      const asked = await postForm(tokenUrl(), grant, { authorization: basic(id, secret) });
      const granted = { status: 200, json: { scope: 'orders.read' } };
      expect(asked).toMatchObject(id === 'machine' ? granted : { status: 400, json: { error: 'unauthorized_client' } });
      const page = await fetch(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: id, response_type: 'code' })}`);
      expect(page.status).toBe(400);
    }
  });

  test('4.4 a client library sends either', async () => {
    for (const authentication of [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)]) {
      const party = await discover(service.issuer, { client: 'sp:cial/client', authentication });
      expect(await openid.clientCredentialsGrant(party)).toMatchObject({ token_type: 'bearer', scope: 'orders.read' });
    }
  });

  test('4.4 wrong credentials are invalid_client; by Basic with a challenge', async () => {
    const wrong = await postForm(tokenUrl(), grant, { authorization: basic('service', 'wrong') });
    expect(wrong).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    expect(wrong.headers.get('www-authenticate')).toMatch(/^Basic /);
    expect(await postForm(tokenUrl(), { ...grant, client_id: 'service', client_secret: 'wrong' })).toMatchObject({ status: 401 });
    expect(await postForm(tokenUrl(), { ...grant, client_id: 'service' })).toMatchObject({ status: 401 });
    expect(await postForm(tokenUrl(), { ...grant, client_id: 'nobody', client_secret: 'x' })).toMatchObject({ status: 401 });
  });

  test('4.4 two ways of authentication at once are refused', async () => {
    const both = { ...grant, client_id: 'service', client_secret: 'service-secret' };
    expect(await postForm(tokenUrl(), both, { authorization: basic('service', 'service-secret') })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
  });

  test('4.4 a new secret works at once, and the one before with it', async () => {
    await service.idp.directory.clients.create({
      id: 'rotating',
      name: 'Rotating',
      secret: 'first',
      metadata: { grant_types: ['client_credentials'] },
    });
    await service.idp.directory.clients.rotateSecret('rotating', 'second');
    for (const one of ['first', 'second'])
      expect(await postForm(tokenUrl(), grant, { authorization: basic('rotating', one) })).toMatchObject({ status: 200 });
  });

  test.each(['RS256', 'ES256'])('4.4 private_key_jwt with %s, whose audience is the issuer', async (alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const key = { ...(await exportJWK(publicKey)), kid: 'own', alg, use: 'sig' };
    const client = `keyed-${alg}`;
    await service.idp.directory.clients.create({
      id: client,
      name: client,
      metadata: {
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [key] },
      },
      allowedScopes: ['orders.read'],
    });
    const grantTo = async (modify?: (header: unknown, payload: Record<string, unknown>) => void) => {
      const options = modify && { [openid.modifyAssertion]: modify };
      const party = await discover(service.issuer, {
        client,
        authentication: openid.PrivateKeyJwt({ key: privateKey, kid: 'own' }, options as never),
      });
      return openid.clientCredentialsGrant(party);
    };
    const withAudience = (aud: unknown) => grantTo((_, payload) => void Object.assign(payload, { aud }));
    expect(await withAudience(service.issuer)).toMatchObject({ scope: 'orders.read' });
    await expect(withAudience(tokenUrl())).rejects.toMatchObject({ error: 'invalid_client' });
    await expect(withAudience('https://elsewhere.test')).rejects.toMatchObject({ error: 'invalid_client' });
    await expect(grantTo((_, payload) => void Object.assign(payload, { iss: 'service' }))).rejects.toMatchObject({
      error: 'invalid_client',
    });
  });

  test('4.4 a public client gives its id and the verifier', async () => {
    const { tokens } = await obtainTokens(service.issuer, { client: 'spa', secret: '', ...offline });
    expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
    const refreshed = await postForm(tokenUrl(), { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'spa' });
    expect(refreshed).toMatchObject({ status: 200, json: { refresh_token: expect.any(String) } });
  });
});

describe('4.4 authorization code', () => {
  test('4.4 the response has the documented members', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid profile' });
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      id_token: expect.any(String),
      scope: 'openid profile',
    });
  });

  test('4.4 there is no ID token for a request without openid', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'orders.read' });
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'orders.read',
    });
    expect((await endpoints.userinfo(tokens.access_token)).status).toBe(403);
  });

  test('4.4 the ID token names issuer, client, session, time and way of sign-in', async () => {
    const { tokens } = await obtainTokens(service.issuer, { nonce: 'n-1' });
    const now = Date.now() / 1000;
    const claims = decodeJwt(tokens.id_token) as Json;
    expect(claims).toMatchObject({
      iss: service.issuer,
      aud: 'web',
      nonce: 'n-1',
      amr: ['pwd'],
      idp: 'local',
      sid: expect.any(String),
      tid: expect.any(String),
      sub: expect.any(String),
    });
    expect(Math.abs(claims.auth_time - now)).toBeLessThan(30);
    expect(claims.exp - claims.iat).toBe(300);
  });

  test('4.4 a wrong verifier, another redirect URI and another client get invalid_grant', async () => {
    const agent = new Agent();
    const redeemed = async (fields: Record<string, string>, client = 'web') =>
      redeem(service.issuer, { ...(await obtainCode(service.issuer, agent)), client }, fields);
    expect(await redeemed({ code_verifier: createPkce().verifier })).toMatchObject(invalidGrant);
    expect(await redeemed({ code_verifier: 'short' })).toMatchObject({ status: 400 });
    expect(await redeemed({ redirect_uri: 'http://127.0.0.1:9/other' })).toMatchObject(invalidGrant);
    expect(await redeemed({}, 'jwt')).toMatchObject(invalidGrant);
    expect(await redeemed({})).toMatchObject({ status: 200 });
  });

  test('4.4 scope beside a code is ignored; one the client may not have is invalid_scope, and the code is still good', async () => {
    const held = await obtainCode(service.issuer, new Agent());
    for (const scope of ['nonsense', 'openid invoices.read'])
      expect(await redeem(service.issuer, held, { scope })).toMatchObject({ status: 400, json: { error: 'invalid_scope' } });
    expect(await redeem(service.issuer, held, { scope: 'openid profile' })).toMatchObject({ status: 200, json: { scope: 'openid' } });
  });

  test('design §10: a code lives for a minute', async () => {
    const held = await obtainCode(service.issuer, new Agent());
    passTime(61);
    expect(await redeem(service.issuer, held)).toMatchObject(invalidGrant);
  });
});

describe('4.4 required parameters', () => {
  test.each<[string, Record<string, string>]>([
    ['grant_type', { code: 'x', redirect_uri: redirectUri }],
    ['code', { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: createPkce().verifier }],
    ['redirect_uri', { grant_type: 'authorization_code', code: 'x', code_verifier: createPkce().verifier }],
    ['refresh_token', { grant_type: 'refresh_token' }],
  ])('4.4 without %s it is invalid_request; empty is without', async (name, fields) => {
    for (const given of [fields, { ...fields, [name]: '' }])
      expect(await endpoints.token(given)).toMatchObject({
        status: 400,
        json: { error: 'invalid_request', error_description: expect.stringContaining(`'${name}'`) },
      });
  });

  test('4.4 client_id is required without an authentication header', async () => {
    const { tokens } = await obtainTokens(service.issuer, { client: 'spa', secret: '', ...offline });
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    expect(await postForm(tokenUrl(), fields)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    expect(await postForm(tokenUrl(), { ...fields, client_id: 'spa' })).toMatchObject({ status: 200 });
  });

  test('4.4 a public client sends no authorization header', async () => {
    const { tokens } = await obtainTokens(service.issuer, { client: 'spa', secret: '', ...offline });
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'spa' };
    expect(await postForm(tokenUrl(), fields, { authorization: basic('spa', 'x') })).toMatchObject({ status: 401 });
    expect(await postForm(tokenUrl(), { ...fields, client_secret: 'x' })).toMatchObject({ status: 401 });
    expect(await postForm(tokenUrl(), fields)).toMatchObject({ status: 200 });
  });
});

describe('4.4 client credentials', () => {
  test('4.4 without scope a client gets all the API scopes it may have', async () => {
    await service.idp.directory.clients.create({
      id: 'batch',
      name: 'Batch',
      secret: 'batch-secret',
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: ['orders.read', 'invoices.read'],
    });
    expect(await endpoints.clientCredentials(undefined, 'batch')).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'orders.read invoices.read',
    });
    expect(await endpoints.clientCredentials('invoices.read', 'batch')).toMatchObject({ scope: 'invoices.read' });
  });

  test.each(['invoices.read', 'orders.read nonsense', 'openid', 'offline_access'])(
    '4.4 scope %s, which it may not have, is invalid_scope',
    async (scope) => {
      expect(await endpoints.clientCredentials(scope)).toMatchObject({ error: 'invalid_scope' });
    },
  );

  test('4.4 is for clients that registered it', async () => {
    for (const caller of ['web', 'orders']) {
      const { status, json } = await endpoints.token({ grant_type: 'client_credentials' }, caller);
      expect({ status, json }).toEqual({ status: 400, json: { error: 'unauthorized_client', error_description: expect.any(String) } });
    }
  });

  test('4.4 an unknown grant type is unsupported_grant_type', async () => {
    expect(await endpoints.token({ grant_type: 'password' })).toMatchObject({ status: 400, json: { error: 'unsupported_grant_type' } });
  });
});

describe('4.4 headers', () => {
  test('4.4 whatever is secret may be cached by nobody, and neither may errors', async () => {
    const { tokens } = await obtainTokens(service.issuer);
    const answers = {
      token: await endpoints.token({ grant_type: 'client_credentials' }, 'service'),
      'token error': await endpoints.token({ grant_type: 'authorization_code' }),
      'token, unauthenticated': await postForm(tokenUrl(), {}),
      userinfo: await endpoints.userinfo(tokens.access_token),
      'userinfo error': await endpoints.userinfo('unknown'),
      introspection: await endpoints.introspect(tokens.access_token),
      'introspection, unauthenticated': await postForm(`${service.issuer}/connect/introspect`, {}),
      revocation: await endpoints.revoke('unknown'),
      par: await endpoints.par({ client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' }),
    };
    const headers = Object.entries(answers).map(([name, answer]) => [
      name,
      answer.headers.get('cache-control'),
      answer.headers.get('pragma'),
    ]);
    expect(headers).toEqual(Object.keys(answers).map((name) => [name, 'no-store', 'no-cache']));
  });
});

test('4.4 nothing here is worth a line in the log', () => {
  expect(service.logged).toEqual([]);
});
