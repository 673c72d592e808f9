/**
 * Extensions of a host, a file each. They use what the package exports and nothing else, so they run outside this repository as they are:
 *
 *     npm install tenant-idp && cp -r node_modules/tenant-idp/examples/custom-extension .
 *
 * - `notes`: an endpoint behind an access token, with rows of its own
 * - `badges`: a grant type, whose tokens the service mints
 * - `chat`: a logout participant, told by the durable queue when a sign-in ends
 */
import { fileURLToPath } from 'node:url';
import { createIdentityProvider, type IdentityProvider, type Seed } from 'tenant-idp';
import { badgeGrant, badges } from './badges.js';
import { chat } from './chat.js';
import { notes } from './notes.js';

const seed = {
  tenants: [
    {
      name: 'Acme',
      persons: [
        { givenName: 'Alice', familyName: 'Andersen', user: { userName: 'alice', devPassword: 'alice' } },
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
      id: 'kiosk',
      name: 'Kiosk',
      secret: 'kiosk-secret',
      metadata: { redirect_uris: [], response_types: [], grant_types: [badgeGrant] },
      allowedScopes: ['openid', 'profile'],
    },
  ],
  apiResources: [{ id: 'notes', name: 'Notes', secret: 'notes-secret', scopes: ['notes'] }],
} satisfies Seed;

/** What the badge readers prove themselves with. */
const readerKey = process.env.READER_KEY ?? 'the key of the badge readers';

/** Where the chat server wants to hear of sign-ins that ended. */
const chatHook = process.env.CHAT_HOOK ?? 'http://localhost:3002/signed-out';

/** Resolves when it serves. */
export async function start(port: number): Promise<IdentityProvider> {
  const idp = await createIdentityProvider({
    issuer: `http://localhost:${port}`,
    seed,
    extensions: [notes, badges(readerKey), chat(chatHook)],
  });
  await idp.listen(port);
  return idp;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const idp = await start(Number(process.env.PORT ?? 3000));
  console.log(idp.issuer);
  const stop = () => idp.close();
  process.once('SIGINT', stop).once('SIGTERM', stop);
}
