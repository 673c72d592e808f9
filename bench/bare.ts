/** oidc-provider by itself: static clients, claims that are there already, and nothing between it and its map. */
import type { IncomingMessage } from 'node:http';
import Provider, { type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { createBareAdapters } from './bare-store.js';
import { serveAsChild } from './child.js';
import { apiScope, signingKeys, staticClients, userScopes } from './world.js';

/** The claims that ours answers at userinfo, and the scopes that grant them. */
const claims = JSON.parse(process.env.BENCH_CLAIMS ?? '{}') as { sub: string } & Record<string, unknown>;
const claimsByScope = {
  openid: ['sub', 'tid', 'oid'],
  profile: ['family_name', 'given_name', 'name', 'preferred_username', 'picture'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  org: ['orgid', 'orgin', 'company_name'],
  roles: ['role'],
  perms: ['perm'],
};

/** First-party clients: whoever is signed in has allowed everything. */
async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { client, session, provider } = ctx.oidc;
  if (!client || !session?.accountId) return undefined;
  const known = session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(`${userScopes} ${apiScope}`);
  await grant.save();
  return grant;
}

const configuration = {
  adapter: createBareAdapters(),
  clients: staticClients,
  claims: claimsByScope,
  conformIdTokenClaims: false,
  cookies: { keys: ['not a secret, it signs cookies of a measurement'] },
  expiresWithSession: () => false,
  features: {
    backchannelLogout: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    resourceIndicators: { enabled: false },
    revocation: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  findAccount: (_ctx: unknown, accountId: string) => ({ accountId, claims: () => claims }),
  interactions: { url: () => '/sign-in' },
  issueRefreshToken: (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) => client.grantTypeAllowed('refresh_token'),
  jwks: { keys: [...signingKeys] },
  loadExistingGrant,
  pkce: { required: () => true },
  responseTypes: ['code'],
  rotateRefreshToken: true,
  routes: {
    authorization: '/connect/authorize',
    token: '/connect/token',
    introspection: '/connect/introspect',
    userinfo: '/connect/userinfo',
    jwks: '/.well-known/openid-configuration/jwks',
  },
  scopes: [...Object.keys(claimsByScope), 'offline_access', apiScope],
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    ClientCredentials: 3600,
    Grant: 86_400,
    IdToken: 300,
    RefreshToken: 86_400,
    Session: 3600,
  },
} as unknown as Configuration;

await serveAsChild((issuer) => {
  const provider = new Provider(issuer, configuration);
  const callback = provider.callback();
  return (req, res) => {
    // A sign-in page that asks nothing.
    if (req.url?.startsWith('/sign-in'))
      void provider.interactionFinished(req as IncomingMessage, res, { login: { accountId: claims.sub } });
    else void callback(req, res);
  };
});
