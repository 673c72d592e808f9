/** Domains are of one connection each. */
import { type ExtensionContext, IdpError } from '../../../lib/extension-door.js';
import type { ConnectionBook } from '../book.js';
import { domains } from '../records.js';

/** Takes the domains for the connection. @throws IdpError `conflict`; then none was taken. */
export async function takeDomains(
  { collection, collectionOfAllTenants }: ExtensionContext,
  book: ConnectionBook,
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

  /** What a connection has that is gone, or gave it up, is free. */
  async function take(domain: string): Promise<boolean> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const inserted = await rows.insert({ connectionId: id }, { id: domain }).catch(IdpError.unless('conflict'));
      if (inserted) {
        taken.push(domain);
        return true;
      }
      const holder = await collectionOfAllTenants(domains).get(domain);
      if (holder?.connectionId === id) return true;
      if (holder && (await book.get(holder.connectionId))?.domains.includes(domain)) return false;
      if (holder) await collection(domains, holder.tid).remove(domain).catch(IdpError.unless('not_found'));
    }
    return false;
  }
}

export async function giveUpDomains(
  { collection, collectionOfAllTenants }: ExtensionContext,
  id: string,
  given: readonly string[],
): Promise<void> {
  for (const domain of given) {
    const row = await collectionOfAllTenants(domains).get(domain);
    if (row?.connectionId === id) await collection(domains, row.tid).remove(domain).catch(IdpError.unless('not_found'));
  }
}
