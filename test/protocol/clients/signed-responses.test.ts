import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { Agent, type Answer, authorizeUrl, createPkce, type Json, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { discover } from '../../support/client/relying-party.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { failingStores } from '../../support/stores/failing-stores.js';

let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  await service.idp.directory.clients.create({
    id: 'es256',
    name: 'Implicit',
    secret: 'es256-secret',
    metadata: {
      redirect_uris: [redirectUri],
      response_types: ['code', 'id_token token'],
      authorization_signed_response_alg: 'ES256',
      id_token_signed_response_alg: 'ES256',
    },
    allowedScopes: ['openid'],
  });
  alice = new Agent();
  await signIn(alice, request());
});

const pkce = createPkce();
const request = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', state: 's', ...parameters });
const respond = async (parameters: Record<string, string | undefined>, agent = alice): Promise<Answer> =>
  agent.follow(await agent.get(request(parameters)));

async function signedMembers(answer: Answer, client = 'web'): Promise<Json> {
  const { response = '', ...others } = membersOf(answer);
  expect(others).toEqual({});
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });
  return (await jwtVerify(response, keys, { issuer: service.issuer, audience: client })).payload;
}

const modes = [
  ['jwt', 'query'],
  ['query.jwt', 'query'],
  ['fragment.jwt', 'fragment'],
  ['form_post.jwt', 'form'],
] as const;

const odd = { 'a b': 'c d', '"><script>': '"><img src=x>', toString: 'x', __custom: 'y', æ: '\n', empty: '' };
const hostile = { iss: 'evil', aud: 'evil', exp: '9', nbf: '4000000000', iat: '1', jti: 'x', sub: 'evil', code: 'evil', error: 'evil' };

describe.each(modes)('4.2 response mode %s', (mode, way) => {
  test('4.2 sends one signed response with code, state, scope, session_state and custom parameters', async () => {
    const answer = await respond({ response_mode: mode, ...odd });
    const { search, hash } = new URL(answer.location ?? 'x:y');
    expect([search !== '', hash !== '', answer.location === undefined]).toEqual([way === 'query', way === 'fragment', way === 'form']);
    expect(await signedMembers(answer)).toEqual({
      ...odd,
      code: expect.any(String),
      state: 's',
      scope: 'openid',
      session_state: expect.any(String),
      iss: service.issuer,
      aud: 'web',
      exp: expect.any(Number),
    });
  });

  test('4.2 an error is sent the same way', async () => {
    expect(await signedMembers(await respond({ response_mode: mode, prompt: 'none', ...odd }, new Agent()))).toEqual({
      ...odd,
      error: 'login_required',
      error_description: expect.any(String),
      session_state: expect.any(String),
      state: 's',
      iss: service.issuer,
      aud: 'web',
      exp: expect.any(Number),
    });
    expect(await signedMembers(await respond({ response_mode: mode, scope: 'nonsense', ...odd }))).toMatchObject({
      ...odd,
      error: 'invalid_scope',
    });
  });

  test('security A4: custom parameters replace none of its members', async () => {
    const members = await signedMembers(await respond({ response_mode: mode, ...hostile }));
    expect(Object.keys(members).sort()).toEqual(['aud', 'code', 'exp', 'iss', 'scope', 'session_state', 'state']);
    expect(Object.values(members)).not.toContain('evil');
  });

  test('4.2 custom parameters come back through the pages', async () => {
    const answer = await signIn(new Agent(), request({ response_mode: mode, ...odd }));
    expect(await signedMembers(answer)).toMatchObject({ ...odd, code: expect.any(String) });
  });

  test('4.3 works through a pushed request', async () => {
    const party = await discover(service.issuer);
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
    const url = await openid.buildAuthorizationUrlWithPAR(party, {
      redirect_uri: redirectUri,
      scope: 'openid',
      response_mode: mode,
      ...challenge,
      ...odd,
    });
    expect(await signedMembers(await alice.follow(await alice.get(url.href)))).toMatchObject({ ...odd, code: expect.any(String) });
  });
});

test('4.2 the algorithm is the one that the client registered; implicit responses go into the fragment', async () => {
  const answer = await respond({ client_id: 'es256', response_mode: 'jwt', response_type: 'id_token token', nonce: 'n' });
  expect(decodeProtectedHeader(membersOf(answer).response ?? '')).toMatchObject({ alg: 'ES256' });
  expect(new URL(answer.location ?? '').search).toBe('');
  expect(await signedMembers(answer, 'es256')).toMatchObject({ id_token: expect.any(String), access_token: expect.any(String) });
  const refused = { client_id: 'es256', response_type: 'id_token token', nonce: 'n', response_mode: 'query.jwt' };
  expect(await signedMembers(await respond(refused), 'es256')).toMatchObject({ error: 'invalid_request' });
});

test('4.2 a client library reads it', async () => {
  const party = await discover(service.issuer);
  openid.useJwtResponseMode(party);
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(party, {
    redirect_uri: redirectUri,
    scope: 'openid',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'x',
  });
  const { location = '' } = await alice.follow(await alice.get(url.href));
  const tokens = await openid.authorizationCodeGrant(party, new URL(location), { pkceCodeVerifier: verifier, expectedState: 'x' });
  expect(tokens.claims()).toMatchObject({ aud: 'web' });
});

test('security B: a signed response, in which anybody can place claims, is no id_token_hint', async () => {
  const { response = '' } = membersOf(await respond({ response_mode: 'jwt', oid: 'x', sid: 'y', sub: 'z', tid: 't' }));
  expect(membersOf(await respond({ id_token_hint: response }))).toMatchObject({ error: 'invalid_request' });
  const answer = await alice.get(`${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: response })}`);
  expect(answer.status).toBe(400);
});

test('JARM §2.4: an error that comes before anything else is signed too', async () => {
  const { artifacts, down } = failingStores();
  const own = await startIdp({ artifacts });
  const agent = new Agent();
  const url = (responseMode: string) =>
    authorizeUrl(own.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', response_mode: responseMode });
  await signIn(agent, url('query'));
  down.artifacts = true;
  for (const [mode] of modes) {
    const { response = '' } = membersOf(await agent.get(url(mode)));
    expect(decodeJwt(response)).toMatchObject({ error: 'temporarily_unavailable', iss: own.issuer, aud: 'web' });
  }
  await own.close();
});

test('a sign-in that is over is told of on a page, whatever a query says', async () => {
  for (const mode of ['jwt', 'form_post.jwt', 'query', 'fragment']) {
    const query = new URL(request({ response_mode: mode, __custom: 'x' })).search;
    const agent = new Agent();
    const { status, location } = await agent.follow(await agent.get(`${service.issuer}/connect/authorize/${'A'.repeat(43)}${query}`));
    expect({ mode, status, location }).toEqual({ mode, status: 400, location: undefined });
  }
});
