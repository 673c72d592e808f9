/**
 * JWTs of other signers: the service refuses each `crit`, because the service knows no extension. A JWT whose text cannot be decoded is
 * refused, because nothing is repaired.
 * @see RFC 7515 §4.1.11, RFC 7797 §7, RFC 8259 §8
 */
import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { calculateJwkThumbprint, decodeJwt, type JWK } from 'jose';
import { Agent, authorizeUrl, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { assertionType } from '../../support/client/assertions.js';
import { authorizationOf } from '../../support/client/steps.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = publicKey.export({ format: 'jwk' }) as JWK;
const jwks = { keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: 'own' }] };

/** Bytes that are put into a member of the header or of the payload. */
let raw: { readonly of: 'header' | 'payload'; readonly bytes: Buffer } | undefined;
const END = Buffer.from('"}');

/** Returns the JSON of a part, with a last member of the raw bytes. */
function written(part: 'header' | 'payload', value: object): Buffer {
  const json = JSON.stringify(value);
  return raw?.of === part ? Buffer.concat([Buffer.from(`${json.slice(0, -1)},"note":"`), raw.bytes, END]) : Buffer.from(json);
}

/** Returns a JWT with this header, which a library may refuse. With `b64: false` the payload is signed as it is (RFC 7797 §3). */
function jwt(header: Readonly<Record<string, unknown>>, payload: object): string {
  const encoded = written('header', { alg: 'ES256', kid: 'own', ...header }).toString('base64url');
  const text = written('payload', payload);
  const body = text.toString('base64url');
  const signed = `${encoded}.${header.b64 === false ? text : body}`;
  return `${encoded}.${body}.${sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const identity = ['openid', 'profile'];
const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
const cibaGrant = 'urn:openid:params:grant-type:ciba';
const service = useIdp({
  features: { dPoP: { enabled: true } },
  seed: {
    ...testSeed,
    clients: [
      ...testSeed.clients,
      { id: 'signing', name: 'Signs requests', secret: 'signing-secret', metadata: { ...code, jwks }, allowedScopes: identity },
      {
        id: 'asserting',
        name: 'Asserts',
        metadata: {
          ...code,
          grant_types: [...code.grant_types, 'client_credentials', cibaGrant],
          backchannel_token_delivery_mode: 'poll',
          token_endpoint_auth_method: 'private_key_jwt',
          jwks,
        },
        allowedScopes: ['openid', 'orders.read'],
      },
      {
        id: 'ciba',
        name: 'Asks',
        secret: 'ciba-secret',
        metadata: { grant_types: [cibaGrant], backchannel_token_delivery_mode: 'poll', jwks },
        allowedScopes: ['openid'],
      },
    ],
  },
});

type Header = Readonly<Record<string, unknown>>;
const now = () => epochSeconds();
const pkce = () => ({ code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
const request = (header: Header) => {
  const claims = { iss: 'signing', client_id: 'signing', aud: service.issuer, exp: now() + 240, nbf: now() };
  return jwt(header, { ...claims, response_type: 'code', redirect_uri: redirectUri, scope: 'openid', nonce: 'n', ...pkce() });
};
const proof = (header: Header, path: string) =>
  jwt({ typ: 'dpop+jwt', jwk, ...header }, { jti: randomUUID(), iat: now(), htm: 'POST', htu: service.issuer + path });
let discovery: Json;
beforeAll(async () => {
  discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
});

/** Fields that a client sends to each endpoint at which clients authenticate, by the endpoint's name in discovery. */
const requestsOfClients: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  token_endpoint: () => ({ grant_type: 'client_credentials' }),
  introspection_endpoint: () => ({ token: 'x' }),
  revocation_endpoint: () => ({ token: 'x' }),
  pushed_authorization_request_endpoint: () => ({ response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...pkce() }),
  backchannel_authentication_endpoint: () => ({ scope: 'openid', login_hint: 'nobody@acme.test' }),
};

const post = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  (await postForm(service.issuer + path, fields, headers)).status < 300;

/** Places that accept a JWT of other signers. Each place returns whether it accepts a JWT with this header. */
const places: readonly (readonly [name: string, isTaken: (header: Header) => Promise<boolean>])[] = [
  [
    'a request object',
    async (header) =>
      (await new Agent().get(authorizeUrl(service.issuer, { client_id: 'signing', request: request(header) }))).location?.includes(
        '/idp/interaction/',
      ) === true,
  ],
  [
    'a pushed request object',
    (header) => post('/connect/par', { client_id: 'signing', request: request(header) }, authorizationOf('signing')),
  ],
  ...Object.entries(requestsOfClients).map(([endpoint, fieldsOf]): (typeof places)[number] => [
    `a client assertion at the ${endpoint}`,
    async (header) => {
      const claims = { iss: 'asserting', sub: 'asserting', aud: service.issuer, jti: randomUUID(), iat: now(), exp: now() + 60 };
      const assertion = { client_assertion_type: assertionType, client_assertion: jwt(header, claims) };
      const { status, json } = await postForm(discovery[endpoint], { client_id: 'asserting', ...fieldsOf(), ...assertion });
      // Only a client that authenticated gets `unknown_user_id`.
      return status < 300 || json.error === 'unknown_user_id';
    },
  ]),
  [
    'a login hint token',
    async (header) => {
      const hint = { iss: 'signing', aud: service.issuer, sub: randomUUID(), jti: randomUUID(), iat: now(), exp: now() + 60 };
      const login_hint_token = jwt({ typ: 'login-hint+jwt', ...header }, hint);
      const { location = '' } = await new Agent().get(authorizeUrl(service.issuer, { client_id: 'signing', nonce: 'n', login_hint_token }));
      return location.includes('/idp/interaction/');
    },
  ],
  [
    'a request of CIBA',
    async (header) => {
      const claims = { iss: 'ciba', aud: service.issuer, iat: now(), nbf: now(), exp: now() + 60, jti: randomUUID() };
      const signed = jwt(header, { ...claims, scope: 'openid', login_hint: 'alice@acme.test' });
      const { status, json } = await postForm(`${service.issuer}/connect/ciba`, { request: signed }, authorizationOf('ciba'));
      // A user may be asked five times. Only requests that were read reach the limit.
      return status === 200 || json.error === 'access_denied';
    },
  ],
  [
    'a DPoP proof at the token endpoint',
    (header) =>
      post(
        '/connect/token',
        { grant_type: 'client_credentials' },
        { ...authorizationOf('service'), dpop: proof(header, '/connect/token') },
      ),
  ],
  [
    'a DPoP proof of a pushed request',
    async (header) => {
      const fields = { client_id: 'signing', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', nonce: 'n', ...pkce() };
      return post(
        '/connect/par',
        { ...fields, dpop_jkt: await calculateJwkThumbprint(jwk) },
        { ...authorizationOf('signing'), dpop: proof(header, '/connect/par') },
      );
    },
  ],
];

const headers: readonly Header[] = [
  { crit: ['b64'], b64: true },
  { crit: ['b64'], b64: false },
  { crit: ['b64'] },
  { crit: ['exp'], exp: 1 },
  { crit: ['urn:example:unknown'], 'urn:example:unknown': { crit: [] } },
  { crit: [] },
  { crit: null },
  { crit: 'b64' },
];

/** Texts that a decoder would repair: bytes that are not UTF-8, and escapes of halves of characters. */
const broken = [
  'ff',
  'e5',
  'c0af',
  'eda080',
  'f4908080',
  Buffer.from('\\ud800').toString('hex'),
  Buffer.from('\\\\\\uDC00').toString('hex'),
];
const whole = ['', 'c3a5', Buffer.from('\\ud83d\\ude00').toString('hex'), Buffer.from('\\\\ud800').toString('hex')];
const parts = ['header', 'payload'] as const;
const inEach = (texts: readonly string[]) => parts.flatMap((of) => texts.map((hex) => [of, hex] as const));

describe.each(places)('%s', (_name, isTaken) => {
  afterEach(() => {
    raw = undefined;
  });
  test('is taken without crit', async () => {
    expect(await isTaken({})).toBe(true);
  });
  test.each(inEach(whole))('A03: is taken with text in the %s: %s', async (of, hex) => {
    raw = { of, bytes: Buffer.from(hex, 'hex') };
    expect(await isTaken({})).toBe(true);
  });
  test.each(inEach(broken))('A03: is refused with a %s that cannot be decoded: %s', async (of, hex) => {
    raw = { of, bytes: Buffer.from(hex, 'hex') };
    expect(await isTaken({})).toBe(false);
  });
  test.each(headers)('is refused with %j', async (header) => {
    expect(await isTaken(header)).toBe(false);
  });
});

test('a DPoP proof at userinfo is refused with crit', async () => {
  const answer = await fetch(`${service.issuer}/connect/userinfo`, {
    headers: { authorization: `DPoP ${hash('sha256', 'x', 'base64url')}`, dpop: proof({ crit: ['b64'], b64: true }, '/connect/userinfo') },
  });
  expect([answer.status, (await answer.json()) as unknown]).toMatchObject([401, { error: 'invalid_dpop_proof' }]);
});

const ofAssertions = Object.keys(requestsOfClients).map((endpoint) => `a client assertion at the ${endpoint}`);

/** Modules that read JWTs, and the places above that lead to each module, or the reason why no JWT of others reaches the module. */
const readers: Readonly<Record<string, readonly string[] | string>> = {
  'lib/oidc/clients/dpop-proofs': ['a request object', 'a pushed request object'],
  'lib/oidc/authorize/pushed-requests': ['a pushed request object'],
  'lib/oidc/authorize/login-hint-tokens': ['a login hint token'],
  'lib/oidc/authorize/backchannel/client-request-objects': ['a request of CIBA'],
  'lib/oidc/clients/assertions': ofAssertions,
  'lib/oidc/upstream/id-token': 'it accepts ID tokens of this service only',
  'lib/oidc/tokens/access-token-jwt': 'it accepts access tokens of this service only',
  'extensions/connections/upstream/provider':
    'it loads `openid-client`, which refuses `crit`; test/connections covers answers of providers',
  'oidc-provider: actions/authorization/process_request_object': ['a request object', 'a pushed request object', 'a request of CIBA'],
  'oidc-provider: actions/authorization/pushed_authorization_requests': ['a pushed request object'],
  'oidc-provider: shared/jwt_client_auth': ofAssertions,
  'oidc-provider: helpers/validate_dpop': ['a DPoP proof at the token endpoint', 'a DPoP proof of a pushed request'],
  'oidc-provider: helpers/jwt': 'it is the library by which the others read',
  'oidc-provider: helpers/keystore': 'it is the library by which the others read',
  'oidc-provider: shared/reject_structured_tokens': 'it refuses tokens that are JWTs',
  'oidc-provider: models/id_token': 'it accepts ID tokens of this service only',
  'oidc-provider: actions/end_session': 'it accepts ID tokens of this service only',
  'oidc-provider: actions/credential': 'the feature `openid4vci` is refused',
  'oidc-provider: helpers/check_attest_binding': 'the feature `attestClientAuth` is refused',
  'oidc-provider: models/token_helpers': 'the feature `attestClientAuth` is refused',
  'oidc-provider: shared/attest_client_auth': 'the feature `attestClientAuth` is refused',
};

const filesBelow = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith(ending) && !file.endsWith('.d.ts'));
const isReader = (text: string): boolean =>
  /\b(decodeJwt|decodeProtectedHeader|\w+Verify|\w+Decrypt)\(|JWT\.(decode|verify|decrypt)\(|import\('(openid-client|oauth4webapi)'\)/.test(
    text,
  );

test('each module that reads JWTs is reached by a place above', () => {
  const upstream = join('node_modules', 'oidc-provider', 'lib');
  const read = [
    ...['lib', 'extensions'].flatMap((root) =>
      filesBelow(root, '.ts')
        .map((file) => join(root, file))
        .filter((file) => isReader(readFileSync(file, 'utf8'))),
    ),
    ...filesBelow(upstream, '.js')
      .filter((file) => isReader(readFileSync(join(upstream, file), 'utf8')))
      .map((file) => `oidc-provider: ${file}`),
  ].map((file) => file.replace(/\.[jt]s$/, ''));
  expect(read.sort()).toEqual(Object.keys(readers).sort());
  const names = new Set(places.map(([name]) => name));
  expect(
    Object.values(readers).flatMap((reached) => (typeof reached === 'string' ? [] : reached.filter((name) => !names.has(name)))),
  ).toEqual([]);
});

test('each endpoint of discovery at which clients authenticate is a place above', async () => {
  const endpoints = Object.keys(discovery).filter((name) => name.endsWith('_endpoint'));
  const answers = await Promise.all(
    endpoints.map((name) => postForm(discovery[name], { client_id: 'signing', client_secret: 'a wrong secret' })),
  );
  const authenticating = endpoints.filter((_, index) => answers[index]?.json?.error === 'invalid_client');
  // Scope introspection reads no assertion.
  expect(authenticating.sort()).toEqual([...Object.keys(requestsOfClients), 'scope_introspection_endpoint'].sort());
});

test('each kind of JWT whose algorithms discovery tells is a place above, or is signed by this service', () => {
  const kinds = Object.keys(discovery).flatMap((name) => name.match(/^(.*)_signing_alg_values_supported$/)?.[1] ?? []);
  const own = ['id_token', 'userinfo', 'introspection', 'authorization'];
  const covered = ['request_object', 'backchannel_authentication_request', 'dpop'];
  const ofClients = Object.keys(requestsOfClients).map((endpoint) => `${endpoint}_auth`);
  expect(kinds.filter((kind) => ![...own, ...covered, ...ofClients].includes(kind))).toEqual([]);
});

test('every place that decodes a JWT does so with `jose`, which refuses what it cannot decode, or by `decodeUtf8`', () => {
  const sources = ['lib', 'extensions', 'adapters'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => `${root}/${file}`),
  );
  const lenient = sources
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => /new TextDecoder\((?![^)]*fatal: true)/.test(readFileSync(file, 'utf8')));
  expect(lenient).toEqual([]);
  const token = ['{"alg":"none"}', '{"a":"\xff"}', ''].map((part) => Buffer.from(part, 'latin1').toString('base64url')).join('.');
  expect(() => decodeJwt(token)).toThrow('Failed to parse the decoded payload as JSON');
});
