/**
 * Keyed hashes that outlive a secret of `keys.encryption`: ids of removed users, and national ids.
 *
 * A hash key derived from a secret would be lost when the secret is replaced, and so would the values that it hashed.
 */
import { IdpError } from '../../errors.js';
import type { Row, Unsaved } from '../../store/directory-store.js';
import { drawBytes } from '../../store/random-bytes.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { Sealer } from '../../store/sealer.js';

/**
 * Random hash keys in one row, encrypted under `keys.encryption`. Each start encrypts the hash keys under the newest secret. So hashes and
 * texts that use them outlive a secret.
 */
export interface StoredKeys {
  /** Encrypts the hash keys under the newest secret. Call the method at each start. @returns whether all hash keys can be read */
  begin(): Promise<boolean>;
  /** Returns the hash keys that can be read. */
  all(): Promise<readonly string[]>;
  /** Returns the hash keys that can be read. The first hash key is for new values. Creates a hash key if none can be read. */
  forWriting(): Promise<readonly [string, ...string[]]>;
}

interface KeysRow extends Row {
  readonly sealed?: readonly string[];
}

interface Parts<R extends KeysRow> {
  readonly rows: Pick<CheckedCollection<R>, 'get' | 'upsert'>;
  /** The new row, without a hash key. */
  readonly row: Unsaved<R>;
  readonly purpose: string;
  readonly sealer: Pick<Sealer, 'encrypt' | 'decrypt' | 'isCurrent'>;
}

const KEY_BYTES = 32;

export function createStoredKeys<R extends KeysRow>({ rows, row: blank, purpose, sealer }: Parts<R>): StoredKeys {
  const { id } = blank;
  /** Hash keys that this node has read. If another node encrypts them under a secret that this node does not have, the row can no longer be read here. */
  const readKeys = new Set<string>();
  const seal = (key: string): string => sealer.encrypt(purpose, id, key);
  /** @returns undefined if its secret is no longer configured */
  function open(sealed: string): string | undefined {
    try {
      return sealer.decrypt(purpose, id, sealed);
    } catch (error) {
      return IdpError.unless('undecipherable')(error);
    }
  }
  function readable(sealed: readonly string[] = []): readonly string[] {
    for (const each of sealed) {
      const key = open(each);
      if (key !== undefined) readKeys.add(key);
    }
    return [...readKeys];
  }
  const withSealed = (row: R | undefined, sealed: readonly string[]): Unsaved<R> => ({ ...(row ?? blank), sealed });

  return {
    async begin() {
      const row = await rows.get(id);
      if (row === undefined) return true;
      const isStale = (each: string): boolean => !sealer.isCurrent(each) && open(each) !== undefined;
      // A hash key that cannot be read stays, because its secret may be configured again.
      const resealed = (each: string): string => (isStale(each) ? seal(open(each) ?? '') : each);
      const { sealed = [] } = await rows.upsert(id, (now) => {
        const before = now?.sealed ?? [];
        return now && !before.some(isStale) ? now : withSealed(now, before.map(resealed));
      });
      readable(sealed);
      return sealed.every((each) => open(each) !== undefined);
    },
    all: async () => readable((await rows.get(id))?.sealed),
    async forWriting() {
      const existing = readable((await rows.get(id))?.sealed);
      const add = (row: R | undefined): Unsaved<R> => {
        const sealed = row?.sealed ?? [];
        const isReadable = sealed.some((each) => open(each) !== undefined);
        return row && isReadable ? row : withSealed(row, [...sealed, seal(drawBytes(KEY_BYTES).toString('base64url'))]);
      };
      const [first = '', ...others] = existing.length > 0 ? existing : readable((await rows.upsert(id, add)).sealed);
      return [first, ...others];
    },
  };
}
