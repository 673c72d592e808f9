/** Threats L2, M18: more requests than the service can answer, and connections that use the places of others. */
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import type { Extension } from 'tenant-idp';
import { fromEverywhere } from '../support/client/addresses.js';
import { Agent, authorizeUrl, postForm } from '../support/client/agent.js';
import { authorizationOf } from '../support/client/steps.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../support/service/idp.js';
import { testTogether } from '../support/service/test-together.js';
import { until } from '../support/time/until.js';

/** Number of sign-ins and cost of scrypt: the production cost where rounds are proved. */
const [SIGN_INS, SCRYPT_COST] = process.env.PROVE ? [200, 2 ** 14] : [40, 2 ** 10];

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});
const start = async (options: TestIdpOptions = {}): Promise<TestIdp> => {
  const service = await startIdp(options);
  opened.push(service);
  return service;
};

/** Returns an extension that holds answers to token requests until `letGo`. */
function heldTokens() {
  const held: (() => void)[] = [];
  let isHolding = true;
  const extension: Extension = {
    name: 'held-tokens',
    around: {
      token: () => async (_ctx, next) => {
        await next();
        if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
      },
    },
  };
  return {
    extensions: [extension],
    async holding(count: number): Promise<void> {
      await until(
        () => held.length,
        (length) => length >= count,
      );
    },
    letGo() {
      isHolding = false;
      for (const resolve of held.splice(0)) resolve();
    },
  };
}

const body = 'grant_type=client_credentials';
const tokenRequest = ({ issuer }: TestIdp) =>
  postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'));
const rawTokenRequest = (length = body.length) =>
  [
    'POST /connect/token HTTP/1.1',
    'host: localhost',
    `authorization: ${authorizationOf('service').authorization}`,
    'content-type: application/x-www-form-urlencoded',
    `content-length: ${length}`,
    '',
    body,
  ].join('\r\n');

async function open({ issuer }: TestIdp): Promise<{ socket: Socket; text(): string; ended: Promise<unknown> }> {
  const socket = connect(Number(new URL(issuer).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => {});
  const ended = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, text: () => text, ended };
}
const statuses = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

describe.each<[string, TestIdpOptions]>([
  ['a server of one’s own', {}],
  ['in a Koa app', { host: (idp) => new Koa().use(idp.middleware()).callback() }],
])('M18: overload, %s', (_where, host) => {
  test('more requests at once than the limit: 503 with Retry-After at once, documents still answered, and all is well afterwards', async () => {
    const { extensions, holding, letGo } = heldTokens();
    const service = await start({ ...host, extensions, limits: { requestsAtOnce: 10 } });
    const waiting = Array.from({ length: 10 }, () => tokenRequest(service));
    await holding(10);

    // The service refuses immediately, because the first requests are still in progress.
    const refused = await Promise.all(Array.from({ length: 20 }, () => tokenRequest(service)));
    for (const { status, headers, json } of refused) {
      expect([status, json.error]).toEqual([503, 'temporarily_unavailable']);
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    }
    const page = await fetch(`${service.issuer}/connect/authorize?client_id=web`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
    for (const path of ['/.well-known/openid-configuration', '/.well-known/openid-configuration/jwks']) {
      expect((await fetch(`${service.issuer}${path}`)).status).toBe(200);
    }

    letGo();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect((await tokenRequest(service)).status).toBe(200);
    // The log has one line for the start and one line for the end, regardless of the number of refused requests.
    const told = service.lines
      .filter(({ message }) => message.includes('requests'))
      .map(({ level, message, fields }) => [level, message, fields]);
    expect(told).toEqual([
      ['warn', 'this node refuses requests, because too many are in progress', { requestsAtOnce: 10 }],
      ['info', 'this node accepts requests again', { refused: 21 }],
    ]);
  });

  test('a connection that pipelines gets its own ten, is closed, and starves nobody', async () => {
    const { extensions, holding, letGo } = heldTokens();
    const service = await start({ ...host, extensions, limits: { requestsAtOnce: 100 } });
    const greedy = await open(service);
    greedy.socket.write(rawTokenRequest().repeat(300));
    await holding(10);
    const others = Array.from({ length: 20 }, () => tokenRequest(service));
    await holding(30);
    letGo();
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    await greedy.ended;
    const answers = statuses(greedy.text());
    expect(answers.slice(0, 10)).toEqual(Array(10).fill(200));
    expect(new Set(answers.slice(10))).toEqual(new Set([503]));
  });

  test('requests whose bodies are slow take nobody’s place', async () => {
    const service = await start({ ...host, limits: { requestsAtOnce: 10 } });
    const slow = await Promise.all(Array.from({ length: 40 }, () => open(service)));
    for (const { socket } of slow) socket.write(rawTokenRequest(body.length + 1));
    await pause(200);
    expect((await tokenRequest(service)).status).toBe(200);
    for (const { socket } of slow) socket.end('&');
    await Promise.all(slow.map(({ ended }) => ended));
    expect((await tokenRequest(service)).status).toBe(200);
  });
});

test('M18: requests of one HTTP/2 connection are counted one by one: a proxy multiplexes people', async () => {
  const { extensions, holding, letGo } = heldTokens();
  const service = await start({ extensions });
  const server = createHttp2Server({}, service.idp.callback() as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const ask = () =>
    new Promise<number>((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/connect/token',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': body.length,
        ...authorizationOf('service'),
      });
      stream.on('response', (headers) => resolve(Number(headers[':status']))).on('error', reject);
      stream.resume().end(body);
    });
  const asking = Array.from({ length: 50 }, ask);
  await holding(50);
  letGo();
  expect(await Promise.all(asking)).toEqual(Array(50).fill(200));
  session.close();
  await new Promise((resolve) => server.close(resolve));
});

