/**
 * Introspection and userinfo are answered before a Koa context exists, unless something needs one. `both-ways.test.ts` compares the answers
 * with those of a host's Koa app.
 */
import { beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { Extension } from 'tenant-idp/extension';
import { basic, obtainTokens, postForm } from '../../support/client/agent.js';
import { rawRequest } from '../../support/client/raw-request.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { until } from '../../support/time/until.js';

const seen: string[] = [];
const watch: Extension = {
  name: 'watch',
  around: {
    userinfo: () => (_ctx, next) => {
      seen.push('userinfo');
      return next();
    },
    introspection: {
      concerns: (headers) => headers['x-watched'] !== undefined,
      middleware: () => (_ctx, next) => {
        seen.push('introspection');
        return next();
      },
    },
  },
};
const service = useIdp();
const watched = useIdp({ extensions: [watch] });
const memory = memoryArtifacts();
const held: (() => void)[] = [];
const busy = useIdp({
  limits: { requestsAtOnce: 10 },
  artifacts: {
    ...memory,
    async read(wanted) {
      await new Promise<void>((resolve) => held.push(resolve));
      return memory.read(wanted);
    },
  },
});

let token: string;
let contexts: ReturnType<typeof jest.spyOn>;
beforeAll(async () => {
  token = (await obtainTokens(service.issuer, { scope: 'openid profile' })).tokens.access_token;
  contexts = jest.spyOn(service.idp.provider, 'createContext');
});
beforeEach(() => void contexts.mockClear());

const userinfo = (headers: Record<string, string> = {}, query = '', { issuer } = service) =>
  fetch(`${issuer}/connect/userinfo${query}`, { headers: { authorization: `Bearer ${token}`, ...headers } });

const secret = { authorization: basic('web', 'web-secret') };
const introspect = (fields: Record<string, string>, headers: Record<string, string> = {}, { issuer } = service) =>
  postForm(`${issuer}/connect/introspect`, fields, { ...secret, ...headers });

describe('introspection', () => {
  test.each<[string, number, number, Record<string, string>, Record<string, string>]>([
    ['a live token', 200, 0, {}, {}],
    ['an unknown token', 200, 0, { token: 'x' }, {}],
    ['the origin of the client', 200, 0, {}, { origin: new URL(redirectUri).origin }],
    ['a secret in the form', 200, 0, { client_id: 'web', client_secret: 'web-secret' }, { authorization: '' }],
    ['a wrong secret', 401, 1, {}, { authorization: basic('web', 'wrong') }],
    ['no token', 400, 1, { token: '' }, {}],
    ['a caller that prefers a JWT', 200, 1, {}, { accept: 'application/token-introspection+jwt' }],
  ])('%s', async (_what, status, count, fields, headers) => {
    const { authorization, ...others } = { ...secret, ...headers };
    const sent = authorization === '' ? others : { ...others, authorization };
    const answer = await postForm(`${service.issuer}/connect/introspect`, { token, ...fields }, sent);
    expect(answer).toMatchObject({ status });
    expect(contexts).toHaveBeenCalledTimes(count);
    if (headers.accept) expect(answer.headers.get('content-type')).toBe(headers.accept);
  });
});

describe('without a context', () => {
  test.each<[string, Record<string, string>]>([
    ['a request of a program', {}],
    ['a request from the origin of the client', { origin: new URL(redirectUri).origin }],
    ['one that accepts JSON', { accept: 'application/json' }],
  ])('%s', async (_what, headers) => {
    const answer = await userinfo(headers);
    expect(await answer.json()).toMatchObject({ name: 'Alice Adams' });
    expect(answer.headers.get('access-control-allow-origin')).toBe(headers.origin ?? '*');
    expect(contexts).not.toHaveBeenCalled();
  });
});

describe('with a context', () => {
  test.each<[string, number, Record<string, string>, string]>([
    ['a query', 200, {}, '?x'],
    ['an unusual Accept', 200, { accept: 'image/png, */*' }, ''],
    ['an origin of nobody', 400, { origin: 'https://elsewhere.example' }, ''],
    ['an unknown token', 401, { authorization: 'Bearer unknown' }, ''],
    ['no token', 401, { authorization: '' }, ''],
  ])('%s', async (_what, status, headers, query) => {
    expect(await userinfo(headers, query)).toMatchObject({ status });
    expect(contexts).toHaveBeenCalledTimes(1);
  });
});

test('a request with two Authorization headers is refused', async () => {
  const { host } = new URL(service.issuer);
  const lines = ['GET /connect/userinfo HTTP/1.1', `Host: ${host}`, 'Connection: close'];
  const answer = await rawRequest(service.issuer, [...lines, `Authorization: Bearer ${token}`, 'Authorization: Bearer x']);
  expect(answer.status).toBe(400);
});

test('middleware of an extension around userinfo gets every request', async () => {
  await userinfo({}, '', watched);
  expect(seen.splice(0)).toEqual(['userinfo']);
});

test('middleware around introspection that names its requests gets them alone', async () => {
  for (const headers of [{}, { 'x-watched': 'yes' }] as Record<string, string>[])
    expect(await introspect({ token: 'x' }, headers, watched)).toMatchObject({ status: 200, json: { active: false } });
  expect(seen.splice(0)).toEqual(['introspection']);
});

test('a request takes a place among the requests in progress once, and keeps it when it gets a context', async () => {
  // Unknown tokens are answered with a context.
  const value = `${token.slice(0, -4)}AAAA`;
  const ask = async () => (await userinfo({ authorization: `Bearer ${value}` }, '', busy)).status;
  const admitted = Array.from({ length: 10 }, ask);
  await until(() => held.length === 10);
  expect(await Promise.all([ask(), ask()])).toEqual([503, 503]);
  const release = setInterval(() => held.splice(0).forEach((go) => void go()), 5);
  expect(await Promise.all(admitted)).toEqual(Array(10).fill(401));
  clearInterval(release);
  const told = busy.lines.filter(({ message }) => message.startsWith('this node')).map(({ message, fields }) => [message, fields]);
  expect(told).toEqual([
    ['this node refuses requests, because too many are in progress', { requestsAtOnce: 10 }],
    ['this node accepts requests again', { refused: 2 }],
  ]);
});
