/** Domains of connections. A domain belongs to one connection. */
import { type ExtensionContext, IdpError } from '../../../lib/extension-door.js';
import type { ConnectionLookup } from '../lookup.js';
import { domains } from '../records.js';

/**
 * Milliseconds in which a connection must be written after it took a domain. If a node pauses for longer, the connection may lose the domain: see
 * {@link lostDomain}.
 */
const SETTLED_MS = 60_000;

/** Takes the domains for the connection. Write the connection next. @throws IdpError `conflict`, and then no domain was taken */
export async function takeDomains(
  { records: { collection, collectionOfAllTenants }, service: { now } }: ExtensionContext,
  lookup: ConnectionLookup,
  { id, tid }: { readonly id: string; readonly tid: string },
  wanted: readonly string[],
): Promise<void> {
  const rows = collection(domains, tid);
  const taken: string[] = [];
  for (const [index, domain] of wanted.entries()) {
    if (await take(domain)) continue;
    for (const one of taken) await rows.remove(one).catch(IdpError.unless('not_found'));
    throw new IdpError('conflict', { path: `/domains/${index}` });
  }

  /** Takes a domain if it is free: its holder was removed or gave it up. A holder that took the domain in the last minute may not be written yet. */
  async function take(domain: string): Promise<boolean> {
    const has = async (connectionId: string): Promise<boolean> => (await lookup.get(connectionId))?.domains.includes(domain) === true;
    let former: string | undefined;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const inserted = await rows.insert({ connectionId: id, takenAt: now() }, { id: domain }).catch(IdpError.unless('conflict'));
      if (inserted) {
        // The former holder may have been written after this read. Then either that write or this check detects the conflict.
        if (former !== undefined && (await has(former))) {
          await rows.remove(domain).catch(IdpError.unless('not_found'));
          return false;
        }
        taken.push(domain);
        return true;
      }
      const holder = await collectionOfAllTenants(domains).get(domain);
      if (holder?.connectionId === id) return true;
      if (holder && (holder.takenAt > now() - SETTLED_MS || (await has(holder.connectionId)))) return false;
      former = holder?.connectionId;
      if (holder) await collection(domains, holder.tid).remove(domain).catch(IdpError.unless('not_found'));
    }
    return false;
  }
}

/** Returns the index of the first domain that another connection has taken since. Call this function after the write of the connection. */
export async function lostDomain(
  { records: { collectionOfAllTenants } }: ExtensionContext,
  { id, domains: own }: { readonly id: string; readonly domains: readonly string[] },
): Promise<number | undefined> {
  for (const [index, domain] of own.entries()) if ((await collectionOfAllTenants(domains).get(domain))?.connectionId !== id) return index;
  return undefined;
}

export async function giveUpDomains(
  { records: { collection, collectionOfAllTenants } }: ExtensionContext,
  id: string,
  given: readonly string[],
): Promise<void> {
  for (const domain of given) {
    const row = await collectionOfAllTenants(domains).get(domain);
    if (row?.connectionId === id) await collection(domains, row.tid).remove(domain).catch(IdpError.unless('not_found'));
  }
}
