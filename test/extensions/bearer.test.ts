/** house §5: a route behind an access token, its JSON, and its errors. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { type BearerState, defineErrors, type Extension, json, Type } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, obtainTokens, signIn } from '../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../support/client/endpoints.js';
import { discover } from '../support/client/relying-party.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const errors = defineErrors({ order_too_large: { status: 409, description: 'The order is larger than the stock. Order less.' } });
const strict = { additionalProperties: false } as const;
const Order = Type.Object({ amount: Type.Integer({ minimum: 1, format: 'int32' }) }, strict);
const formats = ['date', 'date-time', 'email', 'uri', 'uuid'] as const;
const Formats = Type.Partial(
  Type.Object(Object.fromEntries(formats.map((format) => [format, Type.String({ format })])), { additionalProperties: false }),
);

const Dated = Type.Object({ on: Type.Optional(Type.Array(Type.String({ format: 'day' }))) });

const orders: Extension = {
  name: 'orders',
  errors: 'problem',
  errorCodes: errors.codes,
  routes(router, { http: { bearer } }) {
    const mayRead = bearer('orders', 'orders.read');
    router.get('/orders', mayRead, (ctx) => {
      const { client, account, scopes, audiences, login, expiresAt } = (ctx.state as BearerState).accessToken;
      ctx.body = { client: client.id, person: account?.person.givenName, scopes: [...scopes], audiences, idp: login?.idp, expiresAt };
    });
    router.get('/openid', bearer('orders', 'orders.read', 'email'), (ctx) => {
      ctx.body = {};
    });
    router.postWithoutCsrf(
      '/orders',
      mayRead,
      json({ body: Order, answer: Order, status: 201 }, (_ctx, { amount }) => {
        if (amount > 100) throw errors('order_too_large', { stock: 100 });
        return amount === 13 ? ({ amount, secret: 'kept' } as never) : { amount };
      }),
    );
    router.put(
      '/formats',
      mayRead,
      json({ body: Formats }, () => undefined),
    );
    router.delete(
      '/orders',
      mayRead,
      json({}, () => undefined),
    );
  },
};
const styled = (name: string, style?: 'oauth' | 'page'): Extension => ({
  name,
  ...(style && { errors: style }),
  routes(router, { http: { bearer } }) {
    router.get(`/${name}`, bearer('orders'), (ctx) => {
      ctx.body = {};
    });
  },
});

const service = useIdp({ extensions: [orders, styled('as-oauth', 'oauth'), styled('as-page', 'page'), styled('as-ever')] });
let endpoints: Endpoints;
let agent: Agent;
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  ({ agent } = await obtainTokens(service.issuer));
});
afterEach(backToPresent);

const scope = 'openid profile orders.read';
const tokenOf = async (parameters: Record<string, unknown> = {}): Promise<string> =>
  (await obtainTokens(service.issuer, { agent, scope, ...parameters })).tokens.access_token;
async function call(path: string, token?: string, init: RequestInit = {}) {
  const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...(init.headers as object) };
  const response = await fetch(service.issuer + path, { ...init, headers });
  const text = await response.text();
  const challenge = response.headers.get('www-authenticate');
  return { status: response.status, type: response.headers.get('content-type'), challenge, text, json: text && JSON.parse(text) };
}
/** Returns the challenges to a request with a bearer token, or without a token. */
const challenged = (error: string): string =>
  `Bearer realm="${service.issuer}"${error}, DPoP realm="${service.issuer}", algs="ES256 Ed25519 EdDSA"`;
const reasons = () => service.lines.filter(({ message }) => message === 'request refused').map(({ fields }) => fields.reason);
const post = (token: string, body: string, type = 'application/json') =>
  call('/orders', token, { method: 'POST', body, headers: { 'content-type': type } });

