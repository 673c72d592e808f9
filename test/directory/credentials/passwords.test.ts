import * as crypto from 'node:crypto';
import { scryptSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createPasswords } from '../../../lib/directory/index.js';

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

describe('password hashes (security §3)', () => {
  const passwords = createPasswords();
  const verifies = async (phc: string | undefined, password: string, by = passwords) => (await by.verify([phc], password))[0];

  test('scrypt N=2^14 r=8 p=5 with 16 bytes of salt, as a PHC string', async () => {
    const phc = await passwords.hash('correct horse');
    expect(phc).toMatch(/^\$scrypt\$ln=14,r=8,p=5\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    const [salt = '', hash] = phc.split('$').slice(3);
    expect(base64(scryptSync('correct horse', Buffer.from(salt, 'base64'), 32, { N: 2 ** 14, r: 8, p: 5 }))).toBe(hash);
    expect(await verifies(phc, 'correct horse')).toBe(true);
    expect(await verifies(phc, 'wrong horse')).toBe(false);
    expect(passwords.isOutdated(phc)).toBe(false);
  });

  test('hashes of other parameters are verified, and known to be outdated', async () => {
    const salt = Buffer.alloc(16, 1);
    const hash = scryptSync('secret', salt, 32, { N: 2 ** 10, r: 8, p: 1 });
    const phc = `$scrypt$ln=10,r=8,p=1$${base64(salt)}$${base64(hash)}`;
    expect(await verifies(phc, 'secret')).toBe(true);
    expect(await verifies(phc, 'Secret')).toBe(false);
    expect(passwords.isOutdated(phc)).toBe(true);
  });

  test('the cost of scrypt can be set, and one of another cost is outdated (options: passwords.scryptCost)', async () => {
    const costly = createPasswords({ scryptCost: 2 ** 15 });
    const phc = await costly.hash('correct horse');
    expect(phc).toMatch(/^\$scrypt\$ln=15,r=8,p=5\$/);
    expect([await verifies(phc, 'correct horse'), passwords.isOutdated(phc), costly.isOutdated(phc)]).toEqual([true, true, false]);
  });

  test('composed and decomposed characters are the same password (NFC)', async () => {
    const phc = await passwords.hash('pa\u030a ski');
    expect(await verifies(phc, 'p\u00e5 ski')).toBe(true);
  });

  // scrypt pads short passwords with zeros, and other hashes end at one, or after 72 bytes.
  const endings = ['\0', '\0\0', '\0x', 'x\0', '\n', '\r\n', ' ', '\u200b', '\ufeff', '\ufffd', '\u{10ffff}', `${'x'.repeat(70)}`];
  test.each(['alice', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(100), 'a\0b'])(
    'E-E: %j with something after it is another password',
    async (password) => {
      const others = endings.map((ending) => password + ending).filter((other) => [...other].length <= 128);
      const cheap = createPasswords({ scryptCost: 2 });
      const phc = await cheap.hash(password);
      expect(await verifies(phc, password, cheap)).toBe(true);
      for (const other of others) {
        expect([other, await verifies(phc, other, cheap)]).toEqual([other, false]);
        const longer = await cheap.hash(other);
        expect([other, await verifies(longer, other, cheap), await verifies(longer, password, cheap)]).toEqual([other, true, false]);
      }
    },
  );

  test.each([undefined, '', 'plain', '$md5$a=1$AAAA$AAAA'])('%j verifies nothing', async (phc) => {
    expect(await verifies(phc, '')).toBe(false);
  });

  test('a password of more than 128 characters is never right', async () => {
    expect(await verifies(await passwords.hash('x'.repeat(129)), 'x'.repeat(129))).toBe(false);
  });

  test('several are compared at once, each by itself', async () => {
    const [one, other] = [await passwords.hash('one'), await passwords.hash('other')];
    expect(await passwords.verify([one, undefined, other], 'other')).toEqual([false, false, true]);
  });

  const hasArgon2 = 'argon2' in crypto;
  (hasArgon2 ? test : test.skip)('argon2id where Node has it, reading scrypt too', async () => {
    const argon2id = createPasswords({ algorithm: 'argon2id' });
    const phc = await argon2id.hash('correct horse');
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await verifies(phc, 'correct horse', argon2id)).toBe(true);
    expect(await verifies(phc, 'wrong', argon2id)).toBe(false);
    const older = await passwords.hash('correct horse');
    expect([await verifies(older, 'correct horse', argon2id), argon2id.isOutdated(older)]).toEqual([true, true]);
  });
  (hasArgon2 ? test.skip : test)('argon2id is refused at start where Node lacks it', () => {
    expect(() => createPasswords({ algorithm: 'argon2id' })).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });
});
