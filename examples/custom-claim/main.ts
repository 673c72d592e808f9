/** Claims from another system: an HR system. Here, the HR system is a server that takes HR_DELAY milliseconds to answer. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createIdentityProvider, type Seed } from 'tenant-idp';
import { doorClaims } from './door-claims.js';
import { hrClaims } from './hr-claims.js';

const user = { userName: 'alice', devPassword: 'alice', groups: ['Laboratory'] };
const metadata = { redirect_uris: ['http://localhost:3001/callback'] };
const seed = {
  tenants: [
    {
      name: 'Acme',
      groups: [{ name: 'Laboratory' }],
      persons: [{ givenName: 'Alice', familyName: 'Andersen', externalId: 'E-17', user }],
    },
  ],
  clients: [
    { id: 'web', name: 'Web', secret: 'web-secret', metadata, allowedScopes: ['openid', 'hr', 'doors.open'], accessTokenType: 'jwt' },
  ],
  apiResources: [{ id: 'door-locks', name: 'Door locks', secret: 'locks-secret', scopes: ['doors.open'] }],
} satisfies Seed;

/** Starts the example. Resolves with a function that stops the example, when the example serves. */
export async function start(port: number, hrDelay = 0): Promise<() => Promise<void>> {
  const hr = createServer(async (_req, res) => {
    await sleep(hrDelay, undefined, { ref: false });
    res.setHeader('content-type', 'application/json').end('{"costCentre":"4711","manager":"Carol Clark"}');
  }).listen(0);
  const { port: hrPort } = hr.address() as AddressInfo;
  const claims = [hrClaims(`http://localhost:${hrPort}`), doorClaims];
  const idp = await createIdentityProvider({ issuer: `http://localhost:${port}`, seed, claims });
  await idp.listen(port);
  return async () => {
    hr.close();
    await idp.close();
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.PORT ?? 3000);
  const stop = await start(port, Number(process.env.HR_DELAY ?? 0));
  console.log(`http://localhost:${port}`);
  process.once('SIGINT', stop).once('SIGTERM', stop);
}
