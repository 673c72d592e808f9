import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { addressBlock, createAddressOf, type TrustProxy } from '../../lib/http/clients/client-address.js';
import { shownAddress } from '../../lib/text/ip-address.js';

const warned: unknown[][] = [];
const from = (trust: TrustProxy, forwarded?: string | string[], remoteAddress: string | undefined = '10.0.0.1') =>
  createAddressOf(trust, { warn: (...data) => void warned.push(data) })({
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

test.each([
  ['203.0.113.7:50123', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:CB00:7107', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['[2001:db8::1]:50123', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['unknown', 'unknown'],
  ['203.0.113.7:x', '203.0.113.7:x'],
])('M6: the address %s is %s, from a header, a function and a connection', (written, normal) => {
  expect([from(1, written), from(() => written), from(0, undefined, written)]).toEqual([normal, normal, normal]);
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8::/64'],
  ['2001:db8::', '2001:db8::/64'],
  ['2001:db8:0:1::7', '2001:db8:0:1::/64'],
  ['2001:0DB8:0:0:1::', '2001:db8::/64'],
  ['::1', '::/64'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
  ['203.0.113.7', '203.0.113.7'],
  ['unknown', 'unknown'],
])('M6: %s is counted as %s', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});

test.each([
  ['203.0.113.7', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8::/48'],
  ['::1', '::/48'],
  ['2001:0:1::1', '2001:0:1::/48'],
  ['unknown', undefined],
  ['', undefined],
  ['<b>203.0.113.7', undefined],
])('sessions.address: %s is shown whole, as %s, or not at all', (address, block) => {
  expect(shownAddress(address, 'truncated')).toBe(block);
  expect(shownAddress(address, 'full')).toBe(block && address);
  expect(shownAddress(address, 'none')).toBeUndefined();
  // A stored block is shown unchanged, under `full` too.
  if (block !== undefined) for (const part of ['full', 'truncated'] as const) expect(shownAddress(block, part)).toBe(block);
});

test.each([
  ['::ffff:203.0.113.7', '203.0.113.7', '203.0.113.0/24'],
  ['::FFFF:CB00:7107', '203.0.113.7', '203.0.113.0/24'],
  ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1', '2001:db8::/48'],
  ['fe80::1%eth0', 'fe80::1', 'fe80::/48'],
  ['0:0:0::/48', '::/48', '::/48'],
])('sessions.address: %s is shown in one form', (address, full, truncated) => {
  expect([shownAddress(address, 'full'), shownAddress(address, 'truncated')]).toEqual([full, truncated]);
});

test('X-Forwarded-For is said once when no proxy is trusted, and not without it', () => {
  warned.length = 0;
  const addressOf = createAddressOf(0, { warn: (...data) => void warned.push(data) });
  const request = (headers: object) => ({ socket: { remoteAddress: '10.0.0.1' }, headers }) as unknown as IncomingMessage;
  addressOf(request({}));
  expect(warned).toEqual([]);
  for (let round = 0; round < 3; round += 1) addressOf(request({ 'x-forwarded-for': '6.6.6.6' }));
  expect(warned).toEqual([[{}, expect.stringMatching(/X-Forwarded-For.*trustProxy/)]]);
});
