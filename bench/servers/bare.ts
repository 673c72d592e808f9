/**
 * oidc-provider by itself: ready claims, and no code between oidc-provider and its stores. All other settings are defaults. Tokens end with their session,
 * as in this library. Without a directory, clients are static, and claims need no look-up.
 */
import type { RequestListener } from 'node:http';
import Provider, { type Adapter, type ClientMetadata, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { api, apiScope, jwtLifetime, plainClients, requestLifetime, signingKeys, userScopes } from '../world.js';
import { serveAsChild } from './child.js';
import { type Chores, withChores } from './chores.js';
import { type Claims, createPlainDirectory } from './plain-directory.js';
import { createPlainPostgresAdapters, plainPool } from './plain-postgres.js';
import { createPlainRedisAdapters } from './plain-redis.js';
import { createPublishedRedisAdapters } from './published-redis.js';
import type { StoreUrls } from './stores.js';

const { BENCH_CLAIMS = '{}', BENCH_ADAPTER, BENCH_STORES = '[]' } = process.env;

/** Claims that this library returns at userinfo, and the scopes that grant them. */
const claims = JSON.parse(BENCH_CLAIMS) as Claims;
const [stores] = JSON.parse(BENCH_STORES) as readonly [StoreUrls];
const directory =
  stores.directory === undefined ? undefined : await createPlainDirectory(stores.directory, { clients: plainClients, user: claims });
const artifacts = await adaptersAt(stores.artifacts);
const adapters = (model: string): Adapter =>
  directory && model === 'Client' ? ({ find: directory.clientOf } as Adapter) : artifacts(model);

async function adaptersAt(url: string): Promise<(model: string) => Adapter> {
  if (url.startsWith('postgres:')) return createPlainPostgresAdapters(plainPool(url));
  return (BENCH_ADAPTER === 'published' ? createPublishedRedisAdapters : createPlainRedisAdapters)(url);
}

async function findAccount(_ctx: unknown, accountId: string) {
  const found = directory === undefined ? claims : await directory.claimsOf(accountId);
  return found && { accountId, claims: () => found };
}

const claimsByScope = {
  openid: ['sub', 'tid', 'oid'],
  profile: ['family_name', 'given_name', 'name', 'preferred_username', 'picture'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  org: ['orgid', 'orgin', 'company_name'],
  roles: ['role'],
  perms: ['perm'],
};

/** Treats all clients as first-party clients: every signed-in user has allowed everything. */
async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { client, session, provider } = ctx.oidc;
  if (!client || !session?.accountId) return undefined;
  const known = session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(`${userScopes} ${apiScope}`);
  grant.addResourceScope(`urn:${api}`, `${userScopes} ${apiScope}`);
  await grant.save();
  return grant;
}

const configuration = {
  adapter: adapters,
  clients: directory === undefined ? plainClients : [],
  clientBasedCORS: (_ctx: unknown, origin: string, client: ClientMetadata) =>
    (client.redirectUris as readonly string[]).some((uri) => new URL(uri).origin === origin),
  claims: claimsByScope,
  conformIdTokenClaims: false,
  cookies: { keys: ['not a secret, it signs cookies of a measurement'] },
  features: {
    backchannelLogout: { enabled: true },
    ciba: {
      enabled: true,
      processLoginHint: () => claims.sub,
      triggerAuthenticationDevice: () => {},
      validateRequestContext: () => {},
      verifyUserCode: () => {},
    },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    jwtIntrospection: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    resourceIndicators: { enabled: false },
    revocation: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  findAccount,
  interactions: { url: () => '/sign-in' },
  issueRefreshToken: (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) => client.grantTypeAllowed('refresh_token'),
  jwks: { keys: [...signingKeys] },
  loadExistingGrant,
  pkce: { required: () => true },
  responseTypes: ['code'],
  rotateRefreshToken: true,
  routes: {
    authorization: '/connect/authorize',
    backchannel_authentication: '/connect/ciba',
    pushed_authorization_request: '/connect/par',
    token: '/connect/token',
    introspection: '/connect/introspect',
    revocation: '/connect/revocation',
    userinfo: '/connect/userinfo',
    jwks: '/.well-known/openid-configuration/jwks',
  },
  scopes: [...Object.keys(claimsByScope), 'offline_access', apiScope],
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    BackchannelAuthenticationRequest: requestLifetime,
    ClientCredentials: 3600,
    Grant: 86_400,
    IdToken: 300,
    RefreshToken: 86_400,
    Session: 3600,
  },
} as unknown as Configuration;

/** JWT access tokens, which oidc-provider issues only for a resource. */
const jwtConfiguration: Configuration = {
  ...configuration,
  features: {
    ...configuration.features,
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `urn:${api}`,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, _resource, { idTokenSignedResponseAlg: alg }) => ({
        scope: `${userScopes} ${apiScope}`,
        audience: api,
        accessTokenFormat: 'jwt',
        accessTokenTTL: jwtLifetime,
        jwt: { sign: { alg: alg === 'ES256' ? 'ES256' : 'RS256' } },
      }),
    },
  },
};

const serve =
  (served: Configuration) =>
  (issuer: string): RequestListener => {
    const provider = new Provider(issuer, served);
    const callback = provider.callback();
    return withChores((req, res) => {
      // The sign-in page asks nothing.
      if (req.url?.startsWith('/sign-in')) void provider.interactionFinished(req, res, { login: { accountId: claims.sub } });
      else void callback(req, res);
    }, choresOf(provider));
  };

/** Returns the chores. Every user is the same person, who exists already. */
const choresOf = (provider: Provider): Chores => ({
  async people() {},
  async approve(_userName, authReqId) {
    const grant = new provider.Grant({ clientId: 'call-centre', accountId: claims.sub });
    grant.addOIDCScope('openid profile');
    await grant.save();
    await provider.backchannelResult(authReqId, grant, { amr: ['pwd'], authTime: Math.floor(Date.now() / 1000) });
  },
});

await serveAsChild([serve(configuration), serve(jwtConfiguration)]);
