/** Administrators of service providers: `root` of all tenants, `acme` and `globex` of one each, `reader` of Acme, who only reads. */

import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken } from '../../administration/admin.js';
import type { TestIdpOptions } from '../../service/idp.js';
import { useIdp } from '../../service/use-idp.js';

const own = ['idp.saml-service-providers:read', 'idp.saml-service-providers:write'];
const scopes = [...adminScopes, ...own, 'idp.saml-signing-keys:read', 'idp.saml-signing-keys:write'];

/** The seed of administrators, with the scopes of the extension. */
export const samlAdminSeed = {
  ...adminSeed,
  clients: [
    ...adminSeed.clients.filter(({ id }) => !['root', 'acme', 'globex'].includes(id)),
    adminClient('root', ['*'], scopes),
    adminClient('acme', ['Acme'], scopes),
    adminClient('globex', ['Globex'], scopes),
    adminClient('reader', ['Acme'], own.slice(0, 1)),
  ],
};

export const samlOptions = { seed: samlAdminSeed, limits: { adminRequestsPerMinute: 100_000 } } satisfies TestIdpOptions;

/** Returns a client with all scopes of one of the administrators. */
export async function asAdministrator(issuer: string, id: 'root' | 'acme' | 'globex' | 'reader'): Promise<AdminClient> {
  return administer(issuer, await adminToken(issuer, id, (id === 'reader' ? own.slice(0, 1) : scopes).join(' ')));
}

/** Starts a service with the options of administrators, for the tests of a file. */
export const useSaml = (options: () => TestIdpOptions) => useIdp(() => ({ ...samlOptions, ...options() }));
