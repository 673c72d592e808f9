/** Problems of readable rows that no single read finds: references to missing records, and derived members that an index misses. */
import type { Row } from '../store/directory-store.js';
import { isKeyedCollection, staleKey } from '../store/records/derived-keys.js';
import type { Invitation, Outboxed, Person, Tenant } from '../store/records/records.js';
import { hasRowChecks } from '../store/records/row-checks.js';
import type { ProblemOfRow } from '../store/records/row-sweep.js';
import type { DirectoryContext } from './context.js';
import { missingReference } from './invitations/invitation-lists.js';
import { externalIdentityKey } from './persons/user-record.js';
import { OF_INSTANCE } from './tenants/extension-collections.js';

/**
 * References that a record cannot do without:
 * - the tenant of a record,
 * - the person and the user of an invitation,
 * - the parent account of a linked account.
 *
 * A restore or another program may have removed the other record. Ids of removed groups and subsidiaries are not such references, because a
 * removal leaves them behind, and reads ignore them.
 *
 * The functions return a JSON Pointer to a reference to a missing record. An unreadable record is not missing, because `health()` names it
 * itself.
 */
export interface MissingReferences {
  /** Returns any missing reference. */
  of(collection: string, row: Row): Promise<string | undefined>;
  /**
   * Returns a missing reference because of which the services of the tenant do not find the record: the person or user of an invitation.
   * Here, an unreadable person counts as missing, because its user cannot be read.
   */
  hiding(collection: string, row: Row): Promise<string | undefined>;
}

/** Collections of the service whose rows are removed with their tenant. Rows of extensions are removed with the tenant too. */
const ofTenants: readonly string[] = ['subsidiaries', 'persons', 'groups', 'invitations'];

export function createMissingReferences({ collections, caches }: Pick<DirectoryContext, 'collections' | 'caches'>): MissingReferences {
  const { tenants, removals, persons } = collections;
  const cached = caches.rows<Tenant>('tenants');

  const hasTenant = async (tid: string): Promise<boolean> =>
    (await cached.get(tid)) !== undefined || (await tenants.has(tid)) || (await removals.has(tid));

  async function ofPerson({ user }: Person): Promise<string | undefined> {
    if (user?.parentUserId === undefined || (await persons.has({ byUser: [user.parentUserId] }))) return undefined;
    return '/user/parentUserId';
  }

  const hiding = async (collection: string, row: Row): Promise<string | undefined> =>
    collection === 'invitations' ? missingReference(row as Invitation, await persons.get((row as Invitation).personId)) : undefined;

  async function ofInvitation(row: Row): Promise<string | undefined> {
    const path = await hiding('invitations', row);
    return path === '/personId' && (await persons.unreadable((row as Invitation).personId)) ? undefined : path;
  }

  async function ofTenant(collection: string, row: Row): Promise<string | undefined> {
    const { tid } = row as { readonly tid?: unknown };
    if (typeof tid !== 'string') return undefined;
    const isOfExtension = !hasRowChecks(collection);
    // Rows of extensions may belong to the instance. The remainder of a removed row has no tenant.
    if (isOfExtension ? tid === '' || tid === OF_INSTANCE : !ofTenants.includes(collection)) return undefined;
    return (await hasTenant(tid)) ? undefined : '/tid';
  }

  return {
    hiding,
    of: async (collection, row) =>
      (await ofTenant(collection, row)) ??
      (collection === 'invitations' ? await ofInvitation(row) : undefined) ??
      (collection === 'persons' ? await ofPerson(row as Person) : undefined),
  };
}

/** @param missingReference returns a JSON Pointer to a reference to a missing record. */
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
    // Until the derived members of all rows are complete, lists do not use these indexes.
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
