/** APIs that check tokens of the service: the programs of docs/protect-an-api.md, unchanged, each in its own process. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { signIn } from 'tenant-idp/testing';
import { pageAt } from '../docs/pages.js';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { basic, postForm } from '../support/client/agent.js';
import { freePort } from '../support/service/free-port.js';
import { testKeys } from '../support/service/keys.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { compiled } from './sign-in.js';

const apiScopes = ['orders.read', 'orders.write', 'orders.readers', 'invoices.read'];
const clientOf = (accessTokenType: 'jwt' | 'reference') => ({
  id: `of-${accessTokenType}`,
  name: accessTokenType,
  secret: 'client-secret',
  metadata: { grant_types: ['client_credentials', 'authorization_code'], redirect_uris: [redirectUri] },
  allowedScopes: ['openid', ...apiScopes],
  accessTokenType,
});
const service = useIdp({
  seed: {
    ...testSeed,
    clients: [clientOf('jwt'), clientOf('reference')],
    apiResources: [
      { id: 'orders', name: 'Orders', secret: 'orders-secret', scopes: apiScopes.slice(0, 3) },
      { id: 'invoices', name: 'Invoices', secret: 'invoices-secret', scopes: ['invoices.read'] },
    ],
  },
});

type Kind = 'jwt' | 'reference';

async function tokenOf(kind: Kind, scope: string): Promise<string> {
  const headers = { authorization: basic(`of-${kind}`, 'client-secret') };
  const { json } = await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials', scope }, headers);
  return json.access_token;
}

async function userToken(kind: Kind): Promise<string> {
  const client = { id: `of-${kind}`, secret: 'client-secret', redirectUri };
  const user = { userName: 'alice@acme.test', password: 'alice' };
  return (await signIn(service.idp, { client, user, scope: 'openid orders.read' })).access_token;
}

const goodClaims = (): JWTPayload => ({
  iss: service.issuer,
  sub: 'of-jwt',
  aud: ['orders'],
  client_id: 'of-jwt',
  scope: 'orders.read',
  jti: 'a',
  iat: epochSeconds(),
  exp: epochSeconds() + 600,
});

/** Returns a JWT, signed by a key of the service or by another key. */
async function signed(
  claims: Readonly<Record<string, unknown>> = {},
  header: object = {},
  key: JWK = testKeys.find(({ alg }) => alg === 'ES256') as JWK,
): Promise<string> {
  const payload = Object.fromEntries(Object.entries({ ...goodClaims(), ...claims }).filter(([, value]) => value !== undefined));
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid as string, ...header })
    .sign(await importJWK(key, 'ES256'));
}

async function strangerKey(kid: string): Promise<JWK> {
  return { ...(await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)), kid, alg: 'ES256' };
}

async function revoked(kind: Kind): Promise<string> {
  const token = await tokenOf(kind, 'orders.read');
  await postForm(`${service.issuer}/connect/revocation`, { token }, { authorization: basic(`of-${kind}`, 'client-secret') });
  return token;
}

/** Returns a token that is bound to a key of the client. @see RFC 9449 §5 */
async function boundToken(kind: Kind): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const url = `${service.issuer}/connect/token`;
  const proof = await new SignJWT({ htm: 'POST', htu: url, jti: randomUUID(), iat: epochSeconds() })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
    .sign(privateKey);
  const headers = { authorization: basic(`of-${kind}`, 'client-secret'), dpop: proof };
  const { json } = await postForm(url, { grant_type: 'client_credentials', scope: 'orders.read' }, headers);
  expect(json.token_type).toBe('DPoP');
  return json.access_token;
}

const unsigned = (): string =>
  [{ alg: 'none', typ: 'at+jwt' }, goodClaims()].map((part) => `${Buffer.from(JSON.stringify(part)).toString('base64url')}.`).join('');

const kidOfService = testKeys.find(({ alg }) => alg === 'ES256')?.kid as string;

const calls: readonly (readonly [name: string, token: () => string | Promise<string>, status: number])[] = [
  ['a JWT', () => tokenOf('jwt', 'orders.read'), 200],
  ['a reference', () => tokenOf('reference', 'orders.read'), 200],
  ['a JWT of a user', () => userToken('jwt'), 200],
  ['a reference of a user', () => userToken('reference'), 200],
  ['a JWT for two APIs', () => tokenOf('jwt', 'orders.read invoices.read'), 200],
  ['a JWT signed here as the service signs', () => signed(), 200],
  ['an expired JWT', () => signed({ exp: epochSeconds() - 300 }), 401],
  ['a JWT that never expires', () => signed({ exp: undefined }), 401],
  ['a revoked reference', () => revoked('reference'), 401],
  ['a JWT for another API', () => tokenOf('jwt', 'invoices.read'), 401],
  ['a reference for another API', () => tokenOf('reference', 'invoices.read'), 401],
  ['a JWT for another API with the scope of this one', () => signed({ aud: ['orders.example'] }), 401],
  ['a JWT for nobody', () => signed({ aud: undefined }), 401],
  ['a JWT with another scope', () => tokenOf('jwt', 'orders.write'), 403],
  ['a reference with another scope', () => tokenOf('reference', 'orders.write'), 403],
  ['a JWT with a scope that begins alike', () => tokenOf('jwt', 'orders.readers'), 403],
  ['a JWT without scope', () => signed({ scope: undefined }), 403],
  ['a JWT of another issuer', () => signed({ iss: `${service.issuer}/` }), 401],
  ['a JWT that is no access token', () => signed({}, { typ: 'JWT' }), 401],
  ['a JWT without typ', () => signed({}, { typ: undefined }), 401],
  ['a JWT that is bound to a key', () => boundToken('jwt'), 401],
  ['a reference that is bound to a key', () => boundToken('reference'), 401],
  ['a JWT by the key of somebody else', async () => signed({}, {}, await strangerKey(kidOfService)), 401],
  ['a JWT by an unknown key', async () => signed({}, {}, await strangerKey('unknown')), 401],
  ['a JWT without signature', unsigned, 401],
  ['a text', () => 'x'.repeat(43), 401],
  ['a text with dots', () => 'a.b.c', 401],
];

