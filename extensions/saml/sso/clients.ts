/** Service providers, as the sign-in sees them: applications with a name, and tenants whose users may sign in. */
import type { ExtensionContext, InternalClient, InternalClients } from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import { CLIENT_PREFIX, type ServiceProvider } from '../service-providers/records.js';

/** Where the browser comes back to from the sign-in, whoever it was for. */
export const returnPath = (own: string): string => `${own}/saml/sso/answer`;

/** Tenants whose users may sign in; undefined: all. The service provider of a tenant is for its users alone. */
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
