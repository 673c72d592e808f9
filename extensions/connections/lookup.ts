/** Look-ups of connections by id, tenant and domain. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { type Connection, connections, domains } from './records.js';

export interface ConnectionLookup {
  /** Reads the connection from the store. */
  get(id: string): Promise<Connection | undefined>;
  /** Returns the connection as it was at most one second ago. The answer is a promise only if the connection is not cached. */
  recent(id: string): Connection | undefined | Promise<Connection | undefined>;
  /** Returns the active connections of the instance and of the tenants, in the order of their names. */
  ofTenants(tids: readonly string[]): Promise<readonly Connection[]>;
  /** Returns the active connection by which users of the domain sign in. */
  ofDomain(domain: string): Promise<Connection | undefined>;
}

/** Maximum tenants whose connections are read. */
const MOST_TENANTS = 20;

export const isActive = (connection: Connection | undefined): connection is Connection => connection?.status === 'active';

/** Returns whether users of the tenant may sign in by the connection. */
export const isFor = ({ tid }: Connection, ofInstance: string, user: string): boolean => tid === ofInstance || tid === user;

export function createConnectionLookup(context: ExtensionContext): ConnectionLookup {
  const { cached, collectionOfAllTenants, ofInstance } = context.records;
  // The caches keep pages working while the store is unavailable. Each sign-in reads its connection from the store.
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
