/** The provider of an organisation whose users sign in there: oidc-provider by itself, on its own port, without passwords. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Adapter, type AdapterPayload, type JWK } from 'oidc-provider';
import { vandelay } from './seed.js';
import { html } from './views/html.js';

/** Client of the identity provider at this provider. */
export const ownProviderClient = { clientId: 'tenant-idp', clientSecret: 'the secret at Vandelay' };

/** Users of the organisation. */
const employees = [
  { sub: 'vera', givenName: 'Vera', familyName: 'Vang', email: 'vera@vandelay.test' },
  { sub: 'viktor', givenName: 'Viktor', familyName: 'Vik', email: 'viktor@vandelay.test' },
];

/** Listens on the port, or on a free port for 0. {@link serveOwnProvider} answers there. */
export async function openOwnProvider(wanted = 0): Promise<{ readonly server: Server; readonly port: number; readonly origin: string }> {
  const server = createServer();
  await once(server.listen(wanted), 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://localhost:${port}` };
}

/** @param issuer of the identity provider, whose connection has the id of the organisation. */
export async function serveOwnProvider(server: Server, origin: string, issuer: string): Promise<void> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const cookies = `vandelay-${new URL(origin).port}`;
  const connection = `${issuer}/idp/connections/${vandelay.connection}`;
  const provider = new Provider(origin, {
    adapter: createMemory(),
    clients: [
      {
        client_id: ownProviderClient.clientId,
        client_secret: ownProviderClient.clientSecret,
        // The creation of an RSA key takes longer.
        id_token_signed_response_alg: 'ES256',
        redirect_uris: [`${connection}/callback`],
        post_logout_redirect_uris: [`${connection}/signed-out`],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' } as JWK] },
    cookies: {
      keys: [randomBytes(32).toString('base64url')],
      // Browsers send a cookie to every port of a host.
      names: { session: `${cookies}.session`, interaction: `${cookies}.interaction`, resume: `${cookies}.resume` },
    },
    claims: { openid: ['sub'], profile: ['given_name', 'family_name'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/sign-in/${uid}` },
    findAccount(_ctx, sub) {
      const found = employees.find((one) => one.sub === sub);
      if (!found) return undefined;
      const { givenName, familyName, email } = found;
      return { accountId: sub, claims: () => ({ sub, given_name: givenName, family_name: familyName, email, email_verified: true }) };
    },
    // The client belongs to the organisation, so users are not asked for consent.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: ownProviderClient.clientId, accountId: oidc.session?.accountId ?? '' });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  const protocol = provider.callback();
  server.on('request', (req, res) => {
    if (!req.url?.startsWith('/sign-in/')) return void protocol(req, res);
    answer(provider, req, res).catch(() => res.writeHead(400, { 'content-type': 'text/plain' }).end('This sign-in is over. Start again.'));
  });
}

async function answer(provider: Provider, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { uid } = await provider.interactionDetails(req, res);
  if (req.method !== 'POST') {
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page(uid));
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const accountId = new URLSearchParams(Buffer.concat(chunks).toString()).get('sub') ?? '';
  const isEmployee = employees.some(({ sub }) => sub === accountId);
  await provider.interactionFinished(req, res, isEmployee ? { login: { accountId } } : { error: 'access_denied' });
}

const page = (uid: string): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in at ${vandelay.name}</title>
<link rel="icon" href="data:,">
<style>body { font: 1rem/1.5 system-ui; max-width: 24rem; margin: 4rem auto; padding: 0 1.25rem } button { font: inherit; width: 100%; min-height: 2.75rem; margin-top: 0.75rem }</style>
</head>
<body>
<main>
<h1>Sign in at ${vandelay.name}</h1>
<p>This is another OpenID provider. Say who you are; nobody needs a password here.</p>
<form method="post" action="/sign-in/${uid}">
${employees.map(({ sub, givenName, familyName }) => html`<button name="sub" value="${sub}">${givenName} ${familyName}</button>`)}
<button name="sub" value="">Cancel</button>
</form>
</main>
</body>
</html>
`.markup;

/** Stores oidc-provider's records in memory, for as long as the demo runs. */
function createMemory(): (name: string) => Adapter {
  const rows = new Map<string, AdapterPayload>();
  return (name) => {
    const key = (id: string) => `${name} ${id}`;
    const findBy = async (member: 'uid' | 'userCode', value: string) =>
      [...rows].find(([at, row]) => at.startsWith(`${name} `) && row[member] === value)?.[1];
    return {
      upsert: async (id, payload) => void rows.set(key(id), payload),
      find: async (id) => rows.get(key(id)),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      consume: async (id) => void rows.set(key(id), { ...rows.get(key(id)), consumed: Math.floor(Date.now() / 1000) }),
      destroy: async (id) => void rows.delete(key(id)),
      async revokeByGrantId(grantId) {
        for (const [at, row] of rows) if (row.grantId === grantId) rows.delete(at);
      },
    };
  };
}
