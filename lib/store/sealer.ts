import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { ConfigError, IdpError } from '../errors.js';
import { drawBytes } from './random-bytes.js';

/** Encrypts and hashes values that are stored. Each purpose has separate keys. */
export interface Sealer {
  /**
   * Encrypts under the newest secret. The text opens only for the same purpose and record.
   * @returns `v1.<key id>.<iv>.<ciphertext and tag>`, base64url each.
   */
  encrypt(purpose: string, record: string, plaintext: string): string;
  /**
   * Decrypts a text.
   * @throws IdpError `undecipherable` when the text was altered, belongs to another purpose or record, or its secret was removed.
   */
  decrypt(purpose: string, record: string, text: string): string;
  /** Returns whether the text was encrypted under the newest secret. Any other text should be encrypted again. */
  isCurrent(text: string): boolean;
  /** Returns keyed hashes of a value under each secret, newest first. Store the first hash, and look up all of them. */
  hashes(purpose: string, value: string): readonly [string, ...string[]];
  /** Returns keys of 32 bytes for the purpose, one from each secret, newest first. */
  derive(purpose: string): readonly [KeyObject, ...KeyObject[]];
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Creates a sealer.
 * @param secrets newest first. The first secret encrypts; the others only decrypt texts that they encrypted earlier.
 * @throws ConfigError without any secret.
 */
export function createSealer(secrets: readonly string[]): Sealer {
  const [newest, ...older] = secrets.map(derivedKeys);
  if (newest === undefined) {
    throw new ConfigError('invalid_options', [{ path: 'keys.encryption', expected: 'at least one secret of 32 characters or more' }]);
  }
  const all = [newest, ...older] as const;
  const ofAll = <T>(get: (keys: DerivedKeys) => T): [T, ...T[]] => [get(newest), ...older.map(get)];

  return {
    encrypt(purpose, record, plaintext) {
      const iv = drawBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, newest.key(`encrypt ${purpose}`), iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(associatedData(purpose, record));
      const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', newest.id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
    },

    decrypt(purpose, record, text) {
      const [format, keyId, iv = '', sealed = ''] = text.split('.');
      const keys = all.find(({ id }) => id === keyId);
      if (format !== 'v1' || keys === undefined) throw new IdpError('undecipherable');
      const bytes = Buffer.from(sealed, 'base64url');
      try {
        const decipher = createDecipheriv(CIPHER, keys.key(`encrypt ${purpose}`), Buffer.from(iv, 'base64url'), {
          authTagLength: TAG_BYTES,
        });
        decipher.setAAD(associatedData(purpose, record));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new IdpError('undecipherable', {}, { cause });
      }
    },

    isCurrent: (text) => text.startsWith(`v1.${newest.id}.`),
    hashes: (purpose, value) =>
      ofAll(({ key }) =>
        createHmac('sha256', key(`hash ${purpose}`))
          .update(value)
          .digest('base64url'),
      ),
    derive: (purpose) => ofAll(({ key }) => key(`derive ${purpose}`)),
  };
}

/** Keys of one secret, as `KeyObject`s: Node 24 needs 15 µs longer for each hash or cipher under the bytes of a key. */
interface DerivedKeys {
  readonly id: string;
  key(info: string): KeyObject;
}

/** Returns the keys of one secret, each derived once. @see RFC 5869 */
function derivedKeys(secret: string): DerivedKeys {
  const bytesOf = (info: string): Buffer => Buffer.from(hkdfSync('sha256', secret, 'tenant-idp', info, 32));
  const derived = new Map<string, KeyObject>();
  const key = (info: string): KeyObject => {
    const existing = derived.get(info);
    if (existing !== undefined) return existing;
    const fresh = createSecretKey(bytesOf(info));
    derived.set(info, fresh);
    return fresh;
  };
  return { id: bytesOf('key id').toString('base64url').slice(0, 8), key };
}

/** Returns the associated data, which is unambiguous for any two strings. */
const associatedData = (purpose: string, record: string): Buffer => Buffer.from(JSON.stringify([purpose, record]));
