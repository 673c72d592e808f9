import { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { offeredLevels } from '../acr-values.js';
import { identityScopes } from '../claims/declarations.js';
import { interactionPath } from '../paths.js';
import { epochSeconds } from '../times/epoch-seconds.js';
import type { Accounts, FoundByToken } from './accounts/account.js';
import { pinnedLogin } from './accounts/login-context.js';
import { getsRefreshToken, mayBeOffline } from './accounts/offline-access.js';
import { resourceIndicators } from './accounts/resource-indicators.js';
import type { Scopes } from './accounts/scopes.js';
import { subjectForClient } from './accounts/subject.js';
import { createRequestCheck } from './authorize/checks.js';
import { createLoginHintCheck } from './authorize/login-hint-tokens.js';
import { carriedParameter, passedOnParameters } from './authorize/parameters.js';
import { createPromptPolicy } from './authorize/prompts.js';
import { provenParameter } from './authorize/proven-sign-ins.js';
import { createRequestObjectCheck } from './authorize/request-objects.js';
import { checkRequestUris } from './authorize/request-uris.js';
import { checkClientAssertion, mayListAudiences } from './clients/assertions.js';
import { ClientAdapter, createFindRecord } from './clients/clients.js';
import {
  ALGORITHMS_OF_PROFILE,
  createMetadataOf,
  createProfileOf,
  isAlgorithmOfProfile,
  isOfProfile,
  MAX_CODE_SECONDS,
} from './clients/fapi.js';
import { clientAlgorithms, encryptionAlgorithms } from './clients/jwts.js';
import { isOriginOf } from './clients/origins.js';
import { identifierOf, requireSalt } from './clients/pairwise.js';
import type { OidcParts } from './context.js';
import { restartedParameter } from './interactions/restart.js';
import type { SigningKeys } from './keys/keys.js';
import { cookieName, createCookieKeys, pathCookieName } from './sessions/cookies.js';
import { createGrants } from './sessions/grants.js';
import type { createLogout } from './sessions/logout.js';
import { commitRequest, sessionTtl } from './sessions/sessions.js';
import { createIntrospectionPolicy, type DescribeToken } from './tokens/introspection.js';
import { lifetimesOf } from './tokens/lifetimes.js';
import { mayRevoke } from './tokens/revocation.js';
import { saveSession } from './upstream/session.js';

/** Paths of the service. @see service specification, Endpoints */
export const routes = {
  authorization: '/connect/authorize',
  pushed_authorization_request: '/connect/par',
  token: '/connect/token',
  introspection: '/connect/introspect',
  revocation: '/connect/revocation',
  userinfo: '/connect/userinfo',
  end_session: '/connect/endsession',
  jwks: '/.well-known/openid-configuration/jwks',
} as const;

/** Path of the backchannel authentication endpoint (CIBA), which exists only if an extension answers it. @see service specification 4.10 */
export const BACKCHANNEL_PATH = '/connect/ciba';

/** Claims that the protocol itself defines, granted by `openid`. */
const protocolClaims = ['sub', 'tid', 'oid', 'sid', 'idp', 'amr', 'auth_time', 'act'];

/** Functions that the configuration calls. */
export interface ConfigurationParts {
  readonly accounts: Accounts;
  readonly scopes: Scopes;
  readonly describe: DescribeToken;
  readonly logout: ReturnType<typeof createLogout>;
  readonly cookieKeys: readonly string[];
  readonly renderError: NonNullable<Configuration['renderError']>;
}

/** Returns the options as oidc-provider's configuration. */
export function createConfiguration(parts: OidcParts, keys: SigningKeys, used: ConfigurationParts): Configuration {
  const { accounts, scopes, renderError } = used;
  const { options, adapters, claims } = parts;
  const metadataOf = createMetadataOf(parts);
  const clients = new ClientAdapter(createFindRecord(parts), (client) => {
    requireSalt(parts, client);
    return metadataOf(client);
  });
  const grants = createGrants(parts, accounts, scopes);
  const policy = createPromptPolicy(parts, accounts, grants);
  const prompts = [...policy].flatMap(({ name, requestable }) => (requestable ? name : []));

  const configuration: Configuration = {
    acrValues: [...offeredLevels(parts.offers.serves('mfa'))],
    adapter: (model: string) => (model === 'Client' ? clients : adapters.factory(model)),
    allowOmittingSingleRegisteredRedirectUri: false,
    assertJwtClientAuthClaimsAndHeader(ctx, payload, header) {
      checkClientAssertion(payload, header, { now: epochSeconds(parts.now()), mayBeList: mayListAudiences(options, ctx.oidc) });
      if (isOfProfile(ctx) && !isAlgorithmOfProfile(header.alg))
        throw new errors.InvalidClientAuth(`FAPI 2.0 requires ${ALGORITHMS_OF_PROFILE} of the client_assertion`);
    },
    claims: { openid: protocolClaims, ...Object.fromEntries(claims.scopes) },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none', ...certificateMethods(options)],
    clientBasedCORS: (_ctx, origin, client) => isOriginOf(client, origin),
    // Scopes narrow ID tokens by the client's record, in `account.claims`.
    conformIdTokenClaims: false,
    cookies: cookiesOf(parts, used),
    // @see OpenID Connect Front-Channel Logout 1.0 §3, Initiating User Registration via OpenID Connect 1.0 §4.2
    discovery: {
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
      prompt_values_supported: ['none', ...prompts],
    },
    enabledJWA: algorithmsOf(keys),
    // Tokens stay valid when the browser switches accounts. Logout ends the session's grants by their list.
    expiresWithSession: () => false,
    extraParams: {
      [carriedParameter]: createRequestCheck(parts, scopes),
      ...Object.fromEntries(passedOnParameters.map((name) => [name, null])),
      login_hint_token: createLoginHintCheck(parts),
      [restartedParameter]: null,
      [provenParameter]: null,
    },
    extraClientMetadata: { properties: ['request_uris'], validator: checkRequestUris },
    features: featuresOf(parts, used),
    fetch: createFetch(parts),
    findAccount: (ctx, oid, token) => accounts.find(ctx, oid, token as FoundByToken | undefined),
    interactions: {
      policy,
      async url(ctx, { uid }) {
        // Runs before the redirect, so that the client gets an error if the store fails.
        const { session } = ctx.oidc;
        await saveSession(session, sessionTtl(parts, session));
        await commitRequest(adapters.unitOf(ctx));
        return options.mountPath + interactionPath(options, uid);
      },
    },
    issueRefreshToken: (_ctx, client, source) => getsRefreshToken(client, [...source.scopes]),
    jwks: { keys: keys.all.map(({ external }) => external) },
    loadExistingGrant: grants.load,
    pairwiseIdentifier: async (ctx: KoaContextWithOIDC | undefined, oid, client) => {
      const sub = await subjectForClient(accounts, ctx, oid, client.clientId);
      return identifierOf(parts, client, sub);
    },
    pkce: { required: parts.challengeRule },
    renderError,
    responseTypes: ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
    revokeGrantPolicy: () => true,
    // @see FAPI 2.0 Security Profile §5.3.2.1-9
    rotateRefreshToken: (ctx) => !isOfProfile(ctx),
    routes: { ...routes, ...(parts.backchannel && { backchannel_authentication: BACKCHANNEL_PATH }) },
    scopes: [...identityScopes(claims.scopes.keys())],
    subjectTypes: options.subjectSalt === undefined ? ['public'] : ['public', 'pairwise'],
    ttl: lifetimesOfModels(parts),
  };
  const complete = parts.withAdditions(configuration);
  return withoutRefresh(options.configure?.(complete) ?? complete);
}

function cookiesOf({ options }: OidcParts, { cookieKeys }: ConfigurationParts): NonNullable<Configuration['cookies']> {
  const cookie = { httpOnly: true, sameSite: 'lax', secure: options.secure, signed: true, overwrite: true } as const;
  return {
    names: {
      session: cookieName('session', options),
      interaction: pathCookieName('interaction', options),
      resume: pathCookieName('resume', options),
    },
    keys: createCookieKeys(cookieKeys),
    long: cookie,
    short: cookie,
  };
}

function featuresOf(parts: OidcParts, { describe, logout }: ConfigurationParts): NonNullable<Configuration['features']> {
  const { features } = parts.options;
  return {
    ...features,
    // Each record may name a profile.
    fapi: { enabled: true, profile: createProfileOf(parts) },
    backchannelLogout: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    introspection: { enabled: true, allowedPolicy: createIntrospectionPolicy(describe, parts.now) },
    jwtResponseModes: { enabled: true },
    pushedAuthorizationRequests: { ...features.pushedAuthorizationRequests, enabled: true },
    requestObjects: { ...features.requestObjects, enabled: true, assertJwtClaimsAndHeader: createRequestObjectCheck(parts) },
    resourceIndicators: resourceIndicators(parts),
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => mayRevoke(client, token) },
    rpInitiatedLogout: { enabled: true, logoutSource: logout.logoutSource, postLogoutSuccessSource: logout.postLogoutSuccessSource },
  } as NonNullable<Configuration['features']>;
}

