import { beforeAll, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { basic, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

const offlineTokens = async (): Promise<Json> => (await obtainTokens(service.issuer, { scope: 'openid offline_access' })).tokens;
const done = { status: 200, text: '' };

test('4.6 a revoked access token is dead', async () => {
  const { access_token: token } = await offlineTokens();
  expect(await endpoints.revoke(token)).toMatchObject(done);
  expect(await isActive(endpoints, token)).toBe(false);
  expect(await endpoints.userinfo(token)).toMatchObject({ status: 401 });
});

test('4.6 a revoked refresh token takes the access tokens of its grant along', async () => {
  const tokens = await offlineTokens();
  expect(await endpoints.revoke(tokens.refresh_token)).toMatchObject(done);
  expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  expect(await isActive(endpoints, tokens.access_token)).toBe(false);
});

test("4.6 the answer is 200 and empty for whatever is unknown, revoked before, malformed, or not the caller's", async () => {
  const tokens = await offlineTokens();
  const { access_token: own } = await offlineTokens();
  await endpoints.revoke(own);
  const answers = [await endpoints.revoke((await offlineTokens()).access_token)];
  for (const token of ['unknown', own, 'eyJhbGciOiJub25lIn0.e30.', '\u0000', tokens.id_token]) {
    const answer = await endpoints.revoke(token);
    expect(answer).toMatchObject(done);
    answers.push(answer);
  }
  const headersOf = ({ headers }: { headers: Headers }) => JSON.stringify([...headers].filter(([name]) => name !== 'date'));
  expect(new Set(answers.map(headersOf)).size).toBe(1);
  for (const foreign of [tokens.access_token, tokens.refresh_token]) {
    expect(await endpoints.revoke(foreign, 'jwt')).toMatchObject(done);
    expect(await endpoints.revoke(foreign, 'orders')).toMatchObject(done);
    expect(await isActive(endpoints, foreign)).toBe(true);
  }
});

test.each(['access_token', 'refresh_token', 'nonsense'])('4.6 the hint %s is no more than a hint', async (hint) => {
  const { access_token: token } = await offlineTokens();
  const answer = await postForm(`${service.issuer}/connect/revocation`, { token, token_type_hint: hint }, credentialsOf('web'));
  expect(answer).toMatchObject(done);
  expect(await isActive(endpoints, token)).toBe(false);
});

test('4.6 the client must authenticate; a public one gives its id', async () => {
  const { tokens } = await obtainTokens(service.issuer, { client: 'spa', secret: '', scope: 'openid offline_access' });
  const url = `${service.issuer}/connect/revocation`;
  const fields = { token: tokens.refresh_token };
  expect([400, 401]).toContain((await postForm(url, fields)).status);
  expect(await postForm(url, { ...fields, client_id: 'web' })).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  expect(await postForm(url, fields, { authorization: basic('web', 'wrong') })).toMatchObject({ status: 401 });
  expect(await postForm(url, { ...fields, client_id: 'spa' })).toMatchObject(done);
  const refreshed = await postForm(`${service.issuer}/connect/token`, {
    grant_type: 'refresh_token',
    refresh_token: fields.token,
    client_id: 'spa',
  });
  expect(refreshed).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
});

test('4.6 `token` is required', async () => {
  const answer = await postForm(`${service.issuer}/connect/revocation`, {}, credentialsOf('web'));
  expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
});

test('4.6 by a client library', async () => {
  const { refresh_token: token } = await offlineTokens();
  const party = await discover(service.issuer);
  await openid.tokenRevocation(party, token);
  await expect(openid.refreshTokenGrant(party, token)).rejects.toMatchObject({ error: 'invalid_grant' });
});

test('4.6 of a token of the client itself', async () => {
  const { access_token: token } = await endpoints.clientCredentials();
  expect(await endpoints.revoke(token, 'service')).toMatchObject(done);
  expect(await isActive(endpoints, token, 'service')).toBe(false);
});
