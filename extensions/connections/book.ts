/** Connections by id and by domain, of whatever tenant. */
import { canParseUrl, type ExtensionContext } from '../../lib/extension-door.js';
import { type Connection, connections, domains } from './records.js';

export interface ConnectionBook {
  /** As it is stored now. */
  get(id: string): Promise<Connection | undefined>;
  /** As it was within a second; a promise only if it is not at hand. */
  recent(id: string): Connection | undefined | Promise<Connection | undefined>;
  /** Those of the instance and of these tenants that are active, in the order of their names. */
  of(tids: readonly string[]): Promise<readonly Connection[]>;
  /** The active one that people of this domain sign in by. */
  ofDomain(domain: string): Promise<Connection | undefined>;
}

/** Tenants whose connections are looked for. */
const MOST_TENANTS = 20;

export const isActive = (connection: Connection | undefined): connection is Connection => connection?.status === 'active';

/** Whether users of the tenant may sign in by it. */
export const isFor = ({ tid }: Connection, ofInstance: string, user: string): boolean => tid === ofInstance || tid === user;

export function createConnectionBook(context: ExtensionContext): ConnectionBook {
  const { cached, collectionOfAllTenants, ofInstance } = context.records;
  // Pages go on without the store by what they knew: each sign-in reads its connection from the store.
  const rows = cached(connections);
  const domainRows = cached(domains);
  return {
    get: (id) => collectionOfAllTenants(connections).get(id),
    recent: (id) => rows.get(id),
    async of(tids) {
      const found = await Promise.all([ofInstance, ...tids.slice(0, MOST_TENANTS)].map((tid) => rows.findAll(tid, [])));
      return found
        .flatMap((each) => each.rows)
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

/** The domain of an e-mail address, as it is compared; undefined for another name. */
export function domainOf(identifier: string): string | undefined {
  const at = identifier.lastIndexOf('@');
  return at > 0 ? foldedDomain(identifier.slice(at + 1)) : undefined;
}

/** Characters of a domain at most, in whatever script. @see RFC 1035 §2.3.4 */
const LONGEST_DOMAIN = 255;

/** In ASCII and lower case; undefined for what is no domain. @see RFC 5891 */
export function foldedDomain(domain: string): string | undefined {
  if (domain.length > LONGEST_DOMAIN) return undefined;
  const trimmed = domain.trim().replace(/\.$/, '');
  if (!/^[^\s/:?#@[\]\\%]+\.[^\s/:?#@[\]\\%]+$/.test(trimmed) || !canParseUrl(`http://${trimmed}`)) return undefined;
  const { hostname } = new URL(`http://${trimmed}`);
  return /^[a-z0-9.-]+$/.test(hostname) && !/^[\d.]+$/.test(hostname) ? hostname : undefined;
}
