import { describe, expect, test } from '@jest/globals';
import { bare, hooked, issuer } from './pinned.js';

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