const started: ChildProcess[] = [];
let folder: string;
beforeAll(() => {
  // Programs in this folder find the packages of the repository.
  mkdirSync('dist', { recursive: true });
  folder = mkdtempSync('dist/api-');
});
afterEach(backToPresent);
afterAll(async () => {
  for (const child of started) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

function codeOf(section: string): string {
  const block = pageAt('docs/protect-an-api.md').codeBlocks.find((each) => each.section === section);
  if (!block) throw new Error(`the page has no program in ${section}`);
  return block.code;
}

/** Starts a program. Returns a function that calls the program with a value of `Authorization`. */
async function startApi(command: readonly string[], secret = 'orders-secret') {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}/`;
  const env = { ISSUER: service.issuer, API_SECRET: secret, PORT: port, SERVER_PORT: port };
  started.push(await startProgram(command, env, url));
  return (authorization?: string) => fetch(url, { headers: authorization === undefined ? {} : { authorization } });
}

async function checkApi(call: Awaited<ReturnType<typeof startApi>>): Promise<void> {
  const answers: unknown[] = [];
  for (const [name, token] of calls) answers.push([name, (await call(`Bearer ${await token()}`)).status]);
  expect(answers).toEqual(calls.map(([name, , status]) => [name, status]));
  const expired = await tokenOf('reference', 'orders.read');
  passTime(3601);
  expect((await call(`Bearer ${expired}`)).status).toBe(401);
  backToPresent();
  for (const kind of ['jwt', 'reference'] as const) {
    const ofClient = await (await call(`Bearer ${await tokenOf(kind, 'orders.read')}`)).json();
    expect(ofClient).toEqual({ sub: `of-${kind}`, ...('tid' in ofClient ? { tid: null } : {}) });
    const { sub, tid } = await (await call(`Bearer ${await userToken(kind)}`)).json();
    expect([sub, tid]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), expect.stringMatching(/^[\da-f-]{36}$/)]);
  }
  for (const other of [undefined, basic('orders', 'orders-secret'), 'Bearer', await tokenOf('jwt', 'orders.read')]) {
    const { status, headers } = await call(other);
    expect([other, status, headers.get('www-authenticate')]).toEqual([other, 401, expect.stringMatching(/^Bearer/)]);
  }
  const refused = await call(`Bearer ${await tokenOf('reference', 'orders.write')}`);
  expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer .*error="insufficient_scope"/);
}

describe('D APIs of others', () => {
  const node = (): string[] => {
    const file = join(folder, 'api.mjs');
    writeFileSync(file, compiled(codeOf('Node')));
    return [process.execPath, file];
  };

  test('jose on Node', async () => checkApi(await startApi(node())));

  test('jose on Node does not call a token invalid that it could not introspect', async () => {
    const call = await startApi(node(), 'wrong');
    expect((await call(`Bearer ${await tokenOf('reference', 'orders.read')}`)).status).toBe(503);
    expect((await call(`Bearer ${await tokenOf('jwt', 'orders.read')}`)).status).toBe(200);
  });

  byHand('PyJWT', ['python3', '-c', 'import jwt, cryptography'], async () => {
    const file = join(folder, 'api.py');
    writeFileSync(file, codeOf('Python'));
    await checkApi(await startApi(['python3', file]));
  });

  byHand('golang-jwt', ['go', 'version'], async () => {
    const place = mkdtempSync(join(tmpdir(), 'go-api-'));
    writeFileSync(join(place, 'main.go'), codeOf('Go'));
    const steps = ['mod init orders', 'get github.com/golang-jwt/jwt/v5 github.com/MicahParks/keyfunc/v3', 'vet .', 'build -o orders .'];
    for (const step of steps) execFileSync('go', step.split(' '), { cwd: place, stdio: 'ignore' });
    await checkApi(await startApi([join(place, 'orders')]));
    rmSync(place, { recursive: true });
  });

  byHand('Spring Boot', ['mvn', '-v'], async () => {
    const place = mkdtempSync(join(tmpdir(), 'spring-api-'));
    const source = join(place, 'src/main/java/com/example/orders');
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'Orders.java'), codeOf('Spring'));
    copyFileSync('test/relying-parties/orders-api.xml', join(place, 'pom.xml'));
    execFileSync('mvn', ['-q', '-B', 'package'], { cwd: place, stdio: 'ignore' });
    await checkApi(await startApi(['java', '-jar', join(place, 'target/orders-1.jar')]));
    rmSync(place, { recursive: true });
  });
});