describe('RFC 6750: a route behind an access token', () => {
  test.each([
    ['an opaque token', {}],
    ['a JWT', { client: 'jwt', secret: 'jwt-secret' }],
  ])('takes %s, and says whose it is', async (_, client) => {
    expect((await call('/orders', await tokenOf(client))).json).toEqual({
      client: 'client' in client ? client.client : 'web',
      person: 'Alice',
      scopes: ['openid', 'profile', 'orders.read'],
      audiences: ['orders'],
      idp: 'local',
      expiresAt: expect.any(String),
    });
  });

  test('takes the token of a client itself, which has no person', async () => {
    const { access_token: token } = await endpoints.clientCredentials('orders.read');
    expect((await call('/orders', token)).json).toEqual({
      client: 'service',
      scopes: ['orders.read'],
      audiences: ['orders'],
      expiresAt: expect.any(String),
    });
  });

  test('4.4 takes none for an API resource whose scopes its client may no longer have', async () => {
    const { access_token: token } = await endpoints.clientCredentials('orders.read');
    const { clients } = service.idp.directory;
    expect((await call('/as-ever', token)).status).toBe(200);
    await clients.update('service', { allowedScopes: [] });
    expect((await call('/as-ever', token)).status).toBe(401);
    await clients.update('service', { allowedScopes: ['orders.read'] });
    expect((await call('/as-ever', token)).status).toBe(200);
  });

  test('§3.1 tells who brings none what is wanted, and of no error', async () => {
    for (const headers of [{}, { authorization: 'Basic d2ViOndlYi1zZWNyZXQ=' }]) {
      const answer = await call('/orders', undefined, { headers });
      expect([answer.status, answer.challenge, answer.json.code]).toEqual([401, challenged(''), 'invalid_token']);
    }
  });

  test('§3.1 answers malformed credentials 400', async () => {
    for (const token of ['', 'two words', 'a,b']) {
      const answer = await call('/orders', token);
      expect([answer.status, answer.challenge]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
    }
  });

  test('§2.2, 2.3 takes no token from a URL or a form', async () => {
    const token = await tokenOf();
    expect((await call(`/orders?access_token=${token}`)).status).toBe(401);
    const body = new URLSearchParams({ access_token: token }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await call('/orders', undefined, { method: 'POST', body, headers })).status).toBe(401);
  });

  test.each<[string, () => Promise<string>]>([
    ['unknown', async () => 'unknown'],
    ['for nobody but the issuer', () => tokenOf({ scope: 'openid' })],
    ['a refresh token', async () => (await obtainTokens(service.issuer, { agent, scope: `${scope} offline_access` })).tokens.refresh_token],
    ['an ID token', async () => (await obtainTokens(service.issuer, { agent, scope })).tokens.id_token],
    ['revoked', () => revoked('web')],
    ['revoked, a JWT', () => revoked('jwt')],
    ['bound to a key', bound],
  ])('§3.1 refuses a token that is %s', async (_, token) => {
    const answer = await call('/orders', await token());
    expect([answer.status, answer.challenge]).toEqual([401, challenged(', error="invalid_token"')]);
    expect(reasons().at(-1)).toMatch(/^unknown or expired$|^bound to a key: |^for no API resource$/);
  });

  test('§3.1 refuses a token that is over', async () => {
    const tokens = [await tokenOf(), await tokenOf({ client: 'jwt', secret: 'jwt-secret' })];
    passTime(3_601);
    for (const token of tokens) expect((await call('/orders', token)).status).toBe(401);
  });

  test('§3.1 refuses a token whose person may not sign in any more', async () => {
    const { users, persons } = service.idp.tenant((await service.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')!.id);
    const carol = (await persons.find({ limit: 10 })).find(({ givenName }) => givenName === 'Carol')!;
    const token = await tokenOf({ agent: new Agent(), userName: 'carol@acme.test', password: 'carol' });
    expect((await call('/orders', token)).status).toBe(200);
    await users.disable(carol.user!.id);
    expect((await call('/orders', token)).status).toBe(401);
  });

  test('§3.1 refuses a token of a person whose tenant is none of the API resource, and all while it is disabled', async () => {
    const { apiResources, tenants } = service.idp.directory;
    const token = await tokenOf();
    const others = (await tenants.find()).filter(({ name }) => name !== 'Acme').map(({ id }) => id);
    await apiResources.update('orders', { allowedTenants: others });
    const refused = await call('/orders', token);
    expect(refused.status).toBe(401);
    expect(reasons().at(-1)).toBe('of a tenant that is none of the API resource');
    expect(refused.text).not.toContain('tenant that');
    await apiResources.update('orders', { allowedTenants: null, status: 'disabled' });
    expect((await call('/orders', token)).status).toBe(401);
    await apiResources.update('orders', { status: 'active' });
    expect((await call('/orders', token)).status).toBe(200);
  });

  test('RFC 9449 §7.1 refuses a token that is bound to nothing under the scheme DPoP', async () => {
    const answer = await call('/orders', undefined, { headers: { authorization: `DPoP ${await tokenOf()}` } });
    expect([answer.status, answer.challenge]).toEqual([401, expect.stringMatching(/, DPoP .*, error="invalid_token"$/)]);
    expect(reasons().at(-1)).toMatch(/^not bound to a key/);
  });

  test('§3.1 says which scopes are lacking', async () => {
    const answer = await call('/openid', await tokenOf());
    expect([answer.status, answer.challenge, answer.json.code]).toEqual([
      403,
      challenged(', error="insufficient_scope", scope="orders.read email"'),
      'insufficient_scope',
    ]);
    expect((await call('/openid', await tokenOf({ scope: `${scope} email` }))).status).toBe(200);
  });

  async function revoked(client: string): Promise<string> {
    const token = await tokenOf({ client, secret: `${client}-secret` });
    await endpoints.revoke(token, client);
    return token;
  }
  async function bound(): Promise<string> {
    const party = await discover(service.issuer, { client: 'web' });
    const DPoP = openid.getDPoPHandle(party, await openid.randomDPoPKeyPair());
    const { verifier, challenge } = createPkce();
    const url = authorizeUrl(service.issuer, { scope, code_challenge: challenge, code_challenge_method: 'S256' });
    const { location = '' } = await signIn(agent, url);
    const { access_token: token } = await openid.authorizationCodeGrant(
      party,
      new URL(location),
      { pkceCodeVerifier: verifier },
      undefined,
      {
        DPoP,
      },
    );
    return token;
  }
});

describe('house §5: JSON in, JSON out', () => {
  test('what is sent is checked before the route runs', async () => {
    const token = await tokenOf();
    expect(await post(token, '{"amount":3}')).toMatchObject({ status: 201, json: { amount: 3 } });
    expect(await post(token, '{"amount":0}')).toMatchObject({ status: 422, json: { code: 'invalid_record', path: '/amount' } });
    expect(await post(token, '{"amount":1,"more":1}')).toMatchObject({ status: 422, json: { path: '/more' } });
    expect(await post(token, '{"amount":')).toMatchObject({ status: 400, json: { code: 'invalid_request', expected: 'JSON in UTF-8' } });
    expect(await post(token, 'amount=1', 'application/x-www-form-urlencoded')).toMatchObject({ status: 415 });
    expect(await post(token, JSON.stringify({ amount: 'x'.repeat(60_000) }))).toMatchObject({ status: 413 });
  });

  test.each<[(typeof formats)[number], string, string[]]>([
    ['date', '2028-02-29', ['2026-02-29', '2026-2-1', '2026-13-01', '2026-01-01T00:00:00Z']],
    ['date-time', '2026-02-28T23:59:59.5+01:00', ['2026-02-30T00:00:00Z', '2026-02-28T24:30:00Z', '2026-02-28T00:00:00', '2026-02-28']],
    ['email', 'a@b.test', ['a', 'a@', '@b', 'a b@c.test']],
    ['uri', 'urn:a:b', ['a/b', '']],
    ['uuid', '0f8fad5b-d9cb-469f-a165-70867728950e', ['0f8fad5bd9cb469fa16570867728950e', 'x']],
  ])('JSON Schema Validation §7.3: the format %s', async (format, right, wrong) => {
    const token = await tokenOf();
    const put = (value: string) =>
      call('/formats', token, {
        method: 'PUT',
        body: JSON.stringify({ [format]: value }),
        headers: { 'content-type': 'application/json' },
      });
    expect(await put(right)).toMatchObject({ status: 204 });
    for (const value of wrong)
      expect(await put(value)).toMatchObject({
        status: 422,
        json: { path: `/${format}`, expected: `a string that matches '${format}' format` },
      });
  });

  test('each place that is wrong is told once, and none of the values', async () => {
    const { json: problem, text } = await post(await tokenOf(), '{"hidden":"kept","other":1}');
    const problems = [
      { path: '/amount', expected: 'a value, which is required' },
      { path: '/hidden', expected: 'no member of this name' },
      { path: '/other', expected: 'no member of this name' },
    ];
    expect(problem).toMatchObject({ ...problems[0], problems });
    expect(text).not.toContain('kept');
  });

  test('what is answered is checked before it is sent', async () => {
    const answer = await post(await tokenOf(), '{"amount":13}');
    expect([answer.status, answer.text]).toEqual([500, expect.not.stringContaining('kept')]);
  });

  test('nothing to answer is 204', async () => {
    expect(await call('/orders', await tokenOf(), { method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
  });
});

describe('house §5: an extension chooses how its errors look', () => {
  test('RFC 9457: problem details, with its own codes', async () => {
    expect(await post(await tokenOf(), '{"amount":101}')).toMatchObject({
      status: 409,
      type: 'application/problem+json',
      json: {
        type: 'urn:tenant-idp:error:order_too_large',
        title: 'The order is larger than the stock. Order less.',
        status: 409,
        code: 'order_too_large',
        stock: 100,
      },
    });
  });

  test('problem details of a wrong method too', async () => {
    expect(await call('/orders', undefined, { method: 'PUT' })).toMatchObject({ status: 405, type: 'application/problem+json' });
  });

  test.each([
    ['/as-oauth', 'text/html', 'application/json; charset=utf-8'],
    ['/as-page', 'application/json', 'text/html; charset=utf-8'],
    ['/as-ever', 'application/json', 'application/json; charset=utf-8'],
    ['/as-ever', 'text/html', 'text/html; charset=utf-8'],
  ])('%s for who wants %s', async (path, accept, type) => {
    const response = await fetch(service.issuer + path, { headers: { accept } });
    expect([response.status, response.headers.get('content-type')]).toEqual([401, type]);
  });

  test.each<[string, Extension[], RegExp]>([
    [
      'a code of the service',
      [{ name: 'one', errorCodes: { not_found: { status: 404, description: 'No.' } } }],
      /not_found.*the service and one/,
    ],
    ['a code of another', [orders, { name: 'two', errorCodes: errors.codes }], /order_too_large.*orders and two/],
    [
      'a code that is no refusal',
      [{ name: 'one', errorCodes: { fine: { status: 200, description: 'Yes.' } } }],
      /extensions\[0\]\.errorCodes/,
    ],
    ['a style that does not exist', [{ name: 'one', errors: 'xml' } as never], /extensions\[0\]\.errors/],
    ['an API resource that does not exist', [guarded('order', 'orders.read')], /extensions\.one\.routes: .*API resource 'order' to exist/],
    [
      'a scope that does not exist',
      [guarded('orders', 'orders.rea')],
      /extensions\.one\.routes: .*scope 'orders.rea' to exist.* bearer\('orders', 'orders.rea'\)/,
    ],
    [
      'a body of a format that nobody knows',
      [formatted({ body: Dated })],
      /extensions\.one\.routes: json\.body: expected a format of .*date-time.* in place of 'day'/,
    ],
    ['an answer of such a format', [formatted({ answer: Dated })], /json\.answer: expected a format/],
  ])('%s is refused at start', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });
});

function formatted(shape: Parameters<typeof json>[0]): Extension {
  return {
    name: 'one',
    routes(router) {
      router.postWithoutCsrf(
        '/one',
        json(shape, () => undefined),
      );
    },
  };
}

function guarded(audience: string, scope: string): Extension {
  return {
    name: 'one',
    routes(router, { http: { bearer } }) {
      router.get('/one', bearer(audience, scope), () => {});
    },
  };
}
