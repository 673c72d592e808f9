/** What the directory has from the start; each start updates what differs. There is no password in it: `password.ts` sets those. */
import type { Seed } from 'tenant-idp';
import type { Settings } from './settings.js';

export const acme = { id: '01990000-0000-7000-8000-00000000ac3e', name: 'Acme' };

export const createSeed = ({ web }: Pick<Settings, 'web'>): Seed => ({
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
  ],
});
