/** Cross-JWT confusion: each JWT of this service or of its clients, sent to each place that accepts a JWT. @see RFC 8725 §3.11 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, SignJWT } from 'jose';
import type { ExtensionContext } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { type AssertingClient, assertionType, createAssertingClient } from '../../support/client/assertions.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { authorizationOf, isActive, obtainCode, redeem, responseOf, userinfo } from '../../support/client/steps.js';
import { testKeys } from '../../support/service/keys.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

let receiver: LogoutReceiver;
const alice = new Agent();
const other = new Agent();
let asserting: AssertingClient;
let sign: ExtensionContext['keys']['sign'];
let tokens: Json;
let serviceToken: string;
let discovery: Json;

const service = useIdp(async () => {
  receiver = await startLogoutReceiver();
  asserting = await createAssertingClient();
  const clients = testSeed.clients.map((client) =>
    client.id === 'jwt'
      ? {
          ...client,
          metadata: {
            ...client.metadata,
            id_token_signed_response_alg: 'RS256',
            userinfo_signed_response_alg: 'RS256',
            backchannel_logout_uri: receiver.url,
          },
        }
      : client,
  );
  return {
    seed: { ...testSeed, clients: [...clients, asserting.seed] },
    outgoing: callLoopback,
    features: { jwtUserinfo: { enabled: true } },
    extensions: [
      {
        name: 'signing',
        routes(_router, context) {
          sign = context.keys.sign;
        },
      },
    ],
  };
});
beforeAll(async () => {
  // The first two clients trust a hint most, so a confusion would succeed there. All access tokens of the third client are JWTs.
  for (const id of ['jwt', 'asserting']) await service.idp.directory.clients.update(id, { trustedLoginHint: true });
  await service.idp.directory.clients.update('service', { accessTokenType: 'jwt' });
  await redeem(service.issuer, await obtainCode(service.issuer, other, 'jwt'));
  await other.follow(await other.submit(await other.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
  await receiver.received(1);
  tokens = (await redeem(service.issuer, await obtainCode(service.issuer, alice, 'jwt', { scope: 'openid orders.read' }))).json;
  const clientCredentials = { grant_type: 'client_credentials' };
  serviceToken = (await postForm(`${service.issuer}/connect/token`, clientCredentials, authorizationOf('service'))).json.access_token;
  discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
});
afterAll(() => receiver.close());

const pkce = () => ({ code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
const hasCode = async (agent: Agent, parameters: Record<string, string>) =>
  responseOf(await agent.get(authorizeUrl(service.issuer, { ...pkce(), ...parameters }))).has('code');
/** Returns whether a browser in which nobody is signed in gets a code. */
const isSignedIn = (client_id: string, parameters: Record<string, string>) =>
  hasCode(new Agent(), { client_id, prompt: 'none', acr_values: `tenant:${decodeJwt(tokens.id_token).tid}`, ...parameters });
const isAnswered = async (path: string, fields: Record<string, string>, client?: string) =>
  (await postForm(service.issuer + path, fields, client === undefined ? {} : authorizationOf(client))).status === 200;
/** Returns the `oid` of the account, which no other account has. */
const alicesOid = (): string => String(decodeJwt(tokens.id_token).oid);
const assertion = (jwt: string) => ({ client_assertion_type: assertionType, client_assertion: jwt });

