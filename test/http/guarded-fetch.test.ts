import { createHook } from 'node:async_hooks';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createPasswords } from '../../lib/directory/index.js';
import { createConcurrencyLimit } from '../../lib/fetch/concurrency-limit.js';
import { createGuardedFetch } from '../../lib/fetch/guarded-fetch.js';
import { createNameLookups } from '../../lib/fetch/name-lookups.js';
import { isPublicAddress } from '../../lib/fetch/public-address.js';

let answer: RequestListener;
let hits: string[];
const server = createServer((request, response) => {
  hits.push(`${request.method} ${request.url}`);
  answer(request, response);
});
let port: number;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  hits = [];
  answer = (_request, response) => response.end('hello');
});

const limits = { timeoutMs: 200_000, maxBytes: 1000 };
const strict = createGuardedFetch({ allowHosts: [] });
const call = (path = '/', request: object = {}) =>
  createGuardedFetch({ allowHosts: ['127.0.0.1'] })(`http://127.0.0.1:${port}${path}`, { ...limits, ...request });

describe('F8 K4 C3: addresses that others chose', () => {
  test.each([
    ['http', () => `http://login.example.com:${port}/`],
    ['a loopback address', () => `https://127.0.0.1:${port}/`],
    ['one in hexadecimal', () => `https://0x7f000001:${port}/`],
    ['one of IPv6', () => `https://[::1]:${port}/`],
    ['one of IPv4 in IPv6', () => `https://[::ffff:127.0.0.1]:${port}/`],
    ['the address of cloud metadata', () => 'https://169.254.169.254/latest/meta-data/'],
    ['a name of this machine', () => `https://localhost:${port}/`],
    ['a name with a dot at its end', () => `https://localhost.:${port}/`],
    ['credentials', () => `https://user:secret@127.0.0.1:${port}/`],
    ['a file', () => 'file:///etc/passwd'],
  ])('%s is refused, and nothing is called', async (_, url) => {
    await expect(strict(url(), limits)).rejects.toThrow();
    expect(hits).toEqual([]);
  });

  test('a host that the operator allows is called, on the port they allow', async () => {
    expect(await call('/there')).toMatchObject({ status: 200, body: Buffer.from('hello') });
    const onePort = createGuardedFetch({ allowHosts: [`localhost:${port}`] });
    expect((await onePort(`http://localhost:${port}/`, limits)).status).toBe(200);
    await expect(onePort(`http://127.0.0.1:${port}/`, limits)).rejects.toThrow('not https');
    const another = createGuardedFetch({ allowHosts: [`127.0.0.1:${port + 1}`] });
    await expect(another(`http://127.0.0.1:${port}/`, limits)).rejects.toThrow('not https');
    expect(hits).toEqual(['GET /there', 'GET /']);
  });

  test('a form is posted as it is', async () => {
    let received = '';
    answer = (request, response) => {
      request.on('data', (chunk) => {
        received += chunk;
      });
      request.on('end', () => response.writeHead(204).end());
    };
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await call('/', { method: 'POST', headers, body: 'a=b&c=ø' })).toMatchObject({ status: 204 });
    expect(received).toBe('a=b&c=ø');
  });

  test('a redirect is an answer, and not followed', async () => {
    answer = (_request, response) => response.writeHead(302, { location: '/inside' }).end();
    expect(await call()).toMatchObject({ status: 302, headers: { location: '/inside' } });
    expect(hits).toEqual(['GET /']);
  });

  test.each<[string, RequestListener]>([
    ['never', () => {}],
    ['with headers alone', (_request, response) => void response.writeHead(200).flushHeaders()],
    [
      'drop by drop',
      (_request, response) => {
        const drip = setInterval(() => response.write('.'), 20);
        response.once('close', () => clearInterval(drip));
      },
    ],
  ])('one that answers %s costs its time and no more', async (_, listener) => {
    answer = listener;
    await expect(call('/', { timeoutMs: 150 })).rejects.toThrow('took more than 150 ms');
  });

  test('M18: a process that is busy for longer than the time limit of a call still gets the answer, and takes no server for slow', async () => {
    const arrived = new Promise<void>((resolve) => {
      answer = (_request, response) => {
        response.end('hello');
        resolve();
      };
    });
    const called = call('/', { timeoutMs: 600 });
    await arrived;
    for (const until = performance.now() + 1200; performance.now() < until; );
    expect(await called).toMatchObject({ status: 200, body: Buffer.from('hello') });
  });

  test('M18: so does a call that waits in the queue', async () => {
    const turns = createConcurrencyLimit({ max: 1, maxWaiting: 9 });
    let end = (): void => {};
    const first = turns.run(
      600,
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const second = turns.run(600, async () => 'second');
    for (const until = performance.now() + 1200; performance.now() < until; );
    setImmediate(() => end());
    expect(await second).toBe('second');
    await first;
    const held = turns.run(
      100,
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    await expect(turns.run(100, async () => 'late')).rejects.toThrow('waited more than 100 ms');
    end();
    await held;
    expect(turns.isIdle()).toBe(true);
  });

  test('one that breaks off is an error', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 20);
    };
    await expect(call()).rejects.toThrow();
  });

  test('what is too large is not kept, and what is compressed is not unpacked', async () => {
    answer = (_request, response) => void response.end('x'.repeat(1001));
    await expect(call()).rejects.toThrow('more than 1000 bytes');
    const packed = gzipSync('x'.repeat(100_000));
    answer = (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
    expect((await call()).body.length).toBe(packed.length);
  });
});

