/**
 * References that a record cannot do without: the tenant of a record, the person and the user of an invitation, the parent of a linked account. A restore or
 * another program may have removed the other record. Ids of removed groups, subsidiaries and permissions are no such references, because a removal leaves them
 * behind, and reads ignore them.
 */
import type { Row } from '../../store/directory-store.js';
import type { Invitation, Person, Tenant } from '../../store/records/records.js';
import { hasRowChecks } from '../../store/records/row-checks.js';
import type { DirectoryContext } from '../context.js';
import { OF_INSTANCE } from '../tenants/extension-collections.js';
import { missingReference } from './invitation-lists.js';

/** Functions that return a JSON Pointer to a reference to a missing record. An unreadable record is not missing, because `health()` names it itself. */
export interface MissingReferences {
  /** Any missing reference. */
  of(collection: string, row: Row): Promise<string | undefined>;
  /** A missing reference because of which the services of the tenant do not find the record: the person or user of an invitation. */
  hiding(collection: string, row: Row): Promise<string | undefined>;
}

/** Collections of the service whose rows are removed with their tenant. Rows of extensions are removed with it too. */
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

  async function ofInvitation(row: Invitation): Promise<string | undefined> {
    const person = await persons.get(row.personId);
    return person === undefined && (await persons.has(row.personId)) ? undefined : missingReference(row, person);
  }

  const hiding = async (collection: string, row: Row): Promise<string | undefined> =>
    collection === 'invitations' ? ofInvitation(row as Invitation) : undefined;

  async function ofTenant(collection: string, row: Row): Promise<string | undefined> {
    const { tid } = row as { readonly tid?: unknown };
    const isOfTenant = ofTenants.includes(collection) || !hasRowChecks(collection);
    // The rest of a removed row has no tenant.
    if (isOfTenant && typeof tid === 'string' && tid !== '' && tid !== OF_INSTANCE && !(await hasTenant(tid))) return '/tid';
    return undefined;
  }

  return {
    hiding,
    of: async (collection, row) =>
      (await ofTenant(collection, row)) ??
      (await hiding(collection, row)) ??
      (collection === 'persons' ? await ofPerson(row as Person) : undefined),
  };
}