test(`M18: ${SIGN_INS} people who sign in at once wait in turn; whoever would wait more than 20 s is told at once`, async () => {
  const service = await start({ passwords: { scryptCost: SCRYPT_COST }, trustProxy: fromEverywhere() });
  const names = ['alice@acme.test', 'carol@acme.test', 'bob@globex.test'];
  const pages = await Promise.all(
    Array.from({ length: SIGN_INS }, async (_, index) => {
      const [agent, name = ''] = [new Agent(), names[index % names.length]];
      const identifier = await agent.follow(
        await agent.get(authorizeUrl(service.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' })),
      );
      return { agent, page: await agent.submit(identifier, { identifier: name }), password: name.split('@')[0] ?? '' };
    }),
  );
  const began = performance.now();
  const answers = await Promise.all(
    pages.map(async ({ agent, page, password }) => {
      const { status, headers } = await agent.submit(page, { password });
      return { status, retryAfter: headers.get('retry-after'), seconds: (performance.now() - began) / 1000 };
    }),
  );
  const [signedIn, told] = [answers.filter(({ status }) => status === 303), answers.filter(({ status }) => status === 503)];
  expect(signedIn.length + told.length).toBe(SIGN_INS);
  for (const { retryAfter } of told) expect(retryAfter).toMatch(/^\d+$/);
  const last = (of: typeof answers) => Math.max(0, ...of.map(({ seconds }) => seconds));
  if (process.env.PROVE) {
    expect(told.length).toBeGreaterThan(0);
    // Immediately means: before a quarter of the waiting users had their turn. A hash may take longer than it did when the service let the
    // user wait.
    const turns = signedIn.map(({ seconds }) => seconds).toSorted((a, b) => a - b);
    const quarter = turns[Math.floor(turns.length / 4)] ?? 0;
    const atOnce = told.filter(({ seconds }) => seconds < quarter);
    expect(atOnce.length).toBeGreaterThan(told.length / 2);
    expect(last(told)).toBeLessThan(25);
    expect(last(signedIn)).toBeLessThan(25);
    process.stderr.write(
      `${JSON.stringify({ signedIn: signedIn.length, within: last(signedIn), told: told.length, atOnce: atOnce.length, toldWithin: last(told) })}\n`,
    );
  } else expect(signedIn.length).toBeGreaterThan(0);
});

testTogether('L2: listen() ends connections that send slowly or too much', async () => {
  const service = await startIdp();
  const server = await service.idp.listen(0, '127.0.0.1');
  expect(server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 15_000, maxConnections: 10_000 });
  const here = { ...service, issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const endOf = async (text: string) => {
    const connection = await open(here);
    const began = performance.now();
    connection.socket.write(text);
    // An occasional byte keeps the connection busy, but not its request.
    const drip = setInterval(() => connection.socket.write('x'), 1000);
    await connection.ended;
    clearInterval(drip);
    return { seconds: (performance.now() - began) / 1000, statuses: statuses(connection.text()) };
  };
  const [headers, slowBody, large] = await Promise.all([
    endOf('GET /connect/authorize HTTP/1.1\r\nhost: localhost\r\nx-slow: '),
    endOf(rawTokenRequest(50_000)),
    endOf(`GET / HTTP/1.1\r\nhost: localhost\r\nx-large: ${'x'.repeat(17_000)}\r\n\r\n`),
  ]);
  expect(headers).toEqual({ seconds: expect.any(Number), statuses: [408] });
  expect(slowBody.statuses).toEqual([408]);
  if (process.env.PROVE) {
    expect(headers.seconds).toBeLessThan(14);
    expect(slowBody.seconds).toBeLessThan(20);
  }
  expect(large.statuses).toEqual([431]);
  await service.close();
});
