/** House §1: one rule turns errors into answers, for routes and grant types of extensions, at each door. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { IdpError } from 'tenant-idp';
import { defineErrors, type Extension, form } from 'tenant-idp/extension';
import { credentialsOf } from '../support/client/endpoints.js';
import { answerOf, formTypes } from '../support/requests/both-doors.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const errors = defineErrors({
  shop_closed: { status: 403, description: 'The shop is closed.' },
  shop_unknown: { status: 404, description: 'There is no such shop.' },
  shop_taken: { status: 409, description: 'The shop is taken.' },
  shop_full: { status: 429, description: 'The shop is full.' },
  shop_invalid: { status: 400, description: 'That is no shop.' },
  shop_away: { status: 503, description: 'The shop at 10.0.0.7 did not answer.' },
  shop_broken: { status: 502, description: 'The shop at 10.0.0.7 answered nonsense.' },
});

const secret = 'GET http://10.0.0.7/?key=secret: no such customer';
const library = (members: object): Error => Object.assign(new Error(secret), members);
const thrown: Readonly<Record<string, () => Error>> = {
  ...Object.fromEntries(Object.keys(errors.codes).map((code) => [code, () => errors(code as keyof typeof errors.codes)])),
  busy_shop: () => errors('shop_full', { retryAfterSeconds: 9 }),
  own: () => new IdpError('not_found'),
  library: () => library({ status: 404 }),
  fetched: () => library({ status: 404, statusCode: 404 }),
  exposed: () => library({ status: 404, expose: false }),
  http: () => Object.assign(new Error('no such shelf'), { status: 404, statusCode: 404, expose: true }),
};

const grantType = 'urn:example:shop';
const shop: Extension = {
  name: 'shop',
  errorCodes: errors.codes,
  routes(router) {
    router.get('/shop/:name', (ctx) => {
      throw thrown[String(ctx.params.name)]?.();
    });
    router.get('/thrown-by-koa', (ctx) => ctx.throw(418, 'a teapot'));
    router.postWithoutCsrf('/form', form, () => {});
  },
  grantTypes: {
    [grantType]: () => ({
      parameters: ['name'],
      exchange: ({ parameters: { name = '' } }) => {
        throw thrown[name]?.();
      },
    }),
  },
};
const metadata = { grant_types: [grantType] };
const seed = {
  ...testSeed,
  clients: [...testSeed.clients, { id: 'kiosk', name: 'Kiosk', secret: 'kiosk-secret', metadata, allowedScopes: ['openid'] }],
};
const service = useIdp({ seed, extensions: [shop] });
afterEach(() => {
  service.lines.length = 0;
  service.logged.length = 0;
});

const get = async (path: string) => {
  const answer = await fetch(service.issuer + path, { headers: { accept: 'application/json' } });
  return [answer.status, await answer.json()];
};
const generic = {
  error: 'server_error',
  error_description: 'The service could not answer. Try again later, or send its operator the time of the request.',
};
const away = { ...generic, error: 'temporarily_unavailable' };

describe('an error at a route', () => {
  test.each(['library', 'exposed'])(
    'of some library with a status of its own is 500, and the log alone tells what it was: %s',
    async (name) => {
      expect(await get(`/shop/${name}`)).toEqual([500, generic]);
      expect(service.logged).toEqual([[expect.objectContaining({ err: expect.objectContaining({ message: secret }) }), 'request failed']]);
    },
  );

  test('that says its message is for callers is told, and so is one of the service', async () => {
    expect(await get('/shop/http')).toEqual([404, { error: 'invalid_request', error_description: 'no such shelf' }]);
    expect(await get('/thrown-by-koa')).toEqual([418, { error: 'invalid_request', error_description: 'a teapot' }]);
    expect(await get('/shop/own')).toEqual([
      404,
      { error: 'not_found', error_description: 'There is no such record. Check the id, and the tenant in the path.' },
    ]);
    expect(service.logged).toEqual([]);
  });

  test.each([
    ['gzip', 400, 'the body cannot be decoded'],
    ['no-such-coding', 415, 'The Content-Encoding of the body is not supported. Send gzip, deflate, br or none.'],
  ])('RFC 9110 §8.4: of a form that cannot be decoded is told in words of ours: %s', async (coding, status, description) => {
    const headers = { 'content-type': formTypes[0], 'content-encoding': coding, accept: 'application/json' };
    const answer = await fetch(`${service.issuer}/form`, { method: 'POST', body: 'a=b', headers });
    expect([answer.status, await answer.json()]).toEqual([status, { error: 'invalid_request', error_description: description }]);
  });

  test.each(['application/json', 'text/html'])('RFC 9111 §3: is stored by no cache, as %s', async (accept) => {
    for (const path of ['/shop/shop_unknown', '/shop/http', '/shop/library', '/shop/shop_away']) {
      const { status, headers } = await fetch(service.issuer + path, { headers: { accept } });
      expect([path, status >= 400, headers.get('cache-control')]).toEqual([path, true, 'no-store']);
    }
  });

  test('of the extension with status 503 is logged: nobody told of it before', async () => {
    expect(await get('/shop/shop_away')).toEqual([503, away]);
    expect(service.logged).toEqual([[expect.objectContaining({ err: expect.objectContaining({ code: 'shop_away' }) }), 'request failed']]);
  });
});

describe('house §2: an error of a grant type is answered the same at each door', () => {
  const shopAt = (type: string, name: string) =>
    answerOf(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { ...credentialsOf('kiosk'), 'content-type': type },
      body: new URLSearchParams({ grant_type: grantType, name }).toString(),
    });
  const answers: readonly (readonly [string, number, object])[] = [
    ['shop_invalid', 400, { error: 'invalid_request', error_description: 'That is no shop.' }],
    ['shop_closed', 403, { error: 'shop_closed', error_description: 'The shop is closed.' }],
    ['shop_unknown', 404, { error: 'shop_unknown', error_description: 'There is no such shop.' }],
    ['shop_taken', 409, { error: 'shop_taken', error_description: 'The shop is taken.' }],
    ['shop_full', 429, { error: 'shop_full', error_description: 'The shop is full.' }],
    ['own', 404, { error: 'not_found', error_description: 'There is no such record. Check the id, and the tenant in the path.' }],
    ['http', 404, { error: 'invalid_request', error_description: 'no such shelf' }],
    ['shop_away', 503, away],
    ['shop_broken', 502, generic],
  ];

  test.each(answers)('%s', async (name, status, body) => {
    const [plain, other] = await Promise.all(formTypes.map((type) => shopAt(type, name)));
    expect(plain).toMatchObject({ status, body });
    expect(other).toEqual(plain);
    const logged =
      status < 500
        ? []
        : formTypes.map(() => [expect.objectContaining({ err: expect.objectContaining({ code: name }) }), 'request failed']);
    expect(service.logged).toEqual(logged);
  });

  test.each(formTypes.flatMap((type) => [[type, 'library'] as const, [type, 'fetched'] as const]))(
    'one of some library with a status of its own is 500, and in the log: %s, %s',
    async (type, name) => {
      expect(await shopAt(type, name)).toMatchObject({ status: 500, body: { error: 'server_error' } });
      expect(service.logged).toEqual([[expect.objectContaining({ err: expect.objectContaining({ message: secret }) }), 'request failed']]);
    },
  );

  test.each(formTypes)('one of some library tells nothing, and when to come again is told: %s', async (type) => {
    const refused = await shopAt(type, 'library');
    expect(refused).toMatchObject({ status: 500, body: { error: 'server_error' } });
    expect(JSON.stringify(refused)).not.toContain('secret');
    const { headers } = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { ...credentialsOf('kiosk'), 'content-type': type },
      body: new URLSearchParams({ grant_type: grantType, name: 'busy_shop' }).toString(),
    });
    expect(headers.get('retry-after')).toBe('9');
  });
});
