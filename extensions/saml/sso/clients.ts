/** Service providers as clients of the sign-in: a name, a return path, and the tenants whose users may sign in. */
import type { ExtensionContext, InternalClient, InternalClients } from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import { CLIENT_PREFIX, type ServiceProvider } from '../service-providers/records.js';

/** Returns the path to which the browser returns after the sign-in. The path is the same for all service providers. */
export const returnPath = (own: string): string => `${own}/saml/sso/answer`;

/** Returns the tenants whose users may sign in; undefined for all. A service provider of a tenant accepts only the tenant's users. */
export const tenantsOf = ({ tid, allowedTenants }: ServiceProvider, ofInstance: string): readonly string[] | undefined =>
  tid === ofInstance ? allowedTenants : [tid];

export function createClients(
  { service: { own }, records: { ofInstance } }: Pick<ExtensionContext, 'service' | 'records'>,
  activeServiceProviders: Pick<ActiveServiceProviders, 'get'>,
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
    find: (id) => awaited(activeServiceProviders.get(id.slice(CLIENT_PREFIX.length)), (row) => row && clientOf(row)),
  };
}