test.each([
  ['of the Internet', ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450:4010:c0f::64'], true],
  ['of a network', ['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1', 'fd00::1', 'fe80::1', 'fec0::1'], false],
  ['of this machine', ['127.0.0.1', '127.255.0.1', '0.0.0.0', '::', '::1', 'fe80::1%lo'], false],
  ['with IPv4 inside', ['::ffff:10.0.0.1', '::ffff:8.8.8.8', '64:ff9b::a00:1', '2002:a00:1::'], false],
  [
    'for many, or for nobody',
    ['224.0.0.1', '239.255.255.250', '255.255.255.255', 'ff02::1', '240.0.0.1', '192.0.2.1', '2001:db8::1'],
    false,
  ],
])('RFC 6890: addresses %s', (_, addresses, isPublic) => {
  expect(addresses.filter((address) => isPublicAddress(address) === isPublic)).toEqual(addresses);
});

describe('M14: names that are looked up for others', () => {
  /** Starts a name server that answers with `reply`, or never without one. */
  async function nameServer(reply?: (question: Buffer) => Buffer) {
    const socket = createSocket('udp4');
    let questions = 0;
    socket.on('message', (question, { port: from }) => {
      questions += 1;
      if (reply) socket.send(reply(question), from, '127.0.0.1');
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    const resolver = new Resolver({ timeout: reply ? 200_000 : 200, tries: 1 });
    resolver.setServers([`127.0.0.1:${socket.address().port}`]);
    const close = () => new Promise<void>((resolve) => socket.close(() => resolve()));
    return { resolver, close, questions: () => questions };
  }
  /** Returns a reply with these IPv4 addresses, and with none for IPv6. */
  const answerWith =
    (...addresses: readonly string[]) =>
    (question: Buffer) => {
      const isIpv4 = question.at(question.indexOf(0, 12) + 2) === 1;
      const records = isIpv4
        ? addresses.map((address) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]))
        : [];
      const asked = question.subarray(12, question.indexOf(0, 12) + 5);
      return Buffer.concat([question.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0]), asked, ...records]);
    };

  test('a name server that is silent holds no thread, and passwords are hashed meanwhile', async () => {
    let threads = 0;
    const counter = createHook({
      init(_id, type) {
        if (type === 'GETADDRINFOREQWRAP') threads += 1;
      },
    }).enable();
    const silent = await nameServer();
    const fetch = createGuardedFetch({ allowHosts: [] }, createNameLookups(silent.resolver));
    const calls = Array.from({ length: 20 }, (_, index) => fetch(`https://silent-${index}.example/`, { timeoutMs: 5000, maxBytes: 10 }));
    const outcomes = Promise.allSettled(calls);
    expect(await createPasswords().hash('correct horse')).toMatch(/^\$scrypt/);
    for (const outcome of await outcomes) expect(outcome.status).toBe('rejected');
    expect(silent.questions()).toBeGreaterThanOrEqual(20);
    expect(threads).toBe(0);
    counter.disable();
    await silent.close();
  });

  test('one that is slow is given up with the request', async () => {
    const resolver = new Resolver({ timeout: 5000, tries: 1 });
    const silent = await nameServer();
    resolver.setServers(silent.resolver.getServers());
    const fetch = createGuardedFetch({ allowHosts: [] }, createNameLookups(resolver));
    await expect(fetch('https://silent.example/', { timeoutMs: 100, maxBytes: 10 })).rejects.toThrow('more than 100 ms');
    resolver.cancel();
    await silent.close();
  });

  const lookedUp = (lookups: LookupFunction, hostname: string, options: object) =>
    new Promise((resolve, reject) => {
      lookups(hostname, options, (error, ...answer) => (error ? reject(error) : resolve(answer)));
    });

  test('public addresses are answered, in the form that is asked for', async () => {
    const server = await nameServer(answerWith('93.184.215.14', '93.184.215.15'));
    const { lookupPublic } = createNameLookups(server.resolver);
    expect(await lookedUp(lookupPublic, 'example.com', { all: true })).toEqual([
      [
        { address: '93.184.215.14', family: 4 },
        { address: '93.184.215.15', family: 4 },
      ],
    ]);
    expect(await lookedUp(lookupPublic, 'example.com', {})).toEqual(['93.184.215.14', 4]);
    await expect(lookedUp(lookupPublic, 'example.com', { family: 6 })).rejects.toThrow();
    await server.close();
  });

  test.each([['10.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['169.254.169.254']])('a name at %s is refused', async (...addresses) => {
    const server = await nameServer(answerWith(...addresses));
    const { lookupPublic } = createNameLookups(server.resolver);
    for (const all of [true, false])
      await expect(lookedUp(lookupPublic, 'inside.example', { all })).rejects.toThrow('not at a public address');
    await server.close();
  });

  test('hosts that the operator allows are looked up as the system does, one at a time', async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const { lookupAllowed } = createNameLookups(undefined, (hostname, _options, callback) => {
      asked.push(hostname);
      answers.push(() => callback(null, '10.0.0.1', 4));
    });
    const all = Promise.all(['a', 'b', 'c'].map((name) => lookedUp(lookupAllowed, name, {})));
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(asked).toEqual(expected);
      answers.shift()?.();
    }
    expect(await all).toEqual(Array(3).fill(['10.0.0.1', 4]));
  });
});
