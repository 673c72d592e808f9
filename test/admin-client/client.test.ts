/** `tenant-idp/admin-client`: a token is kept, requests are retried if that is safe, and errors have codes. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { isAdminApiError } from 'tenant-idp/admin-client';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { administrator, administratorSeed, tenantIdOf } from './administrator.js';

const service = useIdp({ seed: administratorSeed });
afterEach(() => backToPresent());

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

/** Outcome of one request to the API. */
type Fate = 'goes through' | 'is lost' | 'its answer is lost' | Response;

/** Returns a `fetch` that records requests. `fates` are the outcomes of the requests to the API, in order. */
function watched(...fates: readonly Fate[]) {
  const sent: Sent[] = [];
  const toApi = (): Sent[] => sent.filter(({ path }) => path.startsWith('/idp/api/v1/'));
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const request = { method: init.method ?? 'GET', path: new URL(url).pathname, headers: new Headers(init.headers) };
    sent.push(request);
    const fate = request.path.startsWith('/idp/api/v1/') ? (fates[toApi().length - 1] ?? 'goes through') : 'goes through';
    if (fate === 'is lost') throw new TypeError('fetch failed');
    if (fate instanceof Response) return fate.clone();
    const answer = await globalThis.fetch(url, init);
    if (fate === 'its answer is lost') throw new TypeError('fetch failed');
    return answer;
  };
  return { fetch, toApi, tokenRequests: () => sent.filter(({ path }) => path === '/connect/token').length };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ status, code, title: code }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });

const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing',
    (error: unknown) => error,
  );

describe('RFC 6749 §4.4: the access token', () => {
  test('is asked for once, however many requests want it', async () => {
    const { fetch, tokenRequests } = watched();
    const admin = administrator(service.issuer, { fetch });
    const tid = await tenantIdOf(service.idp, 'Acme');
    const all = await Promise.all(Array.from({ length: 20 }, () => admin.request('GET /tenants/{tid}', { params: { tid } })));
    expect(all.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, () => 'Acme'));
    expect(tokenRequests()).toBe(1);
  });

  test('is replaced shortly before its end', async () => {
    const { fetch, tokenRequests } = watched();
    const admin = administrator(service.issuer, { fetch });
    const tid = await tenantIdOf(service.idp, 'Acme');
    const read = () => admin.request('GET /tenants/{tid}', { params: { tid } });
    passTime(0);
    await read();
    passTime(3560);
    await read();
    expect(tokenRequests()).toBe(1);
    passTime(3575);
    await read();
    expect(tokenRequests()).toBe(2);
  });

  test('is replaced once when the service refuses it', async () => {
    const { fetch, tokenRequests, toApi } = watched(refusal(401, 'invalid_token'));
    const admin = administrator(service.issuer, { fetch });
    const tid = await tenantIdOf(service.idp, 'Acme');
    expect(await admin.request('GET /tenants/{tid}', { params: { tid } })).toMatchObject({ name: 'Acme' });
    expect([tokenRequests(), toApi().length]).toEqual([2, 2]);

    const never = watched(...Array.from({ length: 9 }, () => refusal(401, 'invalid_token')));
    const refused = administrator(service.issuer, { fetch: never.fetch });
    expect(await thrownBy(refused.request('GET /tenants/{tid}', { params: { tid } }))).toMatchObject({
      status: 401,
      code: 'invalid_token',
    });
    expect(never.toApi()).toHaveLength(2);
  });

  test('that the client may not have is an error with the code of the token endpoint', async () => {
    const wrong = administrator(service.issuer, { clientSecret: 'wrong' });
    expect(await thrownBy(wrong.request('GET /tenants/{tid}', { params: { tid: 'x' } }))).toMatchObject({
      status: 401,
      code: 'invalid_client',
    });
    const more = administrator(service.issuer, { scopes: ['idp.nothing:read'] });
    expect(await thrownBy(more.request('GET /tenants/{tid}', { params: { tid: 'x' } }))).toMatchObject({
      status: 400,
      code: 'invalid_scope',
    });
  });
});

describe('RFC 9457: refusals are errors', () => {
  test('with status, code, places and request id', async () => {
    const admin = administrator(service.issuer);
    const tid = await tenantIdOf(service.idp, 'Acme');
    const error = await thrownBy(admin.request('GET /tenants/{tid}', { params: { tid: 'unknown' } }));
    expect(isAdminApiError(error)).toBe(true);
    expect(error).toMatchObject({ name: 'AdminApiError', status: 404, code: 'not_found', requestId: expect.any(String) });
    const wrong = admin.request('PATCH /tenants/{tid}', { params: { tid }, body: { name: 7 as never } });
    expect(await thrownBy(wrong)).toMatchObject({ code: 'invalid_record', problems: [{ pointer: '/name', expected: expect.any(String) }] });
  });

  test('an answer of somebody in between is `unexpected_answer`, none at all `unreachable`', async () => {
    const tid = await tenantIdOf(service.idp, 'Acme');
    const read = (fate: Fate) =>
      thrownBy(
        administrator(service.issuer, { fetch: watched(fate).fetch, retries: 0 }).request('GET /tenants/{tid}', { params: { tid } }),
      );
    expect(await read(new Response('<h1>Bad gateway</h1>', { status: 502 }))).toMatchObject({ status: 502, code: 'unexpected_answer' });
    expect(await read(new Response('<h1>Welcome</h1>'))).toMatchObject({ status: 200, code: 'unexpected_answer' });
    expect(await read('is lost')).toMatchObject({ status: 0, code: 'unreachable', cause: expect.any(TypeError) });
  });

  test('a parameter that would change the path is not sent', async () => {
    const { fetch, toApi } = watched();
    const admin = administrator(service.issuer, { fetch });
    for (const tid of ['', '.', '..']) await expect(admin.request('GET /tenants/{tid}', { params: { tid } })).rejects.toThrow('params.tid');
    expect(await thrownBy(admin.request('GET /tenants/{tid}', { params: { tid: 'a/../b?c#d' } }))).toMatchObject({ code: 'not_found' });
    expect(toApi().map(({ path }) => path)).toEqual(['/idp/api/v1/tenants/a%2F..%2Fb%3Fc%23d']);
  });
});

