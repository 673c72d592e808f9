/** Service specification 4.2 to 4.8, as a relying party with a client library sees it: each flow, and each method of authentication. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import { type Agent, type Answer, formOf, obtainTokens } from '../../support/client/agent.js';
import { discover } from '../../support/client/relying-party.js';
import { postLogoutRedirectUri, redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let alice: Agent;
let privateKey: openid.PrivateKey;
const parties: Record<string, openid.Configuration> = {};

const metadata = {
  redirect_uris: [redirectUri],
  post_logout_redirect_uris: [postLogoutRedirectUri],
  response_types: ['code', 'id_token', 'code id_token'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
};
const allowedScopes = ['openid', 'profile', 'orders.read'];

const service = useIdp();
beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  privateKey = { key: pair.privateKey, kid: 'own' };
  const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] };
  const { clients } = service.idp.directory;
  const secret = 'a secret: ~+%/"';
  await clients.create({ id: 'secret', name: 'With a secret', secret, allowedScopes, metadata: { ...metadata, jwks } });
  await clients.create({
    id: 'keyed',
    name: 'With a key',
    allowedScopes,
    metadata: { ...metadata, token_endpoint_auth_method: 'private_key_jwt', id_token_signed_response_alg: 'ES256', jwks },
  });
  await clients.create({
    id: 'public',
    name: 'With nothing',
    allowedScopes,
    metadata: { ...metadata, grant_types: ['authorization_code', 'refresh_token', 'implicit'], token_endpoint_auth_method: 'none' },
  });
  Object.assign(parties, {
    client_secret_basic: await discover(service.issuer, { client: 'secret', authentication: openid.ClientSecretBasic(secret) }),
    client_secret_post: await discover(service.issuer, { client: 'secret', authentication: openid.ClientSecretPost(secret) }),
    private_key_jwt: await discover(service.issuer, {
      client: 'keyed',
      authentication: openid.PrivateKeyJwt(privateKey),
      metadata: { id_token_signed_response_alg: 'ES256' },
    }),
    none: await discover(service.issuer, { client: 'public', authentication: openid.None() }),
  });
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const partyOf = (name: string): openid.Configuration => parties[name] as openid.Configuration;
const visit = async (url: URL, agent = alice): Promise<Answer> => agent.follow(await agent.get(url.href));

type Build = (party: openid.Configuration, parameters: Record<string, string>) => URL | Promise<URL>;

/** Runs a code flow with PKCE, state and nonce, all of which the library checks. */
async function runCodeFlow(party: openid.Configuration, build: Build = openid.buildAuthorizationUrl, more: Record<string, string> = {}) {
  const verifier = openid.randomPKCECodeVerifier();
  const [state, nonce] = [openid.randomState(), openid.randomNonce()];
  const url = await build(party, {
    redirect_uri: redirectUri,
    scope: 'openid profile offline_access orders.read',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...more,
  });
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
  return openid.authorizationCodeGrant(party, callbackOf(await visit(url)), checks);
}

/** Returns the response that the browser brings to the client: a URL, or a form. */
function callbackOf(answer: Answer): URL | Request {
  if (answer.location !== undefined) return new URL(answer.location);
  const { action, fields } = formOf(answer);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return new Request(action, { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
}

describe('4.4 to 4.8, Authentication: the life of a sign-in', () => {
  test.each(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'])('%s', async (method) => {
    const party = partyOf(method);
    const tokens = await runCodeFlow(party);
    const { sub = '' } = tokens.claims() ?? {};
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, refresh_token: expect.any(String) });
    expect(await openid.fetchUserInfo(party, tokens.access_token, sub)).toMatchObject({ sub, name: 'Alice Adams' });

    const refreshed = await openid.refreshTokenGrant(party, tokens.refresh_token ?? '');
    expect(refreshed.claims()).toMatchObject({ sub, auth_time: tokens.claims()?.auth_time, sid: tokens.claims()?.sid });
    const { access_token: accessToken, refresh_token: refreshToken = '' } = refreshed;
    if (method !== 'none') {
      for (const token of [accessToken, refreshToken])
        expect(await openid.tokenIntrospection(party, token)).toMatchObject({ active: true, username: 'alice@acme.test', sub });
      expect(await openid.tokenIntrospection(party, 'unknown')).toEqual({ active: false });
    }

    await openid.tokenRevocation(party, refreshToken, { token_type_hint: 'refresh_token' });
    await openid.tokenRevocation(party, refreshToken);
    await expect(openid.refreshTokenGrant(party, refreshToken)).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(openid.fetchUserInfo(party, accessToken, sub)).rejects.toMatchObject({ status: 401 });
  });

  test.each(['client_secret_basic', 'private_key_jwt', 'none'])('%s: the end of the session', async (method) => {
    const party = partyOf(method);
    const agent = alice;
    const { id_token: hint = '', access_token: accessToken } = await runCodeFlow(party);
    const url = openid.buildEndSessionUrl(party, { id_token_hint: hint, post_logout_redirect_uri: postLogoutRedirectUri, state: 'bye' });
    expect((await visit(url, agent)).location).toBe(`${postLogoutRedirectUri}?state=bye`);
    await expect(openid.fetchUserInfo(party, accessToken, openid.skipSubjectCheck)).rejects.toMatchObject({ status: 401 });
    ({ agent: alice } = await obtainTokens(service.issuer));
  });

  test.each(['client_secret_basic', 'client_secret_post', 'private_key_jwt'])('%s: client credentials', async (method) => {
    const party = partyOf(method);
    const tokens = await openid.clientCredentialsGrant(party, { scope: 'orders.read' });
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'orders.read' });
    expect(tokens).not.toHaveProperty('refresh_token');
    expect(await openid.tokenIntrospection(party, tokens.access_token)).toMatchObject({ active: true, aud: ['orders'] });
    await expect(openid.clientCredentialsGrant(party, { scope: 'nonsense' })).rejects.toMatchObject({ error: 'invalid_scope' });
  });
});

