import { createHmac } from 'node:crypto';
import { IdpError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { Keyring } from '../store/keyring.js';
import { drawBytes } from '../store/random-bytes.js';
import type { CheckedCollection } from '../store/records/checked-directory.js';
import type { RemovedUser } from '../store/records/records.js';

/**
 * The ids of users that were removed, as keyed hashes. Applications know a user by `sub`, so no other user gets the id.
 *
 * The key is random, and is stored encrypted beside the hashes. A key derived from `keys.encryption` would be lost when its secret is replaced.
 */
export interface RemovedUserIds {
  /** Encrypts the keys under the newest secret. Makes a key if none can be read. Call it at each start. */
  begin(): Promise<void>;
  /**
   * Notes the id before its user is removed, so that a node may stop between the two writes. If the user is still there, the note changes nothing, because
   * the id is taken anyway. May be called again.
   */
  note(userId: string): Promise<void>;
  has(userId: string): Promise<boolean>;
}

/** The id of the row that holds the keys. */
const KEYS = 'keys';
const PURPOSE = 'ids of removed users';
const KEY_BYTES = 32;

interface Parts {
  readonly rows: CheckedCollection<RemovedUser>;
  readonly keyring: Pick<Keyring, 'encrypt' | 'decrypt' | 'isCurrent'>;
  readonly logger: Pick<Logger, 'warn'>;
}

export function createRemovedUserIds({ rows, keyring, logger }: Parts): RemovedUserIds {
  const seal = (key: string): string => keyring.encrypt(PURPOSE, KEYS, key);
  /** @returns undefined where its secret is no longer configured */
  function open(sealed: string): string | undefined {
    try {
      return keyring.decrypt(PURPOSE, KEYS, sealed);
    } catch (error) {
      return IdpError.unless('undecipherable')(error);
    }
  }
  const readable = ({ sealed = [] }: Pick<RemovedUser, 'sealed'> = {}): readonly string[] => sealed.flatMap((each) => open(each) ?? []);

  /** A key that cannot be read stays, because its secret may be configured again. */
  function completed(row: RemovedUser | undefined): Pick<RemovedUser, 'id' | 'sealed'> {
    const { sealed = [] } = row ?? {};
    const next = sealed.map((each) => {
      const key = keyring.isCurrent(each) ? undefined : open(each);
      return key === undefined ? each : seal(key);
    });
    if (readable(row).length === 0) next.push(seal(drawBytes(KEY_BYTES).toString('base64url')));
    return row && next.length === sealed.length && next.every((each, at) => each === sealed[at]) ? row : { ...row, id: KEYS, sealed: next };
  }

  async function keys(): Promise<readonly string[]> {
    const known = readable(await rows.get(KEYS));
    return known.length > 0 ? known : readable(await rows.upsert(KEYS, completed));
  }

  const hashOf = (key: string, userId: string): string => createHmac('sha256', key).update(userId).digest('base64url');

  return {
    async begin() {
      const row = await rows.upsert(KEYS, completed);
      if (readable(row).length === row.sealed?.length) return;
      const hasHashes = (await rows.find({}, { limit: 2 })).length > 1;
      if (hasHashes)
        logger.warn(
          {},
          'a key for ids of removed users cannot be read, so these ids can be given again: add its secret to keys.encryption',
        );
    },
    async note(userId) {
      const [key = ''] = await keys();
      await rows.insert({ id: hashOf(key, userId) }).catch(IdpError.unless('conflict'));
    },
    async has(userId) {
      const found = await Promise.all((await keys()).map((key) => rows.has(hashOf(key, userId))));
      return found.includes(true);
    },
  };
}
