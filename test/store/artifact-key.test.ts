import { describe, expect, test } from '@jest/globals';
import { artifactKey, digestOfKey, hashedKey, isOfKind, slotOf, slotOfKey } from '../../lib/store/artifact-key.js';
import type { ArtifactKey } from '../../lib/store/artifact-store.js';

const id = 'AbCdEfGhIjK-lmnopqrstuvwxyz_0123456789';

describe('design §4: artifact keys', () => {
  test('J5: a key has the kind, the slot and a digest, and never the id', () => {
    const key = artifactKey('AccessToken', id);
    expect(key).toMatch(/^AccessToken\{AbCdEfGhIjK\}[\w-]{24}$/);
    expect(key).not.toContain(id.slice(11));
  });

  test('J7: ids that begin alike share a slot, and a record may be kept in the slot of another', () => {
    const sibling = `${slotOf(id)}zyxwvutsrqponmlkji`;
    const slot = (key: string | undefined) => key?.slice(key.indexOf('{'), key.indexOf('}'));
    expect(slot(artifactKey('Grant', sibling))).toBe(slot(artifactKey('AccessToken', id)));
    expect(artifactKey('Grant', 'x'.repeat(43), slotOf(id))).toMatch(/^Grant\{AbCdEfGhIjK\}/);
  });

  test('J4: kinds, and ids that differ in one character, have keys of their own', () => {
    const ids = [id, `${id}x`, id.toLowerCase(), id.replace('9', '8')];
    const keys = ids.flatMap((each) => ['Session', 'AccessToken'].map((kind) => artifactKey(kind, each)));
    expect(new Set(keys).size).toBe(8);
    expect(artifactKey('Session', id)).toBe(artifactKey('Session', id));
  });

  test.each([20, 43, 128])('J4: an id of %i characters has a key', (length) => {
    expect(artifactKey('Session', 'x'.repeat(length))).toBeDefined();
  });

  test.each([
    ['empty', ''],
    ['too short', 'x'.repeat(19)],
    ['too long', 'x'.repeat(129)],
    ['1 MiB', 'x'.repeat(1024 * 1024)],
    ['a line break at its end', `${'x'.repeat(20)}\n`],
    ['CRLF', `${'x'.repeat(20)}\r\nDEL x`],
    ['NUL', `${'x'.repeat(20)}\u0000`],
    ['a brace', `${'x'.repeat(20)}{`],
    ['a wildcard', `${'x'.repeat(20)}*`],
    ['a colon', `uid:${'x'.repeat(20)}`],
    ['a dot', `${'x'.repeat(20)}.x`],
    ['a letter beyond ASCII', `${'x'.repeat(20)}é`],
    ['a full-width letter', `${'x'.repeat(20)}Ａ`],
  ])('J4: an id with %s has no key', (_, hostile) => {
    expect(artifactKey('Session', hostile)).toBeUndefined();
  });

  test('J5: a key tells its kind, its slot and its digest, whatever it was made of', () => {
    for (const key of [artifactKey('Grant', id) as ArtifactKey, hashedKey('Grant', '}{')]) {
      expect([isOfKind(key, 'Grant'), isOfKind(key, 'Gran'), isOfKind(key, 'Session')]).toEqual([true, false, false]);
      expect(`Grant{${slotOfKey(key)}}${digestOfKey(key)}`).toBe(key);
    }
  });

  test('J5: the key of a name has its digest alone', () => {
    for (const name of ['alice@acme.test', '127.0.0.1', '}{', 'a{b}c', '\r\n', 'x'.repeat(1024 * 1024)]) {
      const key = hashedKey('Attempts', name);
      expect(key).toMatch(/^Attempts\{[\w-]{11}\}[\w-]{24}$/);
      expect(key).not.toContain(name);
      expect(key).toBe(hashedKey('Attempts', name));
    }
    expect(hashedKey('Attempts', 'a')).not.toBe(hashedKey('Attempts', 'b'));
    expect(hashedKey('Attempts', 'a')).not.toBe(hashedKey('Address', 'a'));
  });
});
