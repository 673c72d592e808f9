/** Service providers that are active, by id and by entityID. One that is disabled is unknown here, to whoever asks. */
import type { Awaitable, ExtensionContext } from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';
import { type ServiceProvider, serviceProviders } from './records.js';

export interface ActiveServiceProviders {
  /** As it was within a second; a promise only if it is not at hand. */
  get(id: string): Awaitable<ServiceProvider | undefined>;
  /** The one that the owner's entity knows under this entityID, as it was within a second. @param owner a tenant's id, or `ofInstance` */
  byEntityId(owner: string, entityId: string): Awaitable<ServiceProvider | undefined>;
}

/** Characters of an entityID, and of an id: nobody has one that is longer. @see SAML Core §8.3.6 */
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
