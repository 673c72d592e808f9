/** An identity provider inside an Express application with its own routes. */
import { fileURLToPath } from 'node:url';
import express from 'express';
import { createIdentityProvider } from 'tenant-idp';

const user = { userName: 'alice', devPassword: 'alice' };
const metadata = { redirect_uris: ['http://localhost:3001/callback'] };
const seed = {
  tenants: [{ name: 'Acme', persons: [{ givenName: 'Alice', familyName: 'Andersen', user }] }],
  clients: [{ id: 'web', name: 'Web', secret: 'web-secret', metadata, allowedScopes: ['openid', 'profile'] }],
};

/** Starts the example. Resolves with a function that stops the example, when the example serves. */
export async function start(port: number): Promise<() => Promise<void>> {
  const idp = await createIdentityProvider({ issuer: `http://localhost:${port}`, seed });
  const app = express();
  app.use(idp.callback()); // before body parsers; requests for other paths continue to the next handler
  app.get('/', (_req, res) => {
    res.send('The host application');
  });
  const server = app.listen(port);
  return async () => {
    server.close();
    await idp.close();
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.PORT ?? 3000);
  const stop = await start(port);
  console.log(`http://localhost:${port}`);
  process.once('SIGINT', stop).once('SIGTERM', stop);
}
