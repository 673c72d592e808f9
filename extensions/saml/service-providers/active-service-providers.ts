/** Active service providers, by id and by entityID. A disabled service provider counts as unknown. */
import type { Awaitable, ExtensionContext } from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';
import { type ServiceProvider, serviceProviders } from './records.js';

export interface ActiveServiceProviders {
  /** Returns the service provider, at most a second old. The answer is a promise only if the cache does not have the service provider. */
  get(id: string): Awaitable<ServiceProvider | undefined>;
  /** Returns the service provider with an entityID at the owner's entity, at most a second old. @param owner a tenant's id, or `ofInstance` */
  byEntityId(owner: string, entityId: string): Awaitable<ServiceProvider | undefined>;
}

/** Characters of an entityID, and of an id, at most. Longer texts are unknown without a look-up. @see SAML Core §8.3.6 */
const MOST_ENTITY_ID = 1024;
const MOST_ID = 100;

export function createActiveServiceProviders({ records: { cached } }: Pick<ExtensionContext, 'records'>): ActiveServiceProviders {
  const rows = cached(serviceProviders, 'byEntityId');
  const ifActive = (row: ServiceProvider | undefined) => (row?.status === 'active' ? row : undefined);
  return {
    get: (id) => (id.length > MOST_ID ? undefined : awaited(rows.get(id), ifActive)),
    byEntityId: (owner, entityId) =>
      entityId.length > MOST_ENTITY_ID ? undefined : awaited(rows.findAll(owner, [entityId]), ({ rows: [row] }) => ifActive(row)),
  };
}
