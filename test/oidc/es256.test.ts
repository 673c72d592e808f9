/** ES256 signatures: made and verified in DER, and converted from and to the form of JWS. RFC 7518 §3.4. */
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { CompactSign, compactVerify } from 'jose';
import { inDer, sideBySide, signEs256, verifyEs256 } from '../../lib/oidc/keys/es256.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const zeros = (count: number) => '00'.repeat(count);
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const inJws = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
/** Random signatures. Every 128th has a number of fewer than 32 bytes. */
const MANY = 4_000;

/** [description, DER, r, s] */
const vectors: readonly [string, string, string, string][] = [
  ['of two whole numbers', `3044 0220 ${'7f'.repeat(32)} 0220 ${'11'.repeat(32)}`, '7f'.repeat(32), '11'.repeat(32)],
  ['whose first number starts with a set bit', `3045 0221 00${'80'.repeat(32)} 0220 ${'11'.repeat(32)}`, '80'.repeat(32), '11'.repeat(32)],
  ['whose second number starts with a set bit', `3045 0220 ${'11'.repeat(32)} 0221 00${'ff'.repeat(32)}`, '11'.repeat(32), 'ff'.repeat(32)],
  ['of two numbers with a set bit', `3046 0221 00${'80'.repeat(32)} 0221 00${'ff'.repeat(32)}`, '80'.repeat(32), 'ff'.repeat(32)],
  ['with a short first number', `3043 021f ${'7f'.repeat(31)} 0220 ${'11'.repeat(32)}`, `00${'7f'.repeat(31)}`, '11'.repeat(32)],
  ['with a short second number', `3042 0220 ${'11'.repeat(32)} 021e ${'7f'.repeat(30)}`, '11'.repeat(32), `0000${'7f'.repeat(30)}`],
  [
    'with a short number that starts with a set bit',
    `3044 0220 00${'80'.repeat(31)} 0220 ${'11'.repeat(32)}`,
    `00${'80'.repeat(31)}`,
    '11'.repeat(32),
  ],
  ['of numbers of one byte', '3006 0201 01 0201 7f', `${zeros(31)}01`, `${zeros(31)}7f`],
  ['of numbers of one byte with a set bit', '3008 0202 0080 0202 00ff', `${zeros(31)}80`, `${zeros(31)}ff`],
  ['of zeros inside', `3044 0220 01${zeros(31)} 0220 7f${zeros(30)}01`, `01${zeros(31)}`, `7f${zeros(30)}01`],
  ['of nothing', '3006 0201 00 0201 00', zeros(32), zeros(32)],
];

describe('the two forms of a signature', () => {
  test.each(vectors)('a signature %s', (_, der, r, s) => {
    expect(sideBySide(hex(der)).toString('hex')).toBe(r + s);
    expect(inDer(hex(r + s)).toString('hex')).toBe(hex(der).toString('hex'));
  });

  test('thousands of random signatures are what Node makes of them, in both directions', () => {
    const lengths = new Set<number>();
    for (let index = 0; index < MANY; index += 1) {
      const data = Buffer.from(`data ${index}`);
      const der = sign('sha256', data, privateKey);
      const numbers = sideBySide(der);
      lengths.add(der.length);
      if (!verify('sha256', data, inJws, numbers) || !inDer(numbers).equals(der)) throw new Error(der.toString('hex'));
    }
    // The lengths differ, because a number may start with a set bit, start without one, or be short.
    expect(lengths.size).toBeGreaterThan(3);
  });
});

describe('ES256', () => {
  test('jose and this service verify each other', async () => {
    const payload = Buffer.from('{"a":1}');
    const header = Buffer.from('{"alg":"ES256"}').toString('base64url');
    for (let index = 0; index < 300; index += 1) {
      const input = `${header}.${Buffer.concat([payload, Buffer.from(String(index))]).toString('base64url')}`;
      await compactVerify(`${input}.${signEs256(Buffer.from(input), privateKey).toString('base64url')}`, publicKey);
      const [theirs = '', body = '', signature = ''] = (
        await new CompactSign(payload).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
      ).split('.');
      expect(verifyEs256(Buffer.from(`${theirs}.${body}`), publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
    }
  });

  test('the example of RFC 7515 appendix A.3 verifies', () => {
    const key = createPublicKey({
      key: {
        kty: 'EC',
        crv: 'P-256',
        x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
        y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      },
      format: 'jwk',
    });
    const input = 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
    const signature = Buffer.from('DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q', 'base64url');
    expect(verifyEs256(Buffer.from(input), key, signature)).toBe(true);
    expect(verifyEs256(Buffer.from(`${input}x`), key, signature)).toBe(false);
  });

  const data = Buffer.from('data');
  const good = signEs256(data, privateKey);
  test.each([
    ['is empty', Buffer.alloc(0)],
    ['is shorter', good.subarray(1)],
    ['is longer', Buffer.concat([good, Buffer.alloc(1)])],
    ['is all zeros', Buffer.alloc(64)],
    ['has no second number', Buffer.concat([good.subarray(0, 32), Buffer.alloc(32)])],
    ['has larger numbers than the curve', Buffer.alloc(64, 0xff)],
    ['has exchanged numbers', Buffer.concat([good.subarray(32), good.subarray(0, 32)])],
    ['is in DER', inDer(good)],
  ])('a signature that %s is refused', (_, signature) => {
    expect(verifyEs256(data, publicKey, good)).toBe(true);
    expect(verifyEs256(data, publicKey, signature)).toBe(false);
  });

  test('each altered byte is noticed', () => {
    for (const [index, byte] of good.entries()) {
      const altered = Buffer.from(good);
      altered[index] = byte ^ 1;
      expect(verifyEs256(data, publicKey, altered)).toBe(false);
    }
  });
});
