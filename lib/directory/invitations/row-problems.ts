/** Problems of readable rows that no single read finds, for the sweep of records. */
import type { Row } from '../../store/directory-store.js';
import { isKeyedCollection, staleKey } from '../../store/records/derived-keys.js';
import type { Outboxed, Person } from '../../store/records/records.js';
import type { ProblemOfRow } from '../../store/records/row-sweep.js';
import type { DirectoryContext } from '../context.js';
import { externalIdentityKey } from '../persons/user-record.js';

/** @param missingReference returns a JSON Pointer to a reference that leads nowhere. */
export function createRowProblems(
  { isKeyed }: Pick<DirectoryContext, 'isKeyed'>,
  missingReference: (collection: string, row: Row) => Promise<string | undefined>,
): (collection: string, row: Row) => Promise<ProblemOfRow | undefined> {
  /** Returns a JSON Pointer to a derived member that is missing or differs, so that an index misses the row. */
  async function unindexed(collection: string, row: Row): Promise<string | undefined> {
    const { pendingEvents = [], outbox } = row as Row & Partial<Outboxed>;
    if (pendingEvents.length > 0 && outbox === undefined) return '/outbox';
    if (!isKeyedCollection(collection)) return undefined;
    const stale = staleKey(collection, row);
    // Until the completion is through, lists do without these indexes.
    if (stale !== undefined && (await isKeyed(collection))) return `/${stale}`;
    return collection === 'persons' ? ofIdentities(row as Person) : undefined;
  }

  return async (collection, row) => {
    const reference = await missingReference(collection, row);
    if (reference !== undefined) return { code: 'reference_missing', path: reference };
    const path = await unindexed(collection, row);
    return path === undefined ? undefined : { code: 'record_not_indexed', path };
  };
}

function ofIdentities({ user, nationalId, nationalIdHash }: Person): string | undefined {
  if (nationalId !== undefined && nationalIdHash === undefined) return '/nationalIdHash';
  const { externalIdentities = [], externalIdentityKeys = [] } = user ?? {};
  const areSame =
    externalIdentities.length === externalIdentityKeys.length &&
    externalIdentities.every((identity) => externalIdentityKeys.includes(externalIdentityKey(identity)));
  return areSame ? undefined : '/user/externalIdentityKeys';
}
