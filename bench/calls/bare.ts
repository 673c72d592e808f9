/** oidc-provider by itself, on its own store in memory: a sign-in page that asks nothing, and consent to everything. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import { redirectUri } from '../../test/support/service/seed.js';
import { signingKeys } from '../world.js';

export async function startBare(): Promise<{ readonly issuer: string; close(): void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'web', client_secret: 'web-secret', redirect_uris: [redirectUri] }],
    cookies: { keys: ['not a secret, it signs cookies of a measurement'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: () => '/sign-in' },
    jwks: { keys: [...signingKeys] as never },
    loadExistingGrant,
    routes: { authorization: '/connect/authorize' },
    scopes: ['openid', 'profile', 'email'],
  });
  const callback = provider.callback();
  server.on('request', (req, res) => {
    if (req.url === '/sign-in') void provider.interactionFinished(req, res, { login: { accountId: 'alice' } });
    else void callback(req, res);
  });
  return {
    issuer,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function loadExistingGrant({ oidc: { client, session, provider } }: KoaContextWithOIDC) {
  if (!client || !session?.accountId) return undefined;
  const known = session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid profile email');
  await grant.save();
  return grant;
}
