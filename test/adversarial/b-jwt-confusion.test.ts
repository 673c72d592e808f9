import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, SignJWT } from 'jose';
import { Agent, authorizeUrl, createPkce, type Json, postForm } from '../support/agent.js';
import { assertionType } from '../support/assertions.js';
import { startIdp, type TestIdp } from '../support/idp.js';
import { testKeys } from '../support/keys.js';
import { expectQuietLog } from '../support/leaks.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../support/logout-receiver.js';
import { redirectUri, testSeed } from '../support/seed.js';
import { authorizationOf, isActive, obtainCode, redeem, responseOf, userinfo } from '../support/steps.js';

let it: TestIdp;
let receiver: LogoutReceiver;
const alice = new Agent();
const other = new Agent();
let idToken: string;
let accessToken: string;
let logoutToken: string;
let signedResponse: string;

beforeAll(async () => {
  receiver = await startLogoutReceiver();
  const clients = testSeed.clients.map((client) =>
    client.id === 'jwt'
      ? {
          ...client,
          metadata: {
            ...client.metadata,
            id_token_signed_response_alg: 'RS256',
            backchannel_logout_uri: receiver.url,
          },
        }
      : client,
  );
  it = await startIdp({ seed: { ...testSeed, clients }, configure: callLoopback });
  await redeem(it.issuer, await obtainCode(it.issuer, other, 'jwt'));
  await other.follow(await other.submit(await other.get(`${it.issuer}/connect/endsession`), { logout: 'yes' }));
  logoutToken = receiver.tokens[0] as string;
  const tokens: Json = (await redeem(it.issuer, await obtainCode(it.issuer, alice, 'jwt', { scope: 'openid orders.read' }))).json;
  idToken = tokens.id_token;
  accessToken = tokens.access_token;
  // Whoever sends a request has these put into its response.
  const { oid, sid, amr, tid } = decodeJwt(idToken) as Record<string, string>;
  const claims = { oid, sid, tid, amr: String(amr), client_id: 'jwt', typ: 'at+jwt', scope: 'openid orders.read', nonce: 'n' };
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const url = authorizeUrl(it.issuer, { ...claims, ...challenge, response_mode: 'jwt' });
  signedResponse = responseOf(await alice.follow(await alice.get(url))).get('response') ?? '';
});
afterAll(async () => {
  await it.close();
  receiver.close();
});

/** Where a JWT of ours may be handed in, and whether it was taken for what is meant there. */
const consumers: Record<string, (jwt: string) => Promise<boolean>> = {
  'id_token_hint at authorize': async (jwt) => {
    const url = authorizeUrl(it.issuer, {
      client_id: 'jwt',
      prompt: 'none',
      id_token_hint: jwt,
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
    });
    return responseOf(await alice.get(url)).get('code') !== null;
  },
  login_hint_token: async (jwt) => {
    const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    return !responseOf(await new Agent().get(authorizeUrl(it.issuer, { client_id: 'jwt', login_hint_token: jwt, ...challenge }))).has(
      'error',
    );
  },
  // Signed out already: a hint that counts is not an error.
  'id_token_hint at end session': async (jwt) =>
    (await new Agent().get(`${it.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: jwt })}`)).status < 400,
  userinfo: async (jwt) => (await userinfo(it.issuer, jwt)).status === 200,
  introspection: (jwt) => isActive(it.issuer, jwt, 'jwt'),
  'introspection by the API': (jwt) => isActive(it.issuer, jwt, 'orders'),
  client_assertion: async (jwt) =>
    (
      await postForm(`${it.issuer}/connect/token`, {
        grant_type: 'client_credentials',
        client_assertion_type: assertionType,
        client_assertion: jwt,
      })
    ).status === 200,
  'client_assertion of a named client': async (jwt) =>
    (
      await postForm(`${it.issuer}/connect/introspect`, {
        token: 'x',
        client_id: 'jwt',
        client_assertion_type: assertionType,
        client_assertion: jwt,
      })
    ).status === 200,
  code: async (jwt) =>
    (
      await postForm(
        `${it.issuer}/connect/token`,
        { grant_type: 'authorization_code', code: jwt, redirect_uri: redirectUri },
        authorizationOf('jwt'),
      )
    ).status === 200,
  refresh_token: async (jwt) =>
    (await postForm(`${it.issuer}/connect/token`, { grant_type: 'refresh_token', refresh_token: jwt }, authorizationOf('jwt'))).status ===
    200,
  request: async (jwt) => {
    const url = authorizeUrl(it.issuer, {
      client_id: 'jwt',
      request: jwt,
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
    });
    return responseOf(await alice.get(url)).get('code') !== null;
  },
};
const takenBy = async (jwt: string): Promise<string[]> => {
  const taken = await Promise.all(Object.entries(consumers).map(async ([name, take]) => ((await take(jwt)) ? [name] : [])));
  return taken.flat();
};

const hints = ['id_token_hint at authorize', 'id_token_hint at end session'];
const access = ['userinfo', 'introspection', 'introspection by the API'];

test('B13: each JWT says what it is', () => {
  expect(decodeProtectedHeader(idToken).typ).toBeUndefined();
  expect(decodeProtectedHeader(accessToken).typ).toBe('at+jwt');
  expect(decodeProtectedHeader(logoutToken).typ).toBe('logout+jwt');
  expect(decodeJwt(logoutToken)).not.toHaveProperty('nonce');
  expect(decodeJwt(accessToken).aud).toEqual(['orders']);
});

test('B13: an ID token is a hint and nothing else', async () => expect(await takenBy(idToken)).toEqual(hints));
test('B13: an access token opens APIs and nothing else', async () => expect(await takenBy(accessToken)).toEqual(access));
test('B13: a logout token is nothing to us', async () => expect(await takenBy(logoutToken)).toEqual([]));

test('B13: a signed authorization response is nothing to us, whatever was placed in it', async () => {
  expect(decodeJwt(signedResponse)).toMatchObject({ iss: it.issuer, aud: 'jwt', oid: decodeJwt(idToken).oid, code: expect.any(String) });
  expect(await takenBy(signedResponse)).toEqual([]);
});

test('B13: changing what a JWT says it is, or signing it with a published key as a secret, makes it nothing', async () => {
  const [jwk] = testKeys as [JWK];
  const ours = await importJWK(jwk, 'RS256');
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const published = new TextEncoder().encode(jwk.n);
  for (const jwt of [idToken, accessToken, logoutToken, signedResponse]) {
    const claims = decodeJwt(jwt);
    for (const typ of ['at+jwt', 'JWT', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt', 'login-hint+jwt', undefined]) {
      const header = { kid: jwk.kid as string, ...(typ ? { typ } : {}) };
      expect(await takenBy(await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(foreign))).toEqual([]);
      expect(await takenBy(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', ...header }).sign(published))).toEqual([]);
    }
  }
  // Even under our own key: an access token exists only where it was recorded.
  const invented = { ...decodeJwt(accessToken), jti: 'AAAAAAAAAAAaAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' };
  expect(
    await takenBy(await new SignJWT(invented).setProtectedHeader({ alg: 'RS256', kid: jwk.kid as string, typ: 'at+jwt' }).sign(ours)),
  ).toEqual([]);
});

test('B13 leaves nothing in the log', () => expectQuietLog(it));