function lifetimesOfModels(parts: OidcParts): NonNullable<Configuration['ttl']> {
  const { lifetimes } = parts.options;
  return {
    ...lifetimesOf(parts),
    AuthorizationCode: (ctx: KoaContextWithOIDC) => (isOfProfile(ctx) ? Math.min(lifetimes.code, MAX_CODE_SECONDS) : lifetimes.code),
    Interaction: lifetimes.interaction,
    Session: (_ctx: unknown, session: Parameters<typeof sessionTtl>[1]) => sessionTtl(parts, session),
  } as unknown as NonNullable<Configuration['ttl']>;
}

const algorithmsOf = ({ algorithms }: SigningKeys): NonNullable<Configuration['enabledJWA']> => ({
  authorizationSigningAlgValues: [...algorithms],
  clientAuthSigningAlgValues: [...clientAlgorithms],
  requestObjectSigningAlgValues: [...clientAlgorithms],
  idTokenSigningAlgValues: [...algorithms],
  userinfoSigningAlgValues: [...algorithms],
  idTokenEncryptionAlgValues: [...encryptionAlgorithms],
  userinfoEncryptionAlgValues: [...encryptionAlgorithms],
  authorizationEncryptionAlgValues: [...encryptionAlgorithms],
  // The service's signing keys only sign, and never decrypt.
  requestObjectEncryptionAlgValues: [],
});

