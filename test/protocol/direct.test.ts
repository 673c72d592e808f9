/** Plain requests are answered without oidc-provider: as it answers the same requests with something unusual about them. */
import { get } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { basic, type Json, obtainTokens } from '../support/agent.js';
import { backToPresent, passTime } from '../support/clock.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../support/endpoints.js';
import { startIdp, type TestIdp } from '../support/idp.js';

let it: TestIdp;
let endpoints: Endpoints;
let tokens: Json;
beforeAll(async () => {
  it = await startIdp();
  endpoints = endpointsOf(it.issuer);
  ({ tokens } = await obtainTokens(it.issuer, { scope: 'openid profile email org roles perms offline_access orders.read' }));
});
afterAll(() => it.close());
afterEach(backToPresent);

const headersCompared = ['content-type', 'cache-control', 'pragma', 'vary', 'access-control-allow-origin', 'www-authenticate'];

/** What a caller sees of an answer. */
async function answerTo(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(it.issuer + path, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: headersCompared.map((name) => response.headers.get(name)),
    body: text.startsWith('{') ? JSON.parse(text) : text,
  };
}

const plainType = 'application/x-www-form-urlencoded';
const unusualType = 'application/x-www-form-urlencoded; charset="utf-8"';

const introspected = (fields: Record<string, string>, headers: Record<string, string>) =>
  Promise.all(
    [plainType, unusualType].map((type) =>
      answerTo('/connect/introspect', {
        method: 'POST',
        headers: { 'content-type': type, ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    ),
  );

describe('4.5 a plain introspection is answered like any other', () => {
  test.each(['web', 'orders', 'invoices', 'pairwise', 'spa'])('asked by %s', async (caller) => {
    const own = await endpoints.clientCredentials();
    for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token, own.access_token, 'unknown', 'a'.repeat(44), '']) {
      const [direct, other] = await introspected({ token }, credentialsOf(caller));
      expect(direct).toEqual(other);
    }
  });

  test('of the token of a pairwise client', async () => {
    const { tokens: pairwise } = await obtainTokens(it.issuer, { client: 'pairwise', secret: 'pairwise-secret', scope: 'openid profile' });
    const [direct, other] = await introspected({ token: pairwise.access_token }, credentialsOf('pairwise'));
    expect(direct).toMatchObject({ body: { active: true } });
    expect(direct).toEqual(other);
  });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['the secret in the form', { client_id: 'web', client_secret: 'web-secret' }, {}],
    ['a wrong secret', {}, { authorization: basic('web', 'wrong') }],
    ['an unknown client', {}, { authorization: basic('nobody', 'secret') }],
    ['no credentials', {}, {}],
    ['two mechanisms', { client_id: 'web', client_secret: 'web-secret' }, { authorization: basic('web', 'web-secret') }],
    ['the id again', { client_id: 'web' }, { authorization: basic('web', 'web-secret') }],
    ['another id', { client_id: 'orders' }, { authorization: basic('web', 'web-secret') }],
    ['an empty secret', { client_id: 'web', client_secret: '' }, {}],
    ['an assertion beside it', { client_assertion: 'x' }, { authorization: basic('web', 'web-secret') }],
    ['what is not Basic', {}, { authorization: 'Bearer web' }],
    ['what is not base64', {}, { authorization: 'Basic !!!' }],
  ])('with %s', async (_what, fields, headers) => {
    const [direct, other] = await introspected({ token: tokens.access_token, ...fields }, headers);
    expect(direct).toEqual(other);
  });

  test('of an expired token, and of one of a user who may no longer sign in', async () => {
    const person = await it.idp.directory.accounts.findByOid((await endpoints.userinfo(tokens.access_token)).json.sub);
    passTime(3601);
    const [direct, other] = await introspected({ token: tokens.access_token }, credentialsOf('web'));
    expect(direct).toMatchObject({ body: { active: false } });
    expect(direct).toEqual(other);
    expect(person).toBeDefined();
  });

  test('a body in two pieces, one too long and one without a length', async () => {
    const text = new URLSearchParams({ token: tokens.access_token }).toString();
    const pieces = (...parts: string[]) =>
      new ReadableStream({
        async start(controller) {
          for (const part of parts) {
            controller.enqueue(Buffer.from(part));
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          controller.close();
        },
      });
    const init = { method: 'POST', headers: { 'content-type': plainType, ...credentialsOf('web') } };
    const inPieces = { ...init, body: pieces(text.slice(0, 10), text.slice(10)), duplex: 'half' } as RequestInit;
    expect(await answerTo('/connect/introspect', inPieces)).toMatchObject({ status: 200, body: { active: true } });
    const tooLong = { ...init, body: `${text}&x=${'x'.repeat(100_000)}` };
    expect(await answerTo('/connect/introspect', tooLong)).toMatchObject({ status: 400 });
  });
});

