/** Service providers that are active, by id and by entityID. One that is disabled is unknown here, to whoever asks. */
import { LRUCache } from 'lru-cache';
import type { ExtensionContext } from '../../../lib/extension-door.js';
import { type ServiceProvider, serviceProviders } from './records.js';

export interface ServiceProviderBook {
  /** As it was within a second; a promise only if it is not at hand. */
  get(id: string): ServiceProvider | undefined | Promise<ServiceProvider | undefined>;
  /** The one that the owner's entity knows under this entityID, as it was within a second. @param owner a tenant's id, or `ofInstance` */
  byEntityId(owner: string, entityId: string): ServiceProvider | undefined | Promise<ServiceProvider | undefined>;
  /** After a change that this node made. */
  forget(id: string): void;
}

/** Milliseconds that an answer is remembered for: a change is on every node within about a second. */
const RECENT_MS = 1000;
const MOST = 1000;
/** Characters of an entityID, and of an id: nobody has one that is longer. @see SAML Core §8.3.6 */
const MOST_ENTITY_ID = 1024;
const MOST_ID = 100;

export function createServiceProviderBook({
  records: { collection, collectionOfAllTenants },
}: Pick<ExtensionContext, 'records'>): ServiceProviderBook {
  // What strangers name without being registered is not remembered, because it would drive out those that are.
  const known = new LRUCache<string, { readonly row: ServiceProvider; readonly until: number }>({ max: MOST });
  const idOf = new LRUCache<string, string>({ max: MOST });
  const asked = new Map<string, Promise<ServiceProvider | undefined>>();
  /** Counts changes: what was asked before one may be older than it. */
  let changes = 0;

  const nameOf = (owner: string, entityId: string): string => JSON.stringify([owner, entityId]);
  const recent = (id: string | undefined): ServiceProvider | undefined => {
    const found = id === undefined ? undefined : known.get(id);
    return found && performance.now() < found.until ? found.row : undefined;
  };

  /** Asks the store once, however many wait for it. */
  function ask(key: string, read: () => Promise<ServiceProvider | undefined>): Promise<ServiceProvider | undefined> {
    const before = changes;
    const name = `${before} ${key}`;
    const waiting = asked.get(name);
    if (waiting !== undefined) return waiting;
    const answer = read()
      .then((found) => {
        const row = found?.status === 'active' ? found : undefined;
        if (row && before === changes) {
          known.set(row.id, { row, until: performance.now() + RECENT_MS });
          idOf.set(nameOf(row.tid, row.entityId), row.id);
        }
        return row;
      })
      .finally(() => asked.delete(name));
    asked.set(name, answer);
    return answer;
  }

  return {
    get: (id) =>
      id.length > MOST_ID ? undefined : (recent(id) ?? ask(`id ${id}`, async () => collectionOfAllTenants(serviceProviders).get(id))),
    byEntityId(owner, entityId) {
      if (entityId.length > MOST_ENTITY_ID) return undefined;
      const name = nameOf(owner, entityId);
      const row = recent(idOf.get(name));
      if (row?.tid === owner && row.entityId === entityId) return row;
      return ask(name, async () => (await collection(serviceProviders, owner).find('byEntityId', [entityId]))[0]);
    },
    forget(id) {
      changes += 1;
      known.delete(id);
    },
  };
}
