/** CIBA Core §7.1.1 and service specification 4.10: `request` and `request_uri` with some or all parameters. Threats C3, C5. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { useDocumentHost } from '../support/client/receivers/document-host.js';
import { createSigningClient } from '../support/client/request-objects.js';
import { backToPresent } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const signer = await createSigningClient('signer');
const stranger = await createSigningClient('signer');
const host = useDocumentHost();
const service = useCallCentre(() => ({
  outgoing: { allowHosts: [host.address] },
  seed: withClients(
    cibaClient('signer', { metadata: { jwks: { keys: [signer.publicKey] }, request_uris: [`${host.url}/request`] } }),
    cibaClient('strict', {
      metadata: { jwks: { keys: [signer.publicKey] }, backchannel_authentication_request_signing_alg: 'ES256' },
    }),
  ),
}));
const calls = () => callsTo(service);
afterEach(backToPresent);

const members = (more: Record<string, unknown> = {}) => ({
  client_id: undefined,
  response_type: undefined,
  redirect_uri: undefined,
  scope: 'openid',
  login_hint: 'alice@acme.test',
  iat: epochSeconds(),
  nbf: epochSeconds(),
  exp: epochSeconds() + 60,
  jti: randomUUID(),
  ...more,
});
const signed = (more: Record<string, unknown> = {}, header: Record<string, unknown> = { typ: undefined }, by = signer) =>
  by.sign(service.issuer, members(more), header);
const ask = (fields: Record<string, string>, client = 'signer') => calls().ask({ scope: '', ...fields }, client);

describe('a request object', () => {
  test('has all parameters', async () => {
    const request = await signed({ binding_message: 'W4SCT', requested_expiry: 33 });
    const { status, json } = await ask({ request });
    expect([status, json.expires_in]).toEqual([200, 33]);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ bindingMessage: 'W4SCT', clientId: 'signer' });
  });

  test('has some parameters: those beside it count where it has none', async () => {
    const request = await signed({ binding_message: 'inside' });
    expect((await ask({ request, binding_message: 'beside', ui_locales: 'nb' })).status).toBe(200);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ bindingMessage: 'inside', uiLocales: 'nb' });
  });

  test('RFC 9101 §4: may be for several, the issuer among them', async () => {
    const request = await signed({ login_hint: 'carol@acme.test', aud: ['https://else.example', service.issuer] });
    expect((await ask({ request })).status).toBe(200);
  });

  test('RFC 9101: with its explicit type it counts alone', async () => {
    const request = await signed({}, { typ: 'oauth-authz-req+jwt' });
    expect((await ask({ request, binding_message: 'beside' })).status).toBe(200);
    expect((await calls().newestOf('alice@acme.test')).bindingMessage).toBeUndefined();
  });

  test('is used once', async () => {
    const request = await signed();
    expect((await ask({ request })).status).toBe(200);
    expect(await ask({ request })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test.each([
    ['without exp', { exp: undefined }],
    ['without iat', { iat: undefined }],
    ['without nbf', { nbf: undefined }],
    ['without jti', { jti: undefined }],
    ['without iss', { iss: undefined }],
    ['of another issuer', { iss: 'desk' }],
    ['for somebody else', { aud: 'https://else.example' }],
    ['for others', { aud: ['https://else.example'] }],
    ['for nobody', { aud: [] }],
    ['for what is no text', { aud: [7] }],
    ['of another client', { client_id: 'desk' }],
    ['that has expired', { iat: 1, nbf: 1, exp: 61 }],
    ['that holds another', { request: 'x' }],
  ])('C5: %s is invalid_request', async (_, more) => {
    expect(await ask({ request: await signed(more) })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('C5: that is good too long, or not yet, is invalid_request', async () => {
    for (const more of [{ exp: epochSeconds() + 7200 }, { nbf: epochSeconds() + 300 }])
      expect(await ask({ request: await signed(more) })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('C5: by another key, by none, or of another kind of JWT is invalid_request', async () => {
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(members())).toString('base64url')}.`;
    for (const request of [await signed({}, {}, stranger), none, 'nothing', await signed({}, { typ: 'login-hint+jwt' })])
      expect(await ask({ request })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('is required of a client that registered backchannel_authentication_request_signing_alg', async () => {
    expect(await ask({ scope: 'openid', login_hint: 'alice@acme.test' }, 'strict')).toMatchObject({ json: { error: 'invalid_request' } });
    const request = await signed({ iss: 'strict', binding_message: 'x' });
    expect((await ask({ request }, 'strict')).status).toBe(200);
  });
});

describe('request_uri', () => {
  test('is fetched where the client registered it', async () => {
    const request = await signed({ binding_message: 'fetched' });
    host.answerBy((_request, response) => response.setHeader('content-type', 'application/oauth-authz-req+jwt').end(request));
    expect((await ask({ request_uri: `${host.url}/request` })).status).toBe(200);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ bindingMessage: 'fetched' });
  });

  test('C3: is not fetched where it is not registered, and follows no redirect', async () => {
    expect(await ask({ request_uri: `${host.url}/other` })).toMatchObject({ json: { error: 'invalid_request' } });
    expect(host.asked).toEqual([]);
    host.answerBy((_request, response) => response.writeHead(302, { location: `${host.url}/other` }).end());
    expect(await ask({ request_uri: `${host.url}/request` })).toMatchObject({ json: { error: 'invalid_request' } });
    expect(host.asked).toEqual(['/request']);
  });

  test('and request cannot be used together', async () => {
    const answer = await ask({ request_uri: `${host.url}/request`, request: await signed() });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
});