/** Places that accept a JWT. Each place returns whether the JWT was accepted as the kind that is meant there. */
const consumers = {
  'id_token_hint at authorize': (jwt) => hasCode(alice, { client_id: 'jwt', prompt: 'none', id_token_hint: jwt }),
  // The browser is signed out already, so a hint that counts is no error.
  'id_token_hint at end session': async (jwt) =>
    (await new Agent().get(`${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: jwt })}`)).status < 400,
  'login_hint_token of a trusted client': (jwt) => isSignedIn('jwt', { login_hint_token: jwt }),
  'login_hint_token of a trusted client with keys': (jwt) => isSignedIn('asserting', { login_hint_token: jwt }),
  'sso_token of a trusted client with keys': (jwt) => isSignedIn('asserting', { sso_token: jwt }),
  'Bearer at userinfo': async (jwt) => (await userinfo(service.issuer, jwt)).status === 200,
  'access_token in a form at userinfo': (jwt) => isAnswered('/connect/userinfo', { access_token: jwt }),
  'Bearer at any other endpoint': async (jwt) => {
    const paths = ['token', 'par', 'introspect', 'revocation', 'scope/introspect'];
    const fields = { grant_type: 'client_credentials', token: 'x', sub: alicesOid(), scope: 'openid' };
    const answers = paths.map((path) => postForm(`${service.issuer}/connect/${path}`, fields, { authorization: `Bearer ${jwt}` }));
    return (await Promise.all(answers)).some(({ status }) => status < 400);
  },
  'token at introspection of the client itself': (jwt) => isActive(service.issuer, jwt, 'service'),
  'token at introspection': (jwt) => isActive(service.issuer, jwt, 'jwt'),
  'token at introspection by the API': (jwt) => isActive(service.issuer, jwt, 'orders'),
  client_assertion: (jwt) => isAnswered('/connect/token', { grant_type: 'client_credentials', ...assertion(jwt) }),
  'client_assertion of a client with a secret': (jwt) =>
    isAnswered('/connect/introspect', { token: 'x', client_id: 'jwt', ...assertion(jwt) }),
  'client_assertion at scope introspection': (jwt) =>
    isAnswered('/connect/scope/introspect', { sub: alicesOid(), scope: 'openid', client_id: 'asserting', ...assertion(jwt) }),
  code: (jwt) => isAnswered('/connect/token', { grant_type: 'authorization_code', code: jwt, redirect_uri: redirectUri }, 'jwt'),
  refresh_token: (jwt) => isAnswered('/connect/token', { grant_type: 'refresh_token', refresh_token: jwt }, 'jwt'),
  request: (jwt) => hasCode(alice, { client_id: 'jwt', request: jwt }),
  'request of a client with keys': (jwt) => hasCode(alice, { client_id: 'asserting', request: jwt }),
  'request at PAR': async (jwt) =>
    (await postForm(`${service.issuer}/connect/par`, { client_id: 'jwt', request: jwt }, authorizationOf('jwt'))).status === 201,
} satisfies Record<string, (jwt: string) => Promise<boolean>>;
type Consumer = keyof typeof consumers;

const takenBy = async (jwt: string): Promise<string[]> => {
  const taken = await Promise.all(Object.entries(consumers).map(async ([name, take]) => ((await take(jwt)) ? [name] : [])));
  return taken.flat();
};

/** Claims of a login hint token about Alice. */
const hint = (iss: string) => ({
  iss,
  aud: service.issuer,
  oid: alicesOid(),
  jti: randomUUID(),
  exp: epochSeconds() + 240,
});

interface Kind {
  /** `typ` of the header. */
  readonly typ?: string;
  /** The owner of the key that signs the JWT. */
  readonly by: 'the service' | 'a client';
  mint(): Promise<string>;
  /** Returns the only places that accept this kind. */
  takenBy(): readonly Consumer[];
}

