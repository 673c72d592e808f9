/** Creates the rooms of the protocol once, in the order of their dependencies. */
import type Provider from 'oidc-provider';
import { createAccounts } from './accounts/account.js';
import { createIsComplete } from './accounts/requirements.js';
import { createScopes } from './accounts/scopes.js';
import { createClientEndpoint } from './authorize/backchannel/client-endpoints.js';
import { createCompletedRequests } from './authorize/completed-requests.js';
import { createSettleFailure } from './authorize/failures.js';
import { createRequestUris } from './authorize/request-uris.js';
import { createSignInRequests } from './authorize/sign-in-requests.js';
import { assertionAudiences, createAcceptAssertion } from './clients/assertions.js';
import type { FindClient } from './clients/clients.js';
import { createClientRefusals } from './clients/refused-clients.js';
import { BACKCHANNEL_PATH, routes } from './configuration.js';
import type { OidcParts } from './context.js';
import { createInteractions } from './interactions/interactions.js';
import { createImpersonations } from './sessions/impersonations.js';
import { createLogout } from './sessions/logout.js';
import { createSignInRecorder } from './sessions/recorded-sign-ins.js';
import { createSignedIn } from './sessions/signed-in.js';
import { createAccessTokens } from './tokens/access-token-jwt.js';
import type { Handlers } from './tokens/doors/provider-door.js';
import { createRedeem } from './tokens/doors/redeem.js';
import { createFindToken } from './tokens/found-token.js';
import { createExtensionGrants } from './tokens/grants/extension-grants.js';
import { createGrantTypes } from './tokens/grants/grant-types.js';
import { createSpentTokenRules } from './tokens/grants/refresh-token.js';
import { createDescribeToken, createIntrospect } from './tokens/introspection.js';
import { createRevoke } from './tokens/revocation.js';
import { createUserinfo } from './tokens/userinfo.js';
import { findClient as findProviderClient } from './upstream/client.js';

export type Rooms = ReturnType<typeof createRooms>;

/** @param provider returns the oidc-provider of the current signing keys. The function is not called before there are signing keys. */
export function createRooms(parts: OidcParts, provider: () => Provider) {
  const findClient: FindClient = (id) => findProviderClient(provider(), id);
  const scopes = createScopes(parts);
  const accounts = createAccounts(parts, scopes);
  const logout = createLogout(parts, provider);
  const isComplete = createIsComplete(parts);
  const impersonations = createImpersonations(parts, provider, isComplete);
  const recorder = createSignInRecorder(parts);
  const signedIn = createSignedIn(parts, provider, isComplete, recorder);
  const requestUris = createRequestUris(parts);
  const completed = createCompletedRequests(parts, provider);
  const describe = createDescribeToken(parts, accounts, scopes, findClient);
  const accessTokens = createAccessTokens(parts, accounts, scopes);
  const findToken = createFindToken(parts.adapters.tokens, accessTokens);
  const extensionGrants = createExtensionGrants(parts, accounts, scopes, recorder);
  /** Handlers of the token endpoints. Undefined if oidc-provider answers by itself. */
  const handlers: Handlers | undefined = parts.options.isAnsweredHere
    ? {
        grantTypes: createGrantTypes(parts, accounts, scopes, accessTokens, extensionGrants),
        introspect: createIntrospect(parts, describe, findToken),
        revoke: createRevoke(parts.adapters.tokens, findToken),
        userinfo: createUserinfo(parts, accounts, scopes),
      }
    : undefined;
  const spentTokens = createSpentTokenRules(parts, accounts);
  const audiences = audiencesOf(parts);
  return {
    parts,
    provider,
    findClient,
    scopes,
    accounts,
    logout,
    isComplete,
    impersonations,
    signedIn,
    recorder,
    signInRequests: createSignInRequests(parts, provider, signedIn),
    interactions: createInteractions(parts, provider, impersonations, isComplete, completed),
    requestUris,
    completed,
    assertionAudiences: audiences,
    acceptAssertion: createAcceptAssertion(provider, audiences),
    clientRefusals: createClientRefusals(parts),
    settleFailure: createSettleFailure(parts),
    admit: spentTokens.admit,
    redeem: createRedeem(spentTokens),
    describe,
    accessTokens,
    findToken,
    extensionGrants,
    handlers,
    /** Answers the endpoint of an extension. Undefined if no extension answers the endpoint. */
    answerClient: parts.backchannel && createClientEndpoint(parts, scopes, requestUris, provider, parts.backchannel),
  };
}

/** Endpoints whose own URL is an audience of client assertions there. */
const audiencesOf = ({ options }: OidcParts): ReturnType<typeof assertionAudiences> =>
  assertionAudiences(
    options,
    routes.token,
    new Map([
      ['pushed_authorization_request', routes.pushed_authorization_request],
      ['backchannel_authentication', BACKCHANNEL_PATH],
    ]),
  );