const withoutRefresh = (configuration: Configuration): Configuration => ({
  ...configuration,
  async issueRefreshToken(ctx, ...rest) {
    return mayBeOffline(pinnedLogin(ctx) ?? {}) && ((await configuration.issueRefreshToken?.(ctx, ...rest)) ?? false);
  },
});

/** @see RFC 8705 §2 */
function certificateMethods({ features: { mTLS } }: OidcParts['options']) {
  if (!mTLS?.enabled) return [];
  return [
    ...(mTLS.tlsClientAuth ? (['tls_client_auth'] as const) : []),
    ...(mTLS.selfSignedTlsClientAuth ? (['self_signed_tls_client_auth'] as const) : []),
  ];
}

const LIMITS = { timeoutMs: 2_500, maxBytes: 65_536 };

/** Creates the function that fetches documents for oidc-provider: sector identifiers. {@link ClientKeySets} reads key sets. */
function createFetch({ fetch, remote }: OidcParts): NonNullable<Configuration['fetch']> {
  const documents = remote.reader(LIMITS, (answer) => {
    if (answer.status !== 200) throw new Error(`${answer.status} is not 200`);
    return answer;
  });
  return async (url, { method, headers, body } = {}) => {
    const given = { headers: Object.fromEntries(new Headers(headers)), ...(body ? { body: String(body) } : {}) };
    const answer = await (method === 'POST' ? fetch(String(url), { ...LIMITS, ...given, method }) : documents.read(String(url)));
    const hasBody = answer.body.length > 0 && ![204, 205, 304].includes(answer.status);
    return new Response(hasBody ? new Uint8Array(answer.body) : null, { status: answer.status, headers: { ...answer.headers } });
  };
}
