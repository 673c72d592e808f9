import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { refuseBrokenForm } from '../../../lib/oidc/upstream/request.js';
import { bare, expectInOrder, hooked, issuer } from './pinned.js';

describe('the request', () => {
  test.each(['protocol', 'secure', 'host', 'hostname', 'origin', 'href', 'ip'])(
    '%s is read from the app’s own request prototype',
    (name) => {
      expect(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(bare.request), name)?.get).toEqual(expect.any(Function));
      expect(Object.getOwnPropertyDescriptor(hooked.request, name)?.get).toEqual(expect.any(Function));
      expect(Object.getOwnPropertyDescriptor(bare.request, name)).toBeUndefined();
    },
  );

  test('its host is the issuer’s whatever the headers say', () => {
    const { request } = hooked.createContext(
      { headers: { host: 'evil.example', 'x-forwarded-proto': 'http' }, url: '/x', method: 'GET', socket: {} } as never,
      {} as never,
    );
    expect([request.host, request.protocol, request.secure, request.ip]).toEqual(['op.example', 'https', true, '192.0.2.1']);
    expect(request.href.startsWith(`${issuer}/`)).toBe(true);
  });
});

test('a body is read by the iterator of the request, and one that fails to be read is invalid_request', () => {
  expectInOrder(
    'shared/selective_body.js',
    'for await (const chunk of req.iterator({ destroyOnReturn: false }))',
    'readBody(ctx.req',
    "throw new InvalidRequest('failed to parse the request body'",
  );
});

const read = async (body: Buffer): Promise<string> => {
  const req = new IncomingMessage(new Socket());
  refuseBrokenForm(req);
  req.push(body.subarray(0, 3));
  req.push(body.subarray(3));
  req.push(null);
  const chunks: Buffer[] = [];
  for await (const chunk of req.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

test.each(['', 'a=b', 'a=%C3%A5&b=+', 'a=å', 'a=%00'])('%j is read as it is', async (body) => {
  expect(await read(Buffer.from(body))).toBe(body);
});

test.each(['a=%', 'a=%zz', 'a=%e5', 'a=%ed%a0%80', 'a=%c0%af', Buffer.from('a=å', 'latin1')])('%s fails to be read', async (body) => {
  await expect(read(Buffer.from(body))).rejects.toThrow('percent-encoding');
});
