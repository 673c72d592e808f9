/** Signatures of cookies: the service signs as keygrip does, so that cookies of another version of the service stay valid. */
import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createCookieKeys } from '../../lib/oidc/sessions/cookies.js';

const signature = (data: string, key: string) => createHmac('sha1', key).update(data).digest('base64url');
const data = 'idp.session=a-session';

test('the newest key signs', () => {
  expect(createCookieKeys(['new', 'old']).sign(data)).toBe(signature(data, 'new'));
});

test('a rotated key is told from the newest, before and after its signature is remembered', () => {
  const keys = createCookieKeys(['new', 'old']);
  for (let use = 0; use < 2; use += 1) {
    expect(keys.index(data, signature(data, 'new'))).toBe(0);
    expect(keys.index(data, signature(data, 'old'))).toBe(1);
    expect(keys.sign(data)).toBe(signature(data, 'new'));
  }
});

test.each([
  ['of another cookie', signature('idp.session=another', 'new')],
  ['by another key', signature(data, 'other')],
  ['that is empty', ''],
  ['that is longer', `${signature(data, 'new')}x`],
  ['with other bytes', `${signature(data, 'new').slice(1)}\u00ff`],
])('a signature %s is refused, before and after the good one is remembered', (_, forged) => {
  const keys = createCookieKeys(['new', 'old']);
  expect(keys.verify(data, forged)).toBe(false);
  expect(keys.verify(data, signature(data, 'new'))).toBe(true);
  expect(keys.verify(data, forged)).toBe(false);
});
