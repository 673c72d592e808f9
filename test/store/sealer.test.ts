import { describe, expect, test } from '@jest/globals';
import { createSealer, type Sealer } from '../../lib/store/sealer.js';

const NEW = 'new secret, long enough';
const OLD = 'old secret, long enough';

describe('sealer (J5, security §3)', () => {
  const sealer = createSealer([NEW, OLD]);

  test('what was encrypted is read again, and looks different each time', () => {
    const first = sealer.encrypt('totp', 'record', 'the seed');
    expect(sealer.decrypt('totp', 'record', first)).toBe('the seed');
    expect(sealer.encrypt('totp', 'record', 'the seed')).not.toBe(first);
    expect(first).not.toContain('seed');
  });

  test('every altered character is noticed', () => {
    const text = sealer.encrypt('totp', 'record', 'x');
    for (const [index, character] of [...text].entries()) {
      // The last character of a base64url part has unused bits.
      if (/^[.]?$/.test(text[index + 1] ?? '') || character === '.') continue;
      const altered = `${text.slice(0, index)}${character === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;
      expect(() => sealer.decrypt('totp', 'record', altered)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
    }
  });

  test.each(['', 'v1', 'v1....', 'v2.a.b.c', 'nothing of ours'])('text of another form is refused: %j', (text) => {
    expect(() => sealer.decrypt('totp', 'record', text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('a cut-off tag is refused', () => {
    const text = sealer.encrypt('totp', 'record', '');
    expect(() => sealer.decrypt('totp', 'record', text.slice(0, -12))).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('another purpose or record does not open it', () => {
    const text = sealer.encrypt('totp', 'record', 'the seed');
    for (const [purpose, record] of [
      ['totp', 'other'],
      ['other', 'record'],
      ['totp"', 'record'],
    ] as const) {
      expect(() => sealer.decrypt(purpose, record, text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
    }
  });

  test('what an older secret encrypted is read, and known to be due', () => {
    const text = createSealer([OLD]).encrypt('totp', 'record', 'the seed');
    expect(sealer.decrypt('totp', 'record', text)).toBe('the seed');
    expect(sealer.isCurrent(text)).toBe(false);
    expect(sealer.isCurrent(sealer.encrypt('totp', 'record', 'the seed'))).toBe(true);
    expect(() => createSealer([NEW]).decrypt('totp', 'record', text)).toThrow(expect.objectContaining({ code: 'undecipherable' }));
  });

  test('keyed hashes differ by value, purpose and secret, newest first', () => {
    const [newest, oldest] = sealer.hashes('national id', 'value');
    expect(createSealer([NEW]).hashes('national id', 'value')).toEqual([newest]);
    expect(createSealer([OLD]).hashes('national id', 'value')).toEqual([oldest]);
    expect(new Set([newest, oldest, ...sealer.hashes('other', 'value'), ...sealer.hashes('national id', 'v')]).size).toBe(6);
  });

  test('derived keys are 32 bytes, of their purpose, newest first', () => {
    const derived = (ring: Sealer, purpose: string) => ring.derive(purpose).map((key) => key.export());
    const [newest, oldest] = derived(sealer, 'cookies');
    expect([newest?.length, oldest?.length]).toEqual([32, 32]);
    expect(derived(createSealer([NEW]), 'cookies')).toEqual([newest]);
    expect(derived(sealer, 'other')).not.toContainEqual(newest);
    expect(newest?.toString('base64url')).not.toBe(sealer.hashes('cookies', '')[0]);
  });

  test('without a secret there is no sealer', () => {
    expect(() => createSealer([])).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });
});
