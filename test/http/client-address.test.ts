import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { createAddressOf, type TrustProxy } from '../../lib/http/client-address.js';

const from = (trust: TrustProxy, forwarded?: string | string[], remoteAddress: string | undefined = '10.0.0.1') =>
  createAddressOf(trust)({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage);

test.each([
  ['no proxy: the connection, whatever the header says', 0, '6.6.6.6', '10.0.0.1'],
  ['one proxy: what it saw', 1, '203.0.113.7', '203.0.113.7'],
  ['one proxy: never what the client wrote itself', 1, '6.6.6.6, 203.0.113.7', '203.0.113.7'],
  ['two proxies: what the outer one saw', 2, '6.6.6.6, 203.0.113.7, 10.0.0.9', '203.0.113.7'],
  ['fewer entries than proxies: the outermost there is', 3, '203.0.113.7', '203.0.113.7'],
  ['no header: the connection', 1, undefined, '10.0.0.1'],
  ['an empty header: the connection', 1, ' , ,', '10.0.0.1'],
  ['IPv6', 1, '6.6.6.6, 2001:db8::1', '2001:db8::1'],
  ['repeated headers are one list', 1, ['6.6.6.6', '203.0.113.7'], '203.0.113.7'],
] as const)('design §5 trustProxy, %s', (_, trust, forwarded, expected) => {
  expect(from(trust, forwarded as string | string[] | undefined)).toBe(expected);
});

test('design §1 trustProxy: a function has the word', () => {
  expect(from((request) => `of ${request.headers['x-forwarded-for']}`, '203.0.113.7')).toBe('of 203.0.113.7');
});
