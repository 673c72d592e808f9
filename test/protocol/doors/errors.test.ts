/**
 * Service specification, Errors: a test for each condition of the table. `sessions/check-session` covers the replies of the check-session
 * frame, `test/directory/persons/users` the groups, and `test/ciba/endpoint` the hints of CIBA.
 */
import { beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { createSigningClient } from '../../support/client/request-objects.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const ask = (parameters: Record<string, string | undefined>, agent = new Agent()) =>
  agent.get(authorizeUrl(service.issuer, { ...challenge, state: 's', ...parameters }));

test('Errors: introspection of an unknown or an expired token succeeds, with active false and no more', async () => {
  const { tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
  expect(await endpoints.introspect('unknown')).toMatchObject({ status: 200, text: '{"active":false}' });
  passTime(3601);
  expect(await endpoints.introspect(tokens.access_token)).toMatchObject({ status: 200, text: '{"active":false}' });
  expect((await endpoints.introspect(tokens.refresh_token)).json).toMatchObject({ active: true });
  passTime(16 * 86_400);
  expect(await endpoints.introspect(tokens.refresh_token)).toMatchObject({ status: 200, text: '{"active":false}' });
  backToPresent();
});

test('Errors: revocation of an invalid or already revoked token is 200 with an empty body', async () => {
  const { tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
  for (const token of [tokens.refresh_token, tokens.refresh_token, tokens.access_token, 'invalid', 'a.b.c'])
    expect(await endpoints.revoke(token)).toMatchObject({ status: 200, text: '' });
});

test('Errors: an authorization failure sends the browser to redirect_uri with an error code', async () => {
  const failures: [Record<string, string | undefined>, string][] = [
    [{ prompt: 'none' }, 'login_required'],
    [{ scope: 'openid unknown' }, 'invalid_scope'],
    [{ response_type: 'code id_token', nonce: 'n' }, 'unauthorized_client'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ acr_values: 'impersonate' }, 'unmet_authentication_requirements'],
    [{ prompt: 'create' }, 'access_denied'],
  ];
  for (const [parameters, error] of failures) {
    const answer = await ask(parameters);
    expect([error, membersOf(answer)]).toEqual([error, expect.objectContaining({ error, state: 's', iss: service.issuer })]);
  }
});

test('Errors: `request` and `request_uri` are not allowed together', async () => {
  const { record, sign, id } = await createSigningClient('signing');
  await service.idp.directory.clients.create(record);
  const request = await sign(service.issuer, challenge);
  const pushed = { client_id: id, response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...challenge };
  const { request_uri } = (await endpoints.par(pushed, id)).json;
  for (const uri of [request_uri, 'https://client.example.com/request'])
    expect(membersOf(await ask({ client_id: id, request, request_uri: uri }))).toMatchObject({ error: 'invalid_request' });
  expect(await endpoints.par({ client_id: id, request, request_uri }, id)).toMatchObject({
    status: 400,
    json: { error: 'invalid_request' },
  });
  // The reference can still be used.
  const { location = '' } = await signIn(
    new Agent(),
    `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: id, request_uri })}`,
  );
  expect(new URL(location).searchParams.get('code')).toEqual(expect.any(String));
});

test('Errors: a redirect_uri that does not match a registered one exactly is rejected, without a redirect', async () => {
  for (const uri of [
    `${redirectUri}/`,
    `${redirectUri}?a=b`,
    redirectUri.toUpperCase(),
    redirectUri.replace('http:', 'https:'),
    'https://evil.test/',
  ])
    expect(await ask({ redirect_uri: uri })).toMatchObject({ status: 400, location: undefined });
  expect(
    await endpoints.par({ client_id: 'web', response_type: 'code', redirect_uri: `${redirectUri}/`, scope: 'openid', ...challenge }),
  ).toMatchObject({
    status: 400,
    json: { error: expect.any(String) },
  });
});

test('Errors: of all that, nothing is in the log', () => expectQuietLog(service));