describe('4.2, 4.3 ways to send a request', () => {
  const builds: Record<string, Build> = {
    'in the query': openid.buildAuthorizationUrl,
    'PAR, 4.3': openid.buildAuthorizationUrlWithPAR,
    'a request object': (party, parameters) => openid.buildAuthorizationUrlWithJAR(party, parameters, privateKey),
    'a request object, pushed': async (party, parameters) => {
      const { searchParams } = await openid.buildAuthorizationUrlWithJAR(party, parameters, privateKey);
      return openid.buildAuthorizationUrlWithPAR(party, { request: searchParams.get('request') ?? '' });
    },
  };

  test.each(Object.keys(builds))('%s, by each method of authentication and response mode', async (way) => {
    for (const method of ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']) {
      // A public client has no key to sign with.
      if (method === 'none' && way.includes('request object')) continue;
      for (const mode of ['query', 'form_post']) {
        const tokens = await runCodeFlow(partyOf(method), builds[way], { response_mode: mode });
        expect(tokens.claims()).toMatchObject({ iss: service.issuer, aud: partyOf(method).clientMetadata().client_id });
      }
    }
  });

  test('a failure is told by error, of the issuer it asked', async () => {
    const refused = runCodeFlow(partyOf('none'), openid.buildAuthorizationUrl, { scope: 'openid nonsense' });
    await expect(refused).rejects.toMatchObject({ error: 'invalid_scope', code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' });
  });
});

describe('4.2 response types and modes that the library has a mode for', () => {
  const own = async (method: string) => {
    const { client_id: client } = partyOf(method).clientMetadata();
    const authentication = method === 'none' ? openid.None() : openid.PrivateKeyJwt(privateKey);
    const signed = method === 'none' ? {} : { id_token_signed_response_alg: 'ES256' };
    return discover(service.issuer, { client, authentication, metadata: signed });
  };

  test.each(['private_key_jwt', 'none'])('implicit id_token, %s', async (method) => {
    const party = await own(method);
    openid.useIdTokenResponseType(party);
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(party, { redirect_uri: redirectUri, scope: 'openid profile', state, nonce });
    for (const mode of ['fragment', 'form_post']) {
      url.searchParams.set('response_mode', mode);
      const claims = await openid.implicitAuthentication(party, callbackOf(await visit(url)), nonce, { expectedState: state });
      expect(claims).toMatchObject({ name: 'Alice Adams', nonce });
    }
  });

  test.each(['private_key_jwt', 'none'])('hybrid code id_token, %s', async (method) => {
    const party = await own(method);
    openid.useCodeIdTokenResponseType(party);
    for (const mode of ['fragment', 'form_post'])
      expect((await runCodeFlow(party, openid.buildAuthorizationUrl, { response_mode: mode })).claims()).toMatchObject({ amr: ['pwd'] });
  });

  test.each(['private_key_jwt', 'none'])('signed responses (JARM), %s', async (method) => {
    const party = await own(method);
    openid.useJwtResponseMode(party);
    const { client_id: aud } = party.clientMetadata();
    for (const build of [openid.buildAuthorizationUrl, openid.buildAuthorizationUrlWithPAR] as const)
      expect((await runCodeFlow(party, build)).claims()).toMatchObject({ aud });
  });
});
