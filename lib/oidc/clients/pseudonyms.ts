import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Pseudonyms } from '../context.js';

export function createPseudonyms(salt: Buffer | string): Pseudonyms {
  const keys = new LRUCache<string, Buffer>({ max: 1000 });
  const keyOf = (sector: string): Buffer => {
    const known = keys.get(sector);
    if (known) return known;
    const key = Buffer.from(hkdfSync('sha256', salt, '', `pairwise ${sector}`, 32));
    keys.set(sector, key);
    return key;
  };
  return {
    encipher(sector, id) {
      const cipher = createCipheriv('aes-256-ecb', keyOf(sector), null).setAutoPadding(false);
      return Buffer.concat([cipher.update(Buffer.from(id.replaceAll('-', ''), 'hex')), cipher.final()]).toString('base64url');
    },
    decipher(sector, pseudonym) {
      if (!/^[\w-]{21}[AQgw]$/.test(pseudonym)) return undefined;
      const decipher = createDecipheriv('aes-256-ecb', keyOf(sector), null).setAutoPadding(false);
      const hex = Buffer.concat([decipher.update(Buffer.from(pseudonym, 'base64url')), decipher.final()]).toString('hex');
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
  };
}
