import { createHmac } from 'node:crypto';
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { RemovedUser } from '../../store/records/records.js';
import type { Sealer } from '../../store/sealer.js';
import { createStoredKeys } from './stored-keys.js';

/** Ids of removed users, as hashes under separate hash keys. Applications know a user by `sub`, so no other user may get the id. */
export interface RemovedUserIds {
  /** Encrypts the hash keys under the newest secret. Call the method at each start. */
  begin(): Promise<void>;
  /**
   * Records the id before its user is removed, because a node may stop between the two writes. While the user exists, the record has no effect, because the
   * id is not free anyway. The method may be called again.
   */
  note(userId: string): Promise<void>;
  has(userId: string): Promise<boolean>;
}

/** Id of the row of the hash keys. */
const KEYS = 'keys';

interface Parts {
  readonly rows: CheckedCollection<RemovedUser>;
  readonly sealer: Pick<Sealer, 'encrypt' | 'decrypt' | 'isCurrent'>;
  readonly logger: Pick<Logger, 'warn'>;
}

export function createRemovedUserIds({ rows, sealer, logger }: Parts): RemovedUserIds {
  const keys = createStoredKeys({ rows, row: { id: KEYS }, purpose: 'ids of removed users', sealer });
  const hashOf = (key: string, userId: string): string => createHmac('sha256', key).update(userId).digest('base64url');

  return {
    async begin() {
      if (await keys.begin()) return;
      logger.warn({}, 'a key for ids of removed users is unreadable with the secrets in keys.encryption, so new users may get these ids');
    },
    async note(userId) {
      const [key] = await keys.forWriting();
      await rows.insert({ id: hashOf(key, userId) }).catch(IdpError.unless('conflict'));
    },
    async has(userId) {
      const answers = await Promise.all((await keys.all()).map((key) => rows.has(hashOf(key, userId))));
      return answers.includes(true);
    },
  };
}