describe('what is sent again', () => {
  test('a POST, with the same key, so that it is done once', async () => {
    const { fetch, toApi } = watched('is lost', 'its answer is lost');
    const made = await administrator(service.issuer, { fetch }).request('POST /tenants', { body: { name: 'Initech' } });
    expect(made).toMatchObject({ name: 'Initech', status: 'active' });
    const keys = toApi().map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toEqual([expect.any(String), keys[0], keys[0]]);
    expect((await service.idp.directory.tenants.find({ limit: 100 })).filter(({ name }) => name === 'Initech')).toHaveLength(1);
  });

  test.each(['is lost', refusal(503, 'temporarily_unavailable')] as const)('a GET', async (fate) => {
    const { fetch, toApi } = watched(fate, fate);
    const tid = await tenantIdOf(service.idp, 'Acme');
    expect(await administrator(service.issuer, { fetch }).request('GET /tenants/{tid}', { params: { tid } })).toMatchObject({
      name: 'Acme',
    });
    expect(toApi()).toHaveLength(3);
  });

  test('at most as often as `retries` says', async () => {
    const { fetch, toApi } = watched(...Array.from({ length: 9 }, () => 'is lost' as const));
    const admin = administrator(service.issuer, { fetch, retries: 2 });
    expect(await thrownBy(admin.request('GET /tenants/{tid}', { params: { tid: 'x' } }))).toMatchObject({ code: 'unreachable' });
    expect(toApi()).toHaveLength(3);
  });

  test('not a change whose answer was lost: another may have changed the record since', async () => {
    const { fetch, toApi } = watched('its answer is lost');
    const tid = await tenantIdOf(service.idp, 'Acme');
    const changing = administrator(service.issuer, { fetch }).request('PATCH /tenants/{tid}', { params: { tid }, body: { locale: 'nb' } });
    expect(await thrownBy(changing)).toMatchObject({ code: 'unreachable' });
    expect(toApi()).toHaveLength(1);
  });

  test('anything that came too often, after the seconds of `Retry-After`', async () => {
    const { fetch, toApi } = watched(refusal(429, 'rate_limited', { 'retry-after': '0' }));
    const tid = await tenantIdOf(service.idp, 'Acme');
    const changing = administrator(service.issuer, { fetch }).request('PATCH /tenants/{tid}', { params: { tid }, body: { locale: 'nb' } });
    expect(await changing).toMatchObject({ locale: 'nb' });
    expect(toApi()).toHaveLength(2);

    const long = watched(refusal(429, 'rate_limited', { 'retry-after': '3600' }));
    const admin = administrator(service.issuer, { fetch: long.fetch });
    expect(await thrownBy(admin.request('GET /tenants/{tid}', { params: { tid } }))).toMatchObject({ status: 429, retryAfter: 3600 });
    expect(long.toApi()).toHaveLength(1);
  });

  test('nothing that the caller gave up', async () => {
    const giving = new AbortController();
    const { fetch, toApi } = watched();
    const admin = administrator(service.issuer, {
      fetch: (url, init) => {
        if (url.includes('/api/v1/')) giving.abort(new Error('given up'));
        return fetch(url, init);
      },
    });
    const { signal } = giving;
    await expect(admin.request('GET /tenants/{tid}', { params: { tid: 'x' }, signal })).rejects.toThrow('given up');
    expect(toApi()).toHaveLength(1);
  });
});

test('RFC 9110 §13.1.1: a change with the tag of a state that is over is refused', async () => {
  const admin = administrator(service.issuer);
  const params = { tid: await tenantIdOf(service.idp, 'Globex') };
  const { etag = '' } = await admin.exchange('GET /tenants/{tid}', { params });
  expect(await admin.request('PATCH /tenants/{tid}', { params, body: { locale: 'da' }, ifMatch: etag })).toMatchObject({ locale: 'da' });
  const late = admin.request('PATCH /tenants/{tid}', { params, body: { locale: 'de' }, ifMatch: etag });
  expect(await thrownBy(late)).toMatchObject({ status: 412, code: 'precondition_failed' });
});

describe('lists', () => {
  test('go on page by page, as far as they are asked for', async () => {
    const { fetch, toApi } = watched();
    const admin = administrator(service.issuer, { fetch });
    const tid = await tenantIdOf(service.idp, 'Acme');
    for (let count = 0; count < 5; count += 1)
      await admin.request('POST /tenants/{tid}/groups', { params: { tid }, body: { name: `Team ${count}` } });
    const before = toApi().length;
    const names: string[] = [];
    for await (const { name } of admin.each('GET /tenants/{tid}/groups', { params: { tid }, query: { limit: 2 } })) names.push(name);
    expect(names.sort()).toEqual(['Sales', 'Team 0', 'Team 1', 'Team 2', 'Team 3', 'Team 4']);
    expect(toApi().length - before).toBe(3);

    for await (const { name } of admin.each('GET /tenants/{tid}/groups', { params: { tid }, query: { limit: 2 } })) {
      expect(names).toContain(name);
      break;
    }
    expect(toApi().length - before).toBe(4);
  });
});
