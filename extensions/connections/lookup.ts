/** Connections by id and by domain, of whatever tenant. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { type Connection, connections, domains } from './records.js';

export interface ConnectionLookup {
  /** As it is stored now. */
  get(id: string): Promise<Connection | undefined>;
  /** As it was within a second; a promise only if it is not at hand. */
  recent(id: string): Connection | undefined | Promise<Connection | undefined>;
  /** Those of the instance and of these tenants that are active, in the order of their names. */
  ofTenants(tids: readonly string[]): Promise<readonly Connection[]>;
  /** The active one that people of this domain sign in by. */
  ofDomain(domain: string): Promise<Connection | undefined>;
}

/** Tenants whose connections are looked for. */
const MOST_TENANTS = 20;

export const isActive = (connection: Connection | undefined): connection is Connection => connection?.status === 'active';

/** Whether users of the tenant may sign in by it. */
export const isFor = ({ tid }: Connection, ofInstance: string, user: string): boolean => tid === ofInstance || tid === user;

export function createConnectionLookup(context: ExtensionContext): ConnectionLookup {
  const { cached, collectionOfAllTenants, ofInstance } = context.records;
  // Pages go on without the store by what they knew: each sign-in reads its connection from the store.
  const rows = cached(connections);
  const domainRows = cached(domains);
  return {
    get: (id) => collectionOfAllTenants(connections).get(id),
    recent: (id) => rows.get(id),
    async ofTenants(tids) {
      const lists = await Promise.all([ofInstance, ...tids.slice(0, MOST_TENANTS)].map((tid) => rows.findAll(tid, [])));
      return lists
        .flatMap((list) => list.rows)
        .filter(isActive)
        .sort((one, other) => one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1));
    },
    async ofDomain(domain) {
      const row = await domainRows.get(domain);
      const connection = row && (await rows.get(row.connectionId));
      return isActive(connection) && connection.domains.includes(domain) ? connection : undefined;
    },
  };
}
