/**
 * Extensions of a host, a file each. They use what the package exports and nothing else, so they run outside this repository as they are:
 *
 *     npm install tenant-idp && cp -r node_modules/tenant-idp/examples/custom-extension .
 *
 * - `notes`: an endpoint behind an access token, with rows of its own
 * - `terms`: a requirement: terms of service, with a page of their own
 * - `upstream`: a sign-in method: another OpenID provider
 * - `support`: a sign-in as somebody else, which ends by itself
 * - `badges`: a grant type, whose tokens the service mints
 * - `chat`: a logout participant, told by the durable queue when a sign-in ends
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

/** What the badge readers prove themselves with. */
const readerKey = process.env.READER_KEY ?? 'the key of the badge readers';

/** Where the chat server wants to hear of sign-ins that ended. */
const chatHook = process.env.CHAT_HOOK ?? 'http://localhost:3002/signed-out';

/** The provider of the partner, where Bob has an account. */
const partnerUrl = process.env.PARTNER ?? 'http://localhost:3003';
const partner: Provider = {
  authorize: `${partnerUrl}/authorize`,
  token: `${partnerUrl}/token`,
  userinfo: `${partnerUrl}/userinfo`,
  clientId: 'acme',
  clientSecret: 'the secret at the partner',
};

/** Links Bob to who he is at the partner: nobody is linked by an e-mail address alone. */
async function linkBob({ directory, tenant }: IdentityProvider): Promise<void> {
  const [bob] = await directory.accounts.candidates('bob');
  if (!bob) return;
  const externalIdentities = [{ idp: 'partner', subject: 'bob at the partner' }];
  await tenant(bob.tenant.id).users.update(bob.person.user.id, { externalIdentities });
}

/** Resolves when it serves. */
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
