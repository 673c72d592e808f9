/** Threat M18: each request takes a place before the service works for it, at each endpoint and door, with and without a body. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import Koa from 'koa';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Extension, form } from 'tenant-idp/extension';
import { basic } from '../support/client/agent.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { redirectUri } from '../support/service/seed.js';
import { until } from '../support/time/until.js';

const LIMIT = 10;
const SENT = 20;

interface Underway {
  readonly url: string | undefined;
}
/** Requests for which the service works: they wait for a store, or for the handler of a route. */
const working = new Set<Underway>();
const waiting: (() => void)[] = [];
const requests = new AsyncLocalStorage<Underway>();
let isHolding = false;
async function hold(): Promise<void> {
  const request = requests.getStore();
  if (!isHolding || request === undefined) return;
  working.add(request);
  await new Promise<void>((resolve) => waiting.push(resolve));
}
function letGo(): void {
  isHolding = false;
  working.clear();
  for (const resolve of waiting.splice(0)) resolve();
}
/** Gives calls of the held store, and calls on a busy machine, enough time. The service also answers 503 to a call that takes too long. */
function giveTime(): void {
  const start = setTimeout;
  const later = (run: () => void, milliseconds = 0) => start(run, milliseconds * 100);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(later as typeof setTimeout);
}
const held = <Store extends object>(store: Store, names: readonly (keyof Store)[]): Store => {
  const methods = names.map((name) => {
    const call = store[name] as (...given: unknown[]) => unknown;
    return [name, async (...given: unknown[]) => hold().then(() => call.apply(store, given))];
  });
  return { ...store, ...Object.fromEntries(methods) };
};

/** Routes of a host: a form, a body that no handler reads, and a body that the handler reads itself. */
const shop: Extension = {
  name: 'shop',
  routes(router) {
    router.postWithoutCsrf('/shop/form', form, hold);
    router.postWithoutCsrf('/shop/unread', hold);
    router.delete('/shop/unread', hold);
    router.get('/shop/free', hold);
    router.postWithoutCsrf('/shop/own', async (ctx) => {
      let bytes = 0;
      for await (const piece of ctx.req) bytes += (piece as Buffer).length;
      await hold();
      ctx.body = String(bytes);
    });
  },
};

const token = `${'x'.repeat(11)}a${'y'.repeat(32)}`;
const FORM = 'application/x-www-form-urlencoded';
/** oidc-provider answers forms with this type, because the service answers only the common types itself. */
const FORM_OF_PROVIDER = `${FORM}; charset="utf-8"`;
const client = { authorization: basic('web', 'web-secret') };
const bearer = { authorization: `Bearer ${token}` };
const request = new URLSearchParams({
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  nonce: 'n',
  code_challenge: 'x'.repeat(43),
  code_challenge_method: 'S256',
}).toString();

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
const ofForm = (path: string, body: string, type: string, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  path,
  headers: { 'content-type': type, ...headers },
  body,
});
const forms: [string, string, string, Record<string, string>?][] = [
  ['token', '/connect/token', `grant_type=refresh_token&refresh_token=${'x'.repeat(11)}r${'y'.repeat(32)}`, client],
  ['introspection', '/connect/introspect', `token=${token}`, client],
  ['revocation', '/connect/revocation', `token=${token}`, client],
  ['PAR', '/connect/par', request, client],
  ['userinfo by POST', '/connect/userinfo', `access_token=${token}`],
  ['authorization by POST', '/connect/authorize', request],
  ['a form of a host', '/shop/form', 'a=b'],
  ['an unread body', '/shop/unread', 'a=b'],
  ['a body that a route reads', '/shop/own', 'a=b'],
];
const others: [string, Sent][] = [
  ['userinfo', { method: 'GET', path: '/connect/userinfo', headers: bearer, body: '' }],
  ['authorization', { method: 'GET', path: `/connect/authorize?${request}`, headers: {}, body: '' }],
  ['authorization by HEAD', { method: 'HEAD', path: `/connect/authorize?${request}`, headers: {}, body: '' }],
  ['a DELETE', { method: 'DELETE', path: '/shop/unread', headers: {}, body: '' }],
  ['the admin API by GET', { method: 'GET', path: '/idp/api/v1/tenants', headers: bearer, body: '' }],
  [
    'the admin API by POST',
    { method: 'POST', path: '/idp/api/v1/tenants', headers: { ...bearer, 'content-type': 'application/json' }, body: '{"name":"x"}' },
  ],
];
const endpoints: [string, Sent][] = [
  ...forms.flatMap(([name, path, body, headers]): [string, Sent][] => [
    [name, ofForm(path, body, FORM, headers)],
    [`${name}, by oidc-provider’s door`, ofForm(path, body, FORM_OF_PROVIDER, headers)],
  ]),
  ...others,
  ...others
    .filter(([, { body }]) => body === '')
    .map(([name, sent]): [string, Sent] => [`${name}, with a body that nobody reads`, { ...sent, body: 'x' }]),
];