describe('4.7 a plain request to userinfo is answered like any other', () => {
  test.each(['access_token', 'refresh_token', 'id_token'])('with the %s', async (name) => {
    const init = { headers: { authorization: `Bearer ${tokens[name]}` } };
    const [direct, other] = await Promise.all(['', '?unusual=yes'].map((query) => answerTo(`/connect/userinfo${query}`, init)));
    expect(direct).toEqual(other);
  });

  test('for a pairwise client, for a token without openid, after its end', async () => {
    const { tokens: pairwise } = await obtainTokens(it.issuer, { client: 'pairwise', secret: 'pairwise-secret', scope: 'openid profile' });
    const { access_token: own } = await endpoints.clientCredentials();
    const same = async (token: string) => {
      const init = { headers: { authorization: `Bearer ${token}` } };
      const [direct, other] = await Promise.all(['', '?unusual=yes'].map((query) => answerTo(`/connect/userinfo${query}`, init)));
      expect(direct).toEqual(other);
    };
    await same(pairwise.access_token);
    await same(own);
    passTime(3601);
    await same(pairwise.access_token);
  });
});

/** With these headers alone: fetch adds `Cache-Control` to a conditional request. */
const statusOf = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });

describe('4.3 a plain client credentials request is answered like any other', () => {
  /** Two tokens are never the same; all else is. */
  const withoutToken = (answer: unknown) => JSON.parse(JSON.stringify(answer).replace(/"access_token":"[\w-]{44}"/, '"access_token":"…"'));

  test.each<[string, Record<string, string>, string]>([
    ['no scope', {}, 'service'],
    ['its scope', { scope: 'orders.read' }, 'service'],
    ['a scope twice', { scope: 'orders.read orders.read' }, 'service'],
    ['an unknown scope', { scope: 'unknown' }, 'service'],
    ['a scope of another API', { scope: 'invoices.read' }, 'service'],
    ['openid', { scope: 'openid' }, 'service'],
    ['an empty scope', { scope: '' }, 'service'],
    ['a client that may not', {}, 'web'],
    ['an API resource', {}, 'orders'],
    ['another client id', { client_id: 'web' }, 'service'],
    ['a parameter nobody knows', { unknown: 'x' }, 'service'],
  ])('%s', async (_what, fields, caller) => {
    const answers = [plainType, unusualType].map((type) =>
      answerTo('/connect/token', {
        method: 'POST',
        headers: { 'content-type': type, ...credentialsOf(caller) },
        body: new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString(),
      }),
    );
    const [direct, other] = (await Promise.all(answers)).map(withoutToken);
    expect(direct).toEqual(other);
  });

  test('and its token introspects the same', async () => {
    const [plain, unusual] = await Promise.all(
      [plainType, unusualType].map(async (type) => {
        const headers = { 'content-type': type, ...credentialsOf('service') };
        const response = await fetch(`${it.issuer}/connect/token`, { method: 'POST', headers, body: 'grant_type=client_credentials' });
        const { json } = await endpoints.introspect(((await response.json()) as Json).access_token, 'service');
        return { ...json, jti: '', iat: 0, nbf: 0, exp: json.exp - json.iat };
      }),
    );
    expect(plain).toEqual(unusual);
    expect(plain).toMatchObject({ active: true, exp: 3600 });
  });
});

test('who listens to oidc-provider, or configures it, is not passed by', async () => {
  const heard: string[] = [];
  const other = await startIdp({
    onProvider: (provider) => void provider.on('client_credentials.saved', () => heard.push('client_credentials.saved')),
  });
  try {
    await endpointsOf(other.issuer).clientCredentials();
    expect(heard).toEqual(['client_credentials.saved']);
  } finally {
    await other.close();
  }
});

test.each(['/.well-known/openid-configuration', '/.well-known/openid-configuration/jwks'])(
  '4.9 %s is written once: the same answer again, and 304 for who has it',
  async (path) => {
    const first = await fetch(it.issuer + path);
    const text = await first.text();
    const again = await fetch(it.issuer + path, { headers: { origin: 'https://app.example.com' } });
    expect(await again.text()).toBe(text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    const etag = again.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    expect(await statusOf(it.issuer + path, { 'if-none-match': etag })).toBe(304);
    const head = await fetch(it.issuer + path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))]);
  },
);
