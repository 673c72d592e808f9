/**
 * Records that the directory has from the start. Each start updates records that differ. The seed has no passwords, because `password.ts` sets the
 * passwords.
 */
import type { Seed } from 'tenant-idp';
import type { Settings } from './settings.js';

export const acme = { id: '01990000-0000-7000-8000-00000000ac3e', name: 'Acme' };

/** Scopes of the admin API for `admin.ts`: all scopes. */
export const adminScopes = [
  'api-resources',
  'clients',
  'connections',
  'consents',
  'factors',
  'groups',
  'impersonations',
  'invitations',
  'keys',
  'links',
  'permissions',
  'persons',
  'sessions',
  'subsidiaries',
  'tenants',
  'users',
  'webhooks',
]
  .flatMap((name) => [`idp.${name}:read`, `idp.${name}:write`])
  .concat('idp.events:read', 'idp.exports:read');

export const createSeed = ({ web, adminSecret }: Pick<Settings, 'web' | 'adminSecret'>): Seed => ({
  tenants: [
    {
      ...acme,
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Andersen',
          email: 'alice@acme.test',
          user: { userName: 'alice@acme.test', emailVerified: true, status: 'active' },
        },
      ],
    },
  ],
  clients: [
    {
      id: 'web',
      name: 'Web',
      secret: web.secret,
      metadata: { redirect_uris: [web.redirectUri], grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: ['openid', 'profile', 'email', 'offline_access'],
    },
    ...(adminSecret === undefined
      ? []
      : [
          {
            id: 'admin',
            name: 'Administration',
            secret: adminSecret,
            metadata: { grant_types: ['client_credentials'] },
            allowedScopes: adminScopes,
            adminTenants: ['*'],
          },
        ]),
  ],
});