/** A request under way. `finish` sends what a slow client has left to send. */
interface Started {
  readonly status: Promise<number | undefined>;
  finish(): void;
  abort(): void;
}
type Send = (sent: Sent, isSlow?: boolean) => Started;

const startOf = ({ method, path, headers }: Sent, more: readonly string[]): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...more,
    '\r\n',
  ].join('\r\n');

let service: TestIdp;
let http2: Http2Server;
let session: ClientHttp2Session;
const sockets = new Set<Socket>();

function overHttp1(text: string, body: string, isSlow: boolean): Started {
  const socket = connect(Number(new URL(service.issuer).port), '127.0.0.1');
  sockets.add(socket);
  socket.on('error', () => {});
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    answer += part;
  });
  const rest = isSlow ? body.slice(-1) : '';
  socket.write(text + body.slice(0, body.length - rest.length));
  const status = once(socket, 'close').then(() => {
    sockets.delete(socket);
    const [, found] = /HTTP\/1\.1 ([2-5]\d\d) /.exec(answer) ?? [];
    return found === undefined ? undefined : Number(found);
  });
  return { status, finish: () => void socket.write(rest), abort: () => void socket.destroy() };
}

function overHttp2(sent: Sent, hasLength: boolean, isSlow: boolean): Started {
  const { method, path, headers, body } = sent;
  const stream = session.request(
    { ':method': method, ':path': path, ...headers, ...(hasLength && body !== '' && { 'content-length': body.length }) },
    { endStream: body === '' },
  );
  stream.on('error', () => {});
  let status: number | undefined;
  stream.on('response', (answer) => {
    status = answer[':status'];
  });
  const closed = once(stream, 'close').then(() => status);
  stream.resume();
  if (body !== '' && isSlow) stream.write(body.slice(0, -1));
  else if (body !== '') stream.end(body);
  return { status: closed, finish: () => void stream.end(body.slice(-1)), abort: () => stream.close(8) };
}

const sizeOf = (body: string): string[] => (body === '' ? [] : [`content-length: ${body.length}`]);
const ways: [string, Send][] = [
  ['HTTP/1', (sent, isSlow = false) => overHttp1(startOf(sent, sizeOf(sent.body)), sent.body, isSlow)],
  [
    'HTTP/1 with Expect',
    (sent, isSlow = false) => overHttp1(startOf(sent, ['expect: 100-continue', ...sizeOf(sent.body)]), sent.body, isSlow),
  ],
  [
    'HTTP/1 in chunks',
    (sent, isSlow = false) =>
      sent.body === ''
        ? overHttp1(startOf(sent, []), '', false)
        : overHttp1(startOf(sent, ['transfer-encoding: chunked']), `${sent.body.length.toString(16)}\r\n${sent.body}\r\n0\r\n\r\n`, isSlow),
  ],
  ['HTTP/2', (sent, isSlow = false) => overHttp2(sent, true, isSlow)],
  ['HTTP/2 without a length', (sent, isSlow = false) => overHttp2(sent, false, isSlow)],
];

const statusesOf = async (started: readonly Started[]): Promise<(number | undefined)[]> => Promise.all(started.map(({ status }) => status));

/** Waits until no request has a place. Requests that were aborted have places until the service has worked for them. */
async function allFree(): Promise<void> {
  const sent: Sent = { method: 'GET', path: '/shop/free', headers: {}, body: '' };
  await until(async () => {
    isHolding = true;
    const started = Array.from({ length: LIMIT }, () => overHttp1(startOf(sent, []), '', false));
    let answered = 0;
    for (const { status } of started) void status.then(() => (answered += 1));
    const isAtWork = () => [...working].filter(({ url }) => url === sent.path).length;
    await until(() => isAtWork() + answered >= LIMIT);
    letGo();
    return (await statusesOf(started)).every((status) => status !== 503);
  });
}

