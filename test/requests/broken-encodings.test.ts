/** A03: decoders refuse malformed input, over every route and every operation. No decoder repairs it, and the service stores none of it. */
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';

const { beforeAll, describe, expect, test } = await import('@jest/globals');
const { administer, adminSeed, adminToken, tenantIds } = await import('../support/administration/admin.js');
const { basic } = await import('../support/client/agent.js');
const { rawRequest } = await import('../support/client/raw-request.js');
const { useIdp } = await import('../support/service/use-idp.js');

beforeAll(forgetRoutes);
const service = useIdp({ seed: adminSeed, limits: { adminRequestsPerMinute: 100_000 } });

const form = 'application/x-www-form-urlencoded';
const broken = ['%', '%zz', '%e5', '%c0%af', '%ed%a0%80', '%f4%90%80%80'];

/** Whether a route reads only the path of the request. */
const isDocument = (path: string) => path.includes('/.well-known/') || /\/(jwks|certs)$/.test(path);
const pathOf = (path: string) => path.replace(/:\w+|\{\w+\}/g, 'x').replace(/\(.*\)/, '');

test('the query of every route', async () => {
  const base = new URL(service.issuer).pathname.replace(/\/$/, '');
  const routes = recordedRoutes().filter(({ path }) => !isDocument(path));
  expect(routes.length).toBeGreaterThan(60);
  for (const { path, methods } of routes)
    for (const method of methods.filter((one) => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(one)))
      for (const query of ['a=%', 'a=%e5', '%zz']) {
        const { status, body } = await rawRequest(service.issuer, [
          `${method} ${base}${pathOf(path)}?${query} HTTP/1.1`,
          'Host: x',
          'Accept: application/json',
        ]);
        expect([method, path, query, status]).toEqual([method, path, query, 400]);
        // A page states in its own words that the service cannot answer the request.
        expect([path, /percent-encoding|<html/.test(body)]).toEqual([path, true]);
      }
});

describe('the form of every endpoint that a client authenticates at', () => {
  test.each([
    '/connect/token',
    '/connect/introspect',
    '/connect/revocation',
    '/connect/par',
    '/connect/ciba',
    '/connect/authorize',
    '/connect/endsession',
  ])('%s', async (path) => {
    const post = (body: string | Uint8Array<ArrayBuffer>, type = form) =>
      fetch(service.issuer + path, {
        method: 'POST',
        body,
        redirect: 'manual',
        headers: { 'content-type': type, authorization: basic('web', 'web-secret'), accept: 'application/json' },
      });
    const bodies = [
      ...broken.map((ending) => `token=x&grant_type=client_credentials&a=${ending}`),
      Uint8Array.from(Buffer.from('token=x&a=å', 'latin1')),
    ];
    for (const body of bodies)
      for (const type of [form, `${form}; charset=utf-8`, `${form};charset=iso-8859-1`]) {
        const answer = await post(body, type);
        expect([body, type, answer.status, await answer.json()]).toEqual([
          body,
          type,
          400,
          expect.objectContaining({ error: 'invalid_request' }),
        ]);
      }
    const whole = await (await post('token=x&grant_type=client_credentials&scope=orders.read&client_id=web&a=%25&b=%C3%A5&c=å')).text();
    expect(whole).not.toMatch(/percent-encoding|failed to parse/);
  });
});

