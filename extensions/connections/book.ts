/** Connections by id and by domain, of whatever tenant. */
import { LRUCache } from 'lru-cache';
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
  /** After a change that this node made. */
  forget(id: string): void;
}

/** Milliseconds that an answer is remembered for: a change is on every node within about a second. */
const RECENT_MS = 1000;
const MOST = 1000;
/** Tenants whose connections are looked for. */
const MOST_TENANTS = 20;

export const isActive = (connection: Connection | undefined): connection is Connection => connection?.status === 'active';

/** Whether users of the tenant may sign in by it. */
export const isFor = ({ tid }: Connection, ofInstance: string, user: string): boolean => tid === ofInstance || tid === user;

export function createConnectionBook(context: ExtensionContext): ConnectionBook {
  const { collection, collectionOfAllTenants, ofInstance } = context.records;
  const get = async (id: string) => (await collectionOfAllTenants(connections).get(id)) as Connection | undefined;
  const byId = remembered(get);
  // Pages go on without the store by what they knew: each sign-in reads its connection anew.
  const byOwner = remembered((tid) => collection(connections, tid).list(), true);
  const byDomain = remembered(async (domain) => {
    const row = await collectionOfAllTenants(domains).get(domain);
    return row && get(row.connectionId);
  }, true);
  return {
    get,
    recent: byId.at,
    async of(tids) {
      const found = await Promise.all([ofInstance, ...tids.slice(0, MOST_TENANTS)].map(byOwner.at));
      return found
        .flat()
        .filter(isActive)
        .sort((one, other) => one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1));
    },
    async ofDomain(domain) {
      const connection = await byDomain.at(domain);
      return isActive(connection) && connection.domains.includes(domain) ? connection : undefined;
    },
    forget(id) {
      byId.forget(id);
      byOwner.forget();
      byDomain.forget();
    },
  };
}

/** What the store answered within a second; a promise only if it is not at hand. @param isKept whether it stands while the store fails */
function remembered<Value>(ask: (key: string) => Promise<Value>, isKept = false) {
  const known = new LRUCache<string, { readonly found: Value; readonly until: number }>({ max: MOST });
  return {
    at(key: string): Value | Promise<Value> {
      const before = known.get(key);
      if (before && performance.now() < before.until) return before.found;
      return ask(key).then(
        (found) => {
          known.set(key, { found, until: performance.now() + RECENT_MS });
          return found;
        },
        (error: unknown) => {
          if (!isKept || !before) throw error;
          return before.found;
        },
      );
    },
    /** One of them, or all. */
    forget: (key?: string): void => void (key === undefined ? known.clear() : known.delete(key)),
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
