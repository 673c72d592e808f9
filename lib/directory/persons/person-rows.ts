import { IdpError } from '../../errors.js';
import type { Unsaved } from '../../store/directory-store.js';
import { collections as specs } from '../../store/records/collections.js';
import type { Person, PersonWithUser } from '../../store/records/records.js';
import { comparedUserNames } from '../../text/compared.js';
import type { DirectoryContext } from '../context.js';
import { createTenantScope, type TenantScope } from '../tenants/tenant-scope.js';
import { hasUser } from './user-record.js';

/** The persons of a tenant as rows. A conflict names the duplicate value. */
export interface PersonRows extends TenantScope<Person> {
  getByUser(userId: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `not_found`. */
  requireByUser(userId: string): Promise<PersonWithUser>;
  getByUserName(userName: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `not_found`. */
  updateByUser(userId: string, change: (row: PersonWithUser) => Unsaved<Person>): Promise<PersonWithUser>;
}

export function createPersonRows({ collections }: DirectoryContext, tid: string): PersonRows {
  const rows = createTenantScope(collections.persons, specs.persons, tid);
  const first = async (index: keyof typeof specs.persons.indexes, values: readonly string[]) => (await rows.find(index, values))[0];

  const withUser = (person: Person | undefined) => (hasUser(person) ? person : undefined);
  const getByUser = async (userId: string) => withUser(await first('byUser', [userId]));
  const requireByUser = async (userId: string) => {
    const person = await getByUser(userId);
    if (person === undefined) throw new IdpError('not_found');
    return person;
  };
  const getByUserName = async (userName: string) => {
    for (const key of comparedUserNames(userName)) {
      const person = withUser(await first('byUserName', [key]));
      if (person) return person;
    }
    return undefined;
  };

  const written = (write: () => Promise<Person>, given: () => Partial<Person>, userIdPath: string): Promise<Person> =>
    write().catch(async (error: unknown) => {
      throw IdpError.is(error, 'conflict') ? await explained(given(), userIdPath) : error;
    });

  /** Explains a conflict, because the store does not report which value was a duplicate. */
  const explained = async ({ id, user, externalId, nationalIdHash }: Partial<Person>, userIdPath: string): Promise<IdpError> => {
    const taken = (holder: Person | undefined) => holder !== undefined && holder.id !== id;
    if (user && taken(await first('byUserName', [user.userNameKey]))) return new IdpError('user_name_taken');
    if (externalId !== undefined && taken(await first('byExternalId', [externalId]))) {
      return new IdpError('conflict', { path: '/externalId' });
    }
    if (nationalIdHash !== undefined && taken(await first('byNationalId', [nationalIdHash]))) {
      return new IdpError('conflict', { path: '/nationalId' });
    }
    const ofUser = user && (await collections.persons.find({ byUser: [user.id] }, { limit: 1 }));
    return new IdpError('conflict', { path: taken(ofUser?.[0]) ? userIdPath : '/id' });
  };

  const update: PersonRows['update'] = (id, change) => {
    let next: Partial<Person> = {};
    const remembered = (row: Person) => {
      const changed = change(row);
      next = changed;
      return changed;
    };
    return written(
      () => rows.update(id, remembered),
      () => next,
      '/id',
    );
  };

  return {
    ...rows,
    getByUser,
    requireByUser,
    getByUserName,
    insert: (row) =>
      written(
        () => rows.insert(row),
        () => row,
        '/user/id',
      ),
    update,
    async updateByUser(userId, change) {
      const { id } = await requireByUser(userId);
      const person = await update(id, (row) => (hasUser(row) && row.user.id === userId ? change(row) : row));
      if (!hasUser(person) || person.user.id !== userId) throw new IdpError('not_found');
      return person;
    },
  };
}
