import { IdpError } from '../../errors.js';
import type { DirectoryContext } from '../context.js';
import { createNameSpace, type NameLease, type SharedIds } from '../name-space.js';

/** @throws IdpError `conflict` for the id of the service's own API resource. */
export function checkNotReserved(id: string, { ownApi }: Pick<DirectoryContext, 'ownApi'>): void {
  if (ownApi?.().id === id) throw new IdpError('conflict', { path: '/id' });
}

export function createSharedIds(
  { clients, apiResources }: Pick<DirectoryContext['collections'], 'clients' | 'apiResources'>,
  lease: NameLease,
): SharedIds {
  const checkFree = (others: Pick<typeof clients | typeof apiResources, 'has'>) => async (id: string) => {
    if (await others.has(id)) throw new IdpError('conflict', { path: '/id' });
  };
  return createNameSpace('authentication', lease, { client: checkFree(apiResources), apiResource: checkFree(clients) });
}
