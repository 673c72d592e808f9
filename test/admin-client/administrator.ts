/** Seed with a client that administers all tenants, in addition to the seed of the other tests. */
import type { IdentityProvider } from 'tenant-idp';
import { type AdminClient, type AdminClientOptions, createAdminClient } from 'tenant-idp/admin-client';
import { testSeed } from '../support/service/seed.js';

const resources = [
  'tenants',
  'subsidiaries',
  'persons',
  'users',
  'links',
  'sessions',
  'groups',
  'permissions',
  'clients',
  'api-resources',
  'keys',
  'invitations',
  'webhooks',
];
const administratorScopes = resources.flatMap((name) => [`idp.${name}:read`, `idp.${name}:write`]).concat('idp.events:read');
/** A secret that needs escapes. */
export const administratorSecret = 'a secret: 100 % (!)';

export const administratorSeed = {
  ...testSeed,
  clients: [
    ...testSeed.clients,
    {
      id: 'administrator',
      name: 'Administrator',
      secret: administratorSecret,
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: administratorScopes,
      adminTenants: ['*'],
    },
  ],
};

export const administrator = (issuer: string, options: Partial<AdminClientOptions> = {}): AdminClient =>
  createAdminClient({ issuer, clientId: 'administrator', clientSecret: administratorSecret, scopes: administratorScopes, ...options });

export async function tenantIdOf({ directory }: IdentityProvider, name: string): Promise<string> {
  const found = (await directory.tenants.find({ limit: 10 })).find((tenant) => tenant.name === name);
  if (!found) throw new Error(`no tenant ${name}`);
  return found.id;
}