/** Kinds of JWTs. A new kind needs a row here, and a new place needs a row above. */
const kinds: Readonly<Record<string, Kind>> = {
  'ID token': {
    by: 'the service',
    mint: async () => tokens.id_token,
    takenBy: () => ['id_token_hint at authorize', 'id_token_hint at end session'],
  },
  'access token': {
    typ: 'at+jwt',
    by: 'the service',
    mint: async () => tokens.access_token,
    takenBy: () => [
      'Bearer at userinfo',
      'access_token in a form at userinfo',
      'token at introspection',
      'token at introspection by the API',
    ],
  },
  'access token of a client itself': {
    typ: 'at+jwt',
    by: 'the service',
    mint: async () => serviceToken,
    takenBy: () => ['token at introspection of the client itself', 'token at introspection by the API'],
  },
  'userinfo response': {
    by: 'the service',
    mint: async () => (await userinfo(service.issuer, tokens.access_token)).json as string,
    takenBy: () => [],
  },
  'login hint token of the service': {
    typ: 'login-hint+jwt',
    by: 'the service',
    mint: () => sign('login-hint+jwt', hint(service.issuer), 'RS256'),
    takenBy: () => [
      'login_hint_token of a trusted client',
      'login_hint_token of a trusted client with keys',
      'sso_token of a trusted client with keys',
    ],
  },
  'introspection response': {
    typ: 'token-introspection+jwt',
    by: 'the service',
    async mint() {
      const headers = { ...authorizationOf('jwt'), accept: 'application/token-introspection+jwt' };
      return (await postForm(`${service.issuer}/connect/introspect`, { token: tokens.access_token }, headers)).text;
    },
    takenBy: () => [],
  },
  'authorization response': {
    by: 'the service',
    async mint() {
      const request = { client_id: 'jwt', response_mode: 'jwt', ...pkce() };
      return responseOf(await alice.get(authorizeUrl(service.issuer, request))).get('response') ?? '';
    },
    takenBy: () => [],
  },
  'logout token': { typ: 'logout+jwt', by: 'the service', mint: async () => receiver.tokens[0] as string, takenBy: () => [] },
  'client assertion': {
    by: 'a client',
    mint: async () => (await asserting.sign(service.issuer)).client_assertion as string,
    takenBy: () => ['client_assertion'],
  },
  'login hint token': {
    typ: 'login-hint+jwt',
    by: 'a client',
    async mint() {
      const { client_assertion } = await asserting.sign(
        service.issuer,
        { ...hint('asserting'), sub: undefined },
        { typ: 'login-hint+jwt' },
      );
      return client_assertion as string;
    },
    takenBy: () => ['login_hint_token of a trusted client with keys', 'sso_token of a trusted client with keys'],
  },
  'request object': {
    typ: 'oauth-authz-req+jwt',
    by: 'a client',
    async mint() {
      const request = { client_id: 'asserting', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...pkce() };
      const { client_assertion } = await asserting.sign(service.issuer, { ...request, sub: undefined }, { typ: 'oauth-authz-req+jwt' });
      return client_assertion as string;
    },
    takenBy: () => (discovery.request_parameter_supported ? ['request of a client with keys'] : []),
  },
};

describe.each(Object.entries(kinds))('B13: %s', (_name, kind) => {
  test('says what it is', async () => {
    expect(decodeProtectedHeader(await kind.mint()).typ).toBe(kind.typ);
  });

  test('is taken where it is meant for, and nowhere else', async () => {
    const expected = kind.takenBy();
    // Some kinds are accepted only once, so each consumer gets its own JWT.
    const taken = await Promise.all(Object.entries(consumers).map(async ([name, take]) => ((await take(await kind.mint())) ? [name] : [])));
    expect(taken.flat()).toEqual(expected);
  });
});

test('B13: a logout token could not be an ID token by its claims either', () => {
  expect(decodeJwt(receiver.tokens[0] as string)).not.toHaveProperty('nonce');
});

test('B13: an introspection response could not be a token by its claims either', async () => {
  expect(Object.keys(decodeJwt((await kinds['introspection response']?.mint()) ?? '')).sort()).toEqual([
    'aud',
    'iat',
    'iss',
    'token_introspection',
  ]);
});

test('B13: changing what a JWT says it is, or signing it with a published key as a secret, makes it nothing', async () => {
  const [jwk] = testKeys as [JWK];
  const ours = await importJWK(jwk, 'RS256');
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const published = new TextEncoder().encode(jwk.n);
  const minted = Object.values(kinds).filter(({ by }) => by === 'the service');
  for (const claims of await Promise.all(minted.map(async ({ mint }) => decodeJwt(await mint())))) {
    for (const typ of ['at+jwt', 'JWT', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt', undefined]) {
      const header = { kid: jwk.kid as string, ...(typ ? { typ } : {}) };
      expect(await takenBy(await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(foreign))).toEqual([]);
      expect(await takenBy(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', ...header }).sign(published))).toEqual([]);
    }
  }
  // An access token that was not recorded is refused even under the service's own key.
  const invented = { ...decodeJwt(tokens.access_token), jti: 'AAAAAAAAAAAaAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' };
  expect(
    await takenBy(await new SignJWT(invented).setProtectedHeader({ alg: 'RS256', kid: jwk.kid as string, typ: 'at+jwt' }).sign(ours)),
  ).toEqual([]);
});

test('B13 leaves nothing in the log', () => expectQuietLog(service));
