/**
 * Extensions of a host, one in each file. The extensions use only the exports of the package, so they run outside this repository unchanged:
 *
 *     npm install tenant-idp && cp -r node_modules/tenant-idp/examples/custom-extension .
 *
 * - `notes`: an endpoint behind an access token, with its own rows
 * - `terms`: a requirement, terms of service, with its own page
 * - `upstream`: a sign-in method, another OpenID provider
 * - `support`: an impersonation, which ends by itself
 * - `badges`: a grant type, whose tokens the service issues
 * - `chat`: a logout participant, notified by the durable queue when a sign-in ends
 */
import { fileURLToPath } from 'node:url';
import { createIdentityProvider, type IdentityProvider, type Seed } from 'tenant-idp';
import { badgeGrant, badges } from './badges.js';
import { chat } from './chat.js';
import { notes } from './notes.js';
import { support } from './support.js';
import { terms } from './terms.js';
import { type Provider, upstream } from './upstream.js';

const seed = {
  tenants: [
    {
      name: 'Acme',
      groups: [{ name: 'Support' }],
      persons: [
        { givenName: 'Alice', familyName: 'Andersen', user: { userName: 'alice', devPassword: 'alice', groups: ['Support'] } },
        { givenName: 'Bob', familyName: 'Berg', user: { userName: 'bob', devPassword: 'bob' } },
      ],
    },
  ],
  clients: [
    {
      id: 'web',
      name: 'Web',
      secret: 'web-secret',
      metadata: { redirect_uris: ['http://localhost:3001/callback'], grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: ['openid', 'profile', 'notes'],
    },
    {
      id: 'portal',
      name: 'Portal',
      secret: 'portal-secret',
      metadata: { redirect_uris: ['http://localhost:3001/callback'] },
      allowedScopes: ['openid'],
    },
    {
      id: 'kiosk',
      name: 'Kiosk',
      secret: 'kiosk-secret',
      metadata: { grant_types: [badgeGrant] },
      allowedScopes: ['openid', 'profile'],
    },
  ],
  apiResources: [{ id: 'notes', name: 'Notes', secret: 'notes-secret', scopes: ['notes'] }],
} satisfies Seed;

/** Key with which the badge readers sign. */
const readerKey = process.env.READER_KEY ?? 'the key of the badge readers';

/** URL at which the chat server is notified of sign-ins that ended. */
const chatHook = process.env.CHAT_HOOK ?? 'http://localhost:3002/signed-out';

/** The partner's provider, where Bob has an account. */
const partnerUrl = process.env.PARTNER ?? 'http://localhost:3003';
const partner: Provider = {
  authorize: `${partnerUrl}/authorize`,
  token: `${partnerUrl}/token`,
  userinfo: `${partnerUrl}/userinfo`,
  clientId: 'acme',
  clientSecret: 'the secret at the partner',
};

/** Links Bob to his account at the partner, because an e-mail address alone must not link anybody. */
async function linkBob({ directory, tenant }: IdentityProvider): Promise<void> {
  const [bob] = await directory.accounts.candidates('bob');
  if (!bob) return;
  const externalIdentities = [{ idp: 'partner', subject: 'bob at the partner' }];
  await tenant(bob.tenant.id).users.update(bob.person.user.id, { externalIdentities });
}

/** Starts the example. Resolves when it serves. */
export async function start(port: number): Promise<IdentityProvider> {
  const idp = await createIdentityProvider({
    issuer: `http://localhost:${port}`,
    seed,
    extensions: [notes, terms('2026-05', ['portal']), upstream(partner), support('Support'), badges(readerKey), chat(chatHook)],
  });
  await linkBob(idp);
  await idp.listen(port);
  return idp;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const idp = await start(Number(process.env.PORT ?? 3000));
  console.log(idp.issuer);
  const stop = () => idp.close();
  process.once('SIGINT', stop).once('SIGTERM', stop);
}
