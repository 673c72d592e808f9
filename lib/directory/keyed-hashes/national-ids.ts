import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { Person, UpkeepRecord } from '../../store/records/records.js';
import { createSealer, type Sealer } from '../../store/sealer.js';
import { withoutUnseen } from '../../text/kinds.js';
import { normalForm } from '../../text/normal-form.js';
import { createStoredKeys } from './stored-keys.js';

/** National ids: encrypted, with a keyed hash for look-ups, under stored hash keys. A hash for one tenant is useless in another. */
export interface NationalIds {
  /** Encrypts the hash keys under the newest secret. Call the method at each start. */
  begin(): Promise<void>;
  forTenant(tid: string): NationalIdsOfTenant;
}

export interface NationalIdsOfTenant {
  /** Returns the hashes of the id under all hash keys. */
  hashes(nationalId: string): Promise<readonly string[]>;
  /** Returns the members of the person's record. */
  seal(personId: string, nationalId: string): Promise<Pick<Person, 'nationalId' | 'nationalIdHash'>>;
  /** @throws IdpError `undecipherable` */
  open(personId: string, sealed: string): Promise<string>;
}

interface Parts {
  readonly rows: CheckedCollection<UpkeepRecord>;
  readonly sealer: Pick<Sealer, 'encrypt' | 'decrypt' | 'isCurrent'>;
  readonly logger: Pick<Logger, 'warn'>;
}

const PURPOSE = 'national id';

export function createNationalIds({ rows, sealer, logger }: Parts): NationalIds {
  const keys = createStoredKeys({ rows, row: { id: 'keys of national ids', done: 0 }, purpose: 'keys of national ids', sealer });
  const normalised = (nationalId: string) =>
    normalForm(withoutUnseen(nationalId), 'NFKC')
      .replace(/\p{White_Space}+/gu, ' ')
      .trim();

  return {
    async begin() {
      if (await keys.begin()) return;
      logger.warn(
        {},
        'a key for national ids is unreadable with the secrets in keys.encryption, so the service cannot read, find or compare these ids',
      );
    },
    forTenant(tid) {
      const hashed = (ring: Sealer, nationalId: string) => ring.hashes(PURPOSE, JSON.stringify([tid, normalised(nationalId)]));
      return {
        async hashes(nationalId) {
          const readable = await keys.all();
          return readable.length === 0 ? [] : hashed(createSealer(readable), nationalId);
        },
        async seal(personId, nationalId) {
          const ring = createSealer(await keys.forWriting());
          return {
            nationalId: ring.encrypt(PURPOSE, personId, normalised(nationalId)),
            nationalIdHash: hashed(ring, nationalId)[0],
          };
        },
        async open(personId, sealed) {
          const readable = await keys.all();
          if (readable.length === 0) throw new IdpError('undecipherable');
          return createSealer(readable).decrypt(PURPOSE, personId, sealed);
        },
      };
    },
  };
}

/**
 * Returns the members that a patch changes. Encrypting the same value again is no change. @param sealed members with the patch's value, encrypted and
 * hashed; absent if the patch has no value
 */
export const changedNationalId = (
  person: Person,
  sealed: Pick<Person, 'nationalId' | 'nationalIdHash'> | null | undefined,
): Partial<Record<'nationalId' | 'nationalIdHash', string | null>> => {
  if (sealed === null) return { nationalId: null, nationalIdHash: null };
  return sealed === undefined || person.nationalIdHash === sealed.nationalIdHash ? {} : sealed;
};
