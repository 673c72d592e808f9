/** Service providers, as the sign-in sees them: applications with a name, and tenants whose users may sign in. */
import type { ExtensionContext, InternalClient, InternalClients } from '../../../lib/extension-door.js';
import type { ServiceProviderBook } from '../service-providers/book.js';
import { CLIENT_PREFIX, type ServiceProvider } from '../service-providers/records.js';

/** Where the browser comes back to from the sign-in, whoever it was for. */
export const returnPath = (own: string): string => `${own}/saml/sso/answer`;

/** Tenants whose users may sign in; undefined: all. The service provider of a tenant is for its users alone. */
export const tenantsOf = ({ tid, allowedTenants }: ServiceProvider, ofInstance: string): readonly string[] | undefined =>
  tid === ofInstance ? allowedTenants : [tid];

export function createClients(
  { service: { own }, records: { ofInstance } }: Pick<ExtensionContext, 'service' | 'records'>,
  book: Pick<ServiceProviderBook, 'get'>,
): InternalClients {
  const clientOf = (row: ServiceProvider): InternalClient => {
    const allowedTenants = tenantsOf(row, ofInstance);
    return {
      name: row.name,
      returnTo: returnPath(own),
      impersonation: row.impersonation,
      ...(allowedTenants && { allowedTenants }),
      ...(row.styles && { styles: row.styles }),
    };
  };
  return {
    find(id) {
      const row = book.get(id.slice(CLIENT_PREFIX.length));
      return row instanceof Promise ? row.then((found) => found && clientOf(found)) : row && clientOf(row);
    },
  };
}