describe('JSON of every operation', () => {
  let root: Awaited<ReturnType<typeof administer>>;
  let token: string;
  let tid: string;
  beforeAll(async () => {
    token = await adminToken(service.issuer, 'root');
    root = administer(service.issuer, token);
    tid = (await tenantIds(root)).Acme ?? '';
  });
  const send = (method: string, path: string, body: Uint8Array<ArrayBuffer> | string, type = 'application/json') =>
    fetch(`${root.base}${path}`, { method, body, headers: { authorization: `Bearer ${token}`, 'content-type': type } });

  test('bytes that are not UTF-8, whatever the charset says', async () => {
    const document = (await root('/openapi.json')).json;
    const operations = Object.entries<Record<string, { requestBody?: unknown }>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) => (requestBody ? [[method.toUpperCase(), path] as const] : [])),
    );
    expect(operations.length).toBeGreaterThan(30);
    const name = Uint8Array.from(Buffer.from('{"name":"J\u00fcrgen","givenName":"J\u00fcrgen"}', 'latin1'));
    let refused = 0;
    for (const [method, path] of operations)
      for (const type of ['application/json', 'application/json; charset=iso-8859-1', 'application/json; charset=utf-8']) {
        const answer = await send(method, path.replace('{tid}', tid).replace(/\{\w+\}/g, crypto.randomUUID()), name, type);
        // An unknown record is reported first.
        if (answer.status === 404) continue;
        refused += 1;
        const json = (await answer.json()) as object;
        expect([method, path, type, answer.status, json]).toEqual([
          method,
          path,
          type,
          400,
          expect.objectContaining({ code: 'invalid_request' }),
        ]);
      }
    expect(refused).toBeGreaterThan(operations.length * 2);
  });

  const create = async (body: string) => {
    const answer = await send('POST', `/tenants/${tid}/persons`, body);
    return [answer.status, ((await answer.json()) as { errors?: readonly object[] }).errors] as const;
  };
  const alice = '"givenName":"Alice","familyName":"Ek"';

  test.each([
    ['{"givenName":"a\\ud800b","familyName":"Ek"}', '/givenName', 'a text without U+D800: remove the character at position 2'],
    [`{${alice},"attributes":{"a":["x","\\udc00"]}}`, '/attributes/a/1', 'a text without U+DC00: remove the character at position 1'],
    [`{${alice},"attributes":{"k\\ud83d":1}}`, '/attributes/k\ufffd', 'a text without U+D83D: remove the character at position 2'],
    [`{${alice},"attributes":{"n":1e999}}`, '/attributes/n', 'a number below 1.8e308'],
    [`{${alice},"attributes":{"n":[[-1e400]]}}`, '/attributes/n/0/0', 'a number below 1.8e308'],
  ])('T3-IN-JSON: %s is refused at %s', async (body, pointer, expected) => {
    expect(await create(body)).toEqual([422, [{ pointer, expected }]]);
  });

  test.each([
    ['{"__proto__":{"givenName":"a"}}', 422, '/__proto__', 'another name'],
    [`{${alice},"attributes":{"a":[1,{"__proto__":1}]}}`, 422, '/attributes/a/1/__proto__', 'another name'],
    [`{${alice},"attributes":{"a/b":{"constructor":{"prototype":1}}}}`, 422, '/attributes/a~1b/constructor', 'another name'],
    [`\ufeff\ufeff{${alice}}`, 400, '', 'JSON in UTF-8 with one byte order mark (U+FEFF) at most'],
    ['"text"', 400, '', 'a JSON object or list'],
    [`{${alice}`, 400, '', 'JSON in UTF-8'],
  ])('E-G: %s is refused with what is wrong', async (body, status, pointer, expected) => {
    expect(await create(body)).toEqual([status, [{ pointer, expected }]]);
  });

  test('a byte order mark is skipped, and whole pairs of surrogates are one character', async () => {
    expect((await create(`\ufeff{"givenName":"\\ud83d\\ude00","familyName":"Ek"}`))[0]).toBe(201);
  });
});

test('two Authorization headers are refused, whichever comes first', async () => {
  const line = (id: string) => `Authorization: ${basic(id, `${id}-secret`)}`;
  const body = 'grant_type=client_credentials';
  const base = new URL(service.issuer).pathname.replace(/\/$/, '');
  const headers = [`POST ${base}/connect/token HTTP/1.1`, 'Host: x', `Content-Type: ${form}`];
  expect((await rawRequest(service.issuer, [...headers, line('service')], body)).status).toBe(200);
  const twice = await rawRequest(service.issuer, [...headers, line('service'), line('web')], body);
  expect([twice.status, JSON.parse(twice.body).error]).toEqual([400, 'invalid_request']);
});
