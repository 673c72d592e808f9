import { beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
let tokens: Json;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  ({ tokens } = await obtainTokens(service.issuer, { scope: 'openid profile' }));
});

const url = () => `${service.issuer}/connect/userinfo`;

test('4.7 GET and POST answer the same JSON object: the claims of the granted scopes', async () => {
  const got = await endpoints.userinfo(tokens.access_token);
  expect(got).toMatchObject({ status: 200, json: { sub: decodeJwt(tokens.id_token).sub, name: 'Alice Adams' } });
  expect(got.headers.get('content-type')).toMatch(/^application\/json/);
  expect(got.json).not.toHaveProperty('email');
  const header = await postForm(url(), {}, { authorization: `Bearer ${tokens.access_token}` });
  const body = await postForm(url(), { access_token: tokens.access_token });
  expect([header.json, body.json]).toEqual([got.json, got.json]);
});

test.each([
  ['profile', ['name', 'given_name', 'family_name', 'preferred_username', 'picture']],
  ['email', ['email', 'email_verified', 'secondary_emails']],
  ['phone', ['phone_number', 'phone_number_verified']],
  ['address', []],
])('4.7 scope %s grants its claims and no others', async (scope, claims) => {
  const granted = (await obtainTokens(service.issuer, { scope: `openid ${scope}` })).tokens;
  const { json } = await endpoints.userinfo(granted.access_token);
  expect(Object.keys(json).sort()).toEqual(['sub', 'tid', 'oid', ...claims].sort());
});

test('4.7 it takes no parameters: none narrows the answer, or refuses it', async () => {
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const { json } = await endpoints.userinfo(tokens.access_token);
  for (const query of ['scope=openid', 'scope=email', 'claims={}', 'sub=x', 'a=1&a=2', '__proto__=x'])
    expect([query, await (await fetch(`${url()}?${query}`, { headers })).json()]).toEqual([query, json]);
  expect((await postForm(url(), { scope: 'email', sub: 'x' }, headers)).json).toEqual(json);
});

test('4.7 only with a token that was issued for openid', async () => {
  const { access_token: token } = await endpoints.clientCredentials();
  const { status, headers } = await endpoints.userinfo(token);
  expect(status).toBeGreaterThanOrEqual(401);
  expect(status).toBeLessThanOrEqual(403);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="(invalid_token|insufficient_scope)"/);
});

test.each(['unknown', 'eyJhbGciOiJub25lIn0.e30.', '..', 'x y', '%00'])(
  '4.7 the token %j is invalid_token, with a challenge',
  async (token) => {
    const { status, headers, json } = await endpoints.userinfo(token);
    expect([400, 401]).toContain(status);
    expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_(token|request)"/);
    expect(json.error).toMatch(/^invalid_(token|request)$/);
  },
);

test('4.7 an ID token and a refresh token are no access tokens', async () => {
  const offline = (await obtainTokens(service.issuer, { scope: 'openid offline_access' })).tokens;
  for (const token of [offline.id_token, offline.refresh_token]) expect(await endpoints.userinfo(token)).toMatchObject({ status: 401 });
});

test('4.7 without a token there is a challenge; a token in the query does not count', async () => {
  for (const target of [url(), `${url()}?access_token=${tokens.access_token}`]) {
    const response = await fetch(target);
    expect([400, 401]).toContain(response.status);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
  }
});
