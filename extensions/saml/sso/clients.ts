/** Service providers, as the sign-in sees them: applications with a name, and tenants whose users may sign in. */
import { LRUCache } from 'lru-cache';
import type { ExtensionContext, InternalClient, InternalClients } from '../../../lib/extension-door.js';
import type { ServiceProviderBook } from '../service-providers/book.js';
import { CLIENT_PREFIX, type ServiceProvider } from '../service-providers/records.js';

const MOST = 1000;

/** Where the browser comes back to from the sign-in, whoever it was for. */
export const returnPath = (own: string): string => `${own}/saml/sso/answer`;

/** Tenants whose users may sign in; undefined: all. The service provider of a tenant is for its users alone. */
export const tenantsOf = ({ tid, allowedTenants }: ServiceProvider, ofInstance: string): readonly string[] | undefined =>
  tid === ofInstance ? allowedTenants : [tid];

/** The same object for a service provider until it changes, because the sign-in keeps what it makes of one. */
export function createClients(
  { own, ofInstance }: Pick<ExtensionContext, 'own' | 'ofInstance'>,
  book: Pick<ServiceProviderBook, 'get'>,
): InternalClients {
  const known = new LRUCache<string, { readonly made: string; readonly client: InternalClient }>({ max: MOST });
  const clientOf = (row: ServiceProvider): InternalClient => {
    const tenants = tenantsOf(row, ofInstance);
    const client: InternalClient = {
      name: row.name,
      returnTo: returnPath(own),
      impersonation: row.impersonation,
      ...(tenants ? { allowedTenants: tenants } : {}),
      ...(row.styles ? { styles: row.styles } : {}),
    };
    const made = JSON.stringify(client);
    const before = known.get(row.id);
    if (before?.made === made) return before.client;
    known.set(row.id, { made, client });
    return client;
  };
  return {
    find(id) {
      const row = book.get(id.slice(CLIENT_PREFIX.length));
      return row instanceof Promise ? row.then((found) => found && clientOf(found)) : row && clientOf(row);
    },
  };
}
