/** The checks of the OpenID Foundation's CIBA plan that are about the service, by the names of their modules; ping's are in `ping`. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/call-centre.js';
import { endpointsOf } from '../support/client/endpoints.js';
import { createSigningClient } from '../support/client/request-objects.js';
import { backToPresent } from '../support/time/clock.js';

const signer = await createSigningClient('signer');
const metadata = { jwks: { keys: [signer.publicKey] }, backchannel_authentication_request_signing_alg: 'ES256' };
const service = useCallCentre({ seed: withClients(cibaClient('signer', { metadata }), cibaClient('signer-2', { metadata })) });
const calls = () => callsTo(service);
afterEach(backToPresent);

const bob = 'bob@globex.test';
const now = () => Math.floor(Date.now() / 1000);
const YEAR_2070 = 3_155_760_000;
const members = (more: Record<string, unknown>) => ({
  client_id: undefined,
  response_type: undefined,
  redirect_uri: undefined,
  scope: 'openid',
  login_hint: bob,
  iat: now(),
  nbf: now(),
  exp: now() + 60,
  jti: randomUUID(),
  ...more,
});
const ask = async (more: Record<string, unknown> = {}, header: Record<string, unknown> = { typ: undefined }) =>
  calls().ask({ scope: '', request: await signer.sign(service.issuer, members(more), header) }, 'signer');
const poll = (id: string, client = 'signer') => calls().poll(id, client);
const refused = (answer: { status: number; json: { error: string } }, error = 'invalid_request') =>
  expect(answer).toMatchObject({ status: 400, json: { error } });

describe('the CIBA plan', () => {
  test('fapi-ciba-id1-discovery-end-point-verification', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({
      backchannel_token_delivery_modes_supported: expect.arrayContaining(['poll', 'ping']),
      backchannel_authentication_endpoint: expect.stringMatching(/^http/),
      grant_types_supported: expect.arrayContaining(['urn:openid:params:grant-type:ciba']),
    });
  });

  test('fapi-ciba-id1: the request is acknowledged, pending, approved, and gives tokens', async () => {
    const { json } = await ask();
    expect(json).toMatchObject({ auth_req_id: expect.stringMatching(/^[\w.-]+$/), expires_in: expect.any(Number), interval: 5 });
    refused(await poll(json.auth_req_id), 'authorization_pending');
    await calls().approve(bob);
    const { json: tokens } = await poll(json.auth_req_id);
    expect(decodeJwt(tokens.id_token)).toMatchObject({ iss: service.issuer, aud: 'signer', auth_time: expect.any(Number) });
  });

  test('fapi-ciba-id1-user-rejects-authentication', async () => {
    const { json } = await ask();
    await calls().deny(bob);
    refused(await poll(json.auth_req_id), 'access_denied');
  });

  test('fapi-ciba-id1-auth-req-id-expired', async () => {
    const { json } = await ask({ requested_expiry: 30 });
    expect(json.expires_in).toBe(30);
    laterInTest(31);
    refused(await poll(json.auth_req_id), 'expired_token');
  });

  test('fapi-ciba-id1-multiple-call-to-token-endpoint', async () => {
    const { json } = await ask();
    refused(await poll(json.auth_req_id), 'authorization_pending');
    refused(await poll(json.auth_req_id), 'slow_down');
  });

  test('fapi-ciba-id1-refresh-token', async () => {
    const { json } = await ask({ scope: 'openid offline_access' });
    await calls().approve(bob);
    const { json: tokens } = await poll(json.auth_req_id);
    expect((await endpointsOf(service.issuer).refresh(tokens.refresh_token, 'signer')).status).toBe(200);
  });

  test.each([
    ['fapi-ciba-id1-ensure-request-object-missing-aud-fails', () => ({ aud: undefined })],
    ['fapi-ciba-id1-ensure-request-object-bad-aud-fails', () => ({ aud: 'https://else.example' })],
    ['fapi-ciba-id1-ensure-request-object-missing-iss-fails', () => ({ iss: undefined })],
    ['fapi-ciba-id1-ensure-request-object-bad-iss-fails', () => ({ iss: 'signer-2' })],
    ['fapi-ciba-id1-ensure-request-object-missing-exp-fails', () => ({ exp: undefined })],
    ['fapi-ciba-id1-ensure-request-object-expired-exp-fails', () => ({ exp: now() - 300 })],
    ['fapi-ciba-id1-ensure-request-object-exp-is-year-2070-fails', () => ({ exp: YEAR_2070 })],
    ['fapi-ciba-id1-ensure-request-object-missing-iat-fails', () => ({ iat: undefined })],
    ['fapi-ciba-id1-ensure-request-object-missing-nbf-fails', () => ({ nbf: undefined })],
    ['fapi-ciba-id1-ensure-request-object-nbf-is-year-2070-fails', () => ({ nbf: YEAR_2070, exp: YEAR_2070 + 60 })],
    ['fapi-ciba-id1-ensure-request-object-missing-jti-fails', () => ({ jti: undefined })],
    ['fapi-ciba-id1-ensure-authorization-request-with-multiple-hints-fails', () => ({ id_token_hint: 'a' })],
    ['fapi-ciba-id1-ensure-authorization-request-without-hint-fails', () => ({ login_hint: undefined })],
    ['fapi-ciba-id1-ensure-authorization-request-without-openid-scope-fails', () => ({ scope: 'profile' })],
  ])('%s', async (_, more) => {
    refused(await ask(more()));
  });

  test('fapi-ciba-id1-ensure-request-object-signature-algorithm-is-none-fails', async () => {
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const request = `${text({ alg: 'none' })}.${text(members({ iss: 'signer', aud: service.issuer }))}.`;
    refused(await calls().ask({ scope: '', request }, 'signer'));
  });

  test('fapi-ciba-id1-ensure-request-object-signature-is-invalid-fails', async () => {
    const request = await signer.sign(service.issuer, members({}), { typ: undefined });
    refused(await calls().ask({ scope: '', request: `${request.slice(0, -6)}AAAAAA` }, 'signer'));
  });

  test('fapi-ciba-id1-ensure-authorization-request-without-request-object-fails', async () => {
    refused(await calls().ask({ scope: 'openid', login_hint: bob }, 'signer'));
  });

  test('fapi-ciba-id1-ensure-authorization-request-with-potentially-bad-binding-message', async () => {
    refused(await ask({ binding_message: 'a\u0000b' }), 'invalid_binding_message');
    expect((await ask({ binding_message: '1234 \u{1F6B4} long enough to wrap, and still as it was sent' })).status).toBe(200);
  });

  test('fapi-ciba-id1-ensure-wrong-authentication-request-id-in-token-endpoint-request', async () => {
    refused(await poll(randomUUID()), 'invalid_grant');
  });

  test('fapi-ciba-id1-ensure-client-id-in-token-endpoint: another client with its own credentials', async () => {
    const { json } = await ask();
    await calls().approve(bob);
    refused(await poll(json.auth_req_id, 'signer-2'), 'invalid_grant');
    expect((await poll(json.auth_req_id)).status).toBe(200);
  });
});
