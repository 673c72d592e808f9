import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createGuardedFetch, isPublicAddress } from '../../lib/guarded-fetch.js';

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

const limits = { timeoutMs: 1000, maxBytes: 1000 };
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
