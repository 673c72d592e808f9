import { describe, expect, test } from '@jest/globals';
import { createKeyring } from '../../lib/store/keyring.js';

const NEW = 'new secret, long enough';
const OLD = 'old secret, long enough';

describe('keyring (J5, security §3)', () => {
  const keyring = createKeyring([NEW, OLD]);

  test('what was encrypted is read again, and looks different each time', () => {
    const first = keyring.encrypt('totp', 'record', 'the seed');
    expect(keyring.decrypt('totp', 'record', first)).toBe('the seed');
    expect(keyring.encrypt('totp', 'record', 'the seed')).not.toBe(first);
    expect(first).not.toContain('seed');
  });

  test('every altered character is noticed', () => {
    const text = keyring.encrypt('totp', 'record', 'x');
    for (const [index, character] of [...text].entries()) {
      // The last character of a base64url part has bits that stand for nothing.
      if (/^[.]?$/.test(text[index + 1] ?? '') || character === '.') continue;
      const altered = `${text.slice(0, index)}${character === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;
      expect(() => keyring.decrypt('totp', 'record', altered)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
    }
  });

  test.each(['', 'v1', 'v1....', 'v2.a.b.c', 'nothing of ours'])('text of another form is refused: %j', (text) => {
    expect(() => keyring.decrypt('totp', 'record', text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('a cut-off tag is refused', () => {
    const text = keyring.encrypt('totp', 'record', '');
    expect(() => keyring.decrypt('totp', 'record', text.slice(0, -12))).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('another purpose or record does not open it', () => {
    const text = keyring.encrypt('totp', 'record', 'the seed');
    for (const [purpose, record] of [
      ['totp', 'other'],
      ['other', 'record'],
      ['totp"', 'record'],
    ] as const) {
      expect(() => keyring.decrypt(purpose, record, text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
    }
  });

  test('what an older secret encrypted is read, and known to be due', () => {
    const text = createKeyring([OLD]).encrypt('totp', 'record', 'the seed');
    expect(keyring.decrypt('totp', 'record', text)).toBe('the seed');
    expect(keyring.isCurrent(text)).toBe(false);
    expect(keyring.isCurrent(keyring.encrypt('totp', 'record', 'the seed'))).toBe(true);
    expect(() => createKeyring([NEW]).decrypt('totp', 'record', text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('keyed hashes differ by value, purpose and secret, newest first', () => {
    const [newest, oldest] = keyring.hashes('national id', 'value');
    expect(createKeyring([NEW]).hashes('national id', 'value')).toEqual([newest]);
    expect(createKeyring([OLD]).hashes('national id', 'value')).toEqual([oldest]);
    expect(new Set([newest, oldest, ...keyring.hashes('other', 'value'), ...keyring.hashes('national id', 'v')]).size).toBe(6);
  });

  test('derived keys are 32 bytes, of their purpose, newest first', () => {
    const [newest, oldest] = keyring.derive('cookies');
    expect([newest.length, oldest?.length]).toEqual([32, 32]);
    expect(newest.equals(createKeyring([NEW]).derive('cookies')[0])).toBe(true);
    expect(newest.equals(keyring.derive('other')[0])).toBe(false);
    expect(newest.toString('base64url')).not.toBe(keyring.hashes('cookies', '')[0]);
  });

  test('without a secret there is no keyring', () => {
    expect(() => createKeyring([])).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });
});