/** Expects that the service works for `LIMIT` of the requests only, and refuses the others. */
async function expectPlaces(started: readonly Started[]): Promise<void> {
  let refused = 0;
  for (const { status } of started) void status.then((answer) => (refused += answer === 503 ? 1 : 0));
  await until(() => working.size + refused >= started.length);
  expect({ working: working.size, refused }).toEqual({ working: LIMIT, refused: started.length - LIMIT });
  letGo();
  const answered = (await statusesOf(started)).filter((status) => status !== 503);
  expect(answered).toHaveLength(LIMIT);
  expect(answered.every((status) => status !== undefined && status < 500)).toBe(true);
}

describe.each<[string, boolean]>([
  ['a server of one’s own', false],
  ['in a Koa app', true],
])('M18: %s', (_where, isInKoa) => {
  beforeAll(async () => {
    giveTime();
    service = await startIdp({
      limits: { requestsAtOnce: LIMIT },
      extensions: [shop],
      artifacts: held(memoryArtifacts(), ['read', 'commit']),
      directory: memoryDirectory(),
      host(idp) {
        const answer = isInKoa ? new Koa().use(idp.middleware()).callback() : idp.callback();
        http2 = createHttp2Server({}, (req, res) => requests.run({ url: req.url }, () => void answer(req as never, res as never)));
        // Parsers of a host do the same with requests that they do not read.
        return (req, res) => requests.run({ url: req.url }, () => void answer(Object.assign(req, { body: {} }), res));
      },
    });
    await new Promise<void>((resolve) => http2.listen(0, '127.0.0.1', resolve));
    session = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
  });
  afterEach(() => {
    letGo();
    for (const socket of sockets) socket.destroy();
  });
  afterAll(async () => {
    session.close();
    await new Promise((resolve) => http2.close(resolve));
    await service.close();
    jest.restoreAllMocks();
  });

  describe.each(ways.filter(([way]) => !isInKoa || !way.includes(' ')))('%s', (way, send) => {
    const many = (sent: Sent, isSlow = false) => Array.from({ length: SENT }, () => send(sent, isSlow));

    const asked = endpoints.filter(([, { body }]) => body !== '' || !way.includes(' '));
    test.each(asked)('%s: no request is worked for without a place', async (_name, sent) => {
      isHolding = true;
      await expectPlaces(many(sent));
    });

    const slow = endpoints.filter(([, { body }]) => body !== '');
    test.each(slow)('%s: slow bodies take no place until they have arrived', async (_name, sent) => {
      isHolding = true;
      const started = many(sent, true);
      const [gone, arriving] = [started.slice(0, 5), started.slice(5)];
      // Each place is free. Requests that are aborted give their places back.
      const others = Array.from({ length: LIMIT }, () => send(sent));
      await until(() => working.size === LIMIT);
      for (const { abort } of [...gone, ...others]) abort();
      letGo();
      await allFree();
      isHolding = true;
      for (const { finish } of arriving) finish();
      await expectPlaces(arriving);
    });
  });

  test('a request that is aborted gives its place back once', async () => {
    // The request gets a context after the store has answered, because the token is unknown.
    const sent: Sent = { method: 'GET', path: '/connect/userinfo', headers: bearer, body: '' };
    isHolding = true;
    const started = Array.from({ length: LIMIT }, () => overHttp1(startOf(sent, []), '', false));
    await until(() => working.size === LIMIT);
    for (const { abort } of started) abort();
    const connections = () => new Promise<number>((resolve) => service.server.getConnections((_error, count) => resolve(count)));
    await until(async () => (await connections()) === 0);
    letGo();
    await allFree();
    isHolding = true;
    await expectPlaces(Array.from({ length: SENT }, () => overHttp1(startOf(sent, []), '', false)));
  });

  test('a compressed body that is longer than each form is refused before it has arrived', async () => {
    const coded = gzipSync(Buffer.alloc(100)).toString('latin1').padEnd(90_000, 'x');
    const headers = { 'content-type': FORM, 'content-encoding': 'gzip' };
    const started = ['content-length: 100000', 'transfer-encoding: chunked'].map((size) =>
      overHttp1(
        startOf({ method: 'POST', path: '/shop/form', headers, body: '' }, [size]),
        size.startsWith('content') ? coded : `${(100_000).toString(16)}\r\n${coded}`,
        false,
      ),
    );
    expect(await statusesOf(started)).toEqual([413, 413]);
  });
});
