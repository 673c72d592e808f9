import { IdpError } from '../../errors.js';
import type { DirectoryContext } from '../context.js';
import { isId } from '../identifiers.js';
import { createNameSpace, type NameLease, type SharedIds } from '../name-space.js';

/**
 * Checks an id.
 * @throws IdpError `conflict` for the id of the service's own API resource; `invalid_record` for a UUID with capital letters. Ids of users are in lower
 * case, and a program that ignores case would mistake the client for the user.
 */
export function checkSharedId(id: string, { ownApi }: Pick<DirectoryContext, 'ownApi'>): void {
  if (isId(id) && id !== id.toLowerCase()) throw new IdpError('invalid_record', { path: '/id', expected: 'a UUID in lower case' });
  if (ownApi?.().id === id) throw new IdpError('conflict', { path: '/id' });
}

interface Parts extends Pick<DirectoryContext, 'removedUserIds'> {
  readonly collections: Pick<DirectoryContext['collections'], 'clients' | 'apiResources' | 'persons'>;
}

type IsTaken = (id: string) => Promise<boolean>;

export function createSharedIds({ collections, removedUserIds }: Parts, lease: NameLease): SharedIds {
  const { clients, apiResources, persons } = collections;
  const checkFree =
    (...taken: readonly IsTaken[]) =>
    async (id: string): Promise<void> => {
      const answers = await Promise.all(taken.map((isTaken) => isTaken(id)));
      if (answers.includes(true)) throw new IdpError('conflict', { path: '/id' });
    };
  /** Checks whether a user has the id. The id of a removed user counts too, because applications may still know the user by it. */
  const byUser: IsTaken = async (id) => isId(id) && ((await persons.has({ byUser: [id] })) || removedUserIds.has(id));
  return createNameSpace('authentication', lease, {
    client: checkFree(apiResources.has, byUser),
    apiResource: checkFree(clients.has, byUser),
    user: checkFree(clients.has, apiResources.has),
  });
}
