import type { Keyring } from '../../store/keyring.js';
import type { Person } from '../../store/records/records.js';
import { withoutUnseen } from '../../text/kinds.js';
import { normalForm } from '../../text/normal-form.js';

/** National ids of a tenant: encrypted, with a keyed hash for look-ups. The hash of one tenant is of no use in another. */
export function createNationalIds(keyring: Keyring, tid: string) {
  const normalised = (nationalId: string) => normalForm(withoutUnseen(nationalId), 'NFKC').trim();
  const hashes = (nationalId: string) => keyring.hashes(PURPOSE, JSON.stringify([tid, normalised(nationalId)]));
  const seal = (personId: string, nationalId: string) => ({
    nationalId: keyring.encrypt(PURPOSE, personId, normalised(nationalId)),
    nationalIdHash: hashes(nationalId)[0],
  });
  return {
    /** Under all keys, newest first. */
    hashes,
    seal,
    open: (personId: string, sealed: string) => keyring.decrypt(PURPOSE, personId, sealed),
    /** The members that a patch with this value changes. Encrypting the same value anew is no change. */
    changes(person: Person, nationalId: string | null | undefined) {
      if (nationalId === null) return { nationalId: null, nationalIdHash: null };
      if (nationalId === undefined || person.nationalIdHash === hashes(nationalId)[0]) return {};
      return seal(person.id, nationalId);
    },
  };
}

const PURPOSE = 'national id';
