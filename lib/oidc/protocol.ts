/**
 * The protocol: oidc-provider with its extension points filled in. This file wires the rooms of this folder.
 *
 * Rooms are named after the protocol and import downwards only, in this order: tokens and interactions, which know nothing of each other; authorize;
 * sessions; accounts; clients; keys and upstream; artifacts. `docs/architecture.md` has the order, and the table of what we do at each step
 * of oidc-provider; tests compare both with the code.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { ReadAccessToken } from '../contract/bearer.js';
import type { ExtensionClaims } from '../contract/context/claims.js';
import type { ExtensionHttp } from '../contract/context/http.js';
import type { ExtensionImpersonation } from '../contract/context/impersonation.js';
import type { ExtensionKeys } from '../contract/context/keys.js';
import type { ExtensionSessions } from '../contract/context/sessions.js';
import type { ExtensionSignIn } from '../contract/context/sign-in.js';
import { type InputProblem, isLiveSecret } from '../directory/index.js';
import type { ProtocolApp } from '../http/app.js';
import type { Document } from '../http/documents.js';
import type { RepeatedForms, SignInsOfForms } from '../http/requests/repeated-forms.js';
import { present } from '../present.js';
import type { Client } from '../store/records/records.js';
import { createAccounts } from './accounts/account.js';
import { createAccountClaims } from './accounts/account-claims.js';
import { createIsComplete, createMayChange, createSufficient } from './accounts/requirements.js';
import { createScopes } from './accounts/scopes.js';
import { createClientEndpoint } from './authorize/backchannel/client-endpoints.js';
import { checkSignOut, checkUris } from './authorize/checks.js';
import { createCompletedRequests } from './authorize/completed-requests.js';
import { createErrorPage } from './authorize/error-page.js';
import { carryParameters } from './authorize/parameters.js';
import { createPushedAnswer } from './authorize/pushed-requests.js';
import { createRequestUris } from './authorize/request-uris.js';
import { createResponder } from './authorize/response.js';
import { createSignInRequests } from './authorize/sign-in-requests.js';
import { assertionAudiences } from './clients/assertions.js';
import { noteCaller, requireClientAuthentication } from './clients/authentication.js';
import { callerOf, clientOf, createFindRecord, type FindClient } from './clients/clients.js';
import { createIntrospectionAlgorithm, createProfileCheck } from './clients/fapi.js';
import { createClientRefusals } from './clients/refused-clients.js';
import { findSchemaProblems } from './clients/schema-problems.js';
import { BACKCHANNEL_PATH, routes } from './configuration.js';
import type { OidcDependencies } from './context.js';
import { createInstances, type InstanceParts } from './instances.js';
import { createInteractions } from './interactions/interactions.js';
import { createResumeCheck } from './interactions/resume-check.js';
import { signedJwt } from './keys/jwt.js';
import type { SigningKeys } from './keys/keys.js';
import { createMiddleware } from './middleware.js';
import { createParts } from './parts.js';
import { createImpersonations } from './sessions/impersonations.js';
import { createLogout } from './sessions/logout.js';
import { sendLogoutTokens } from './sessions/logout-notices.js';
import { createPostedForms } from './sessions/posted-forms.js';
import { createCurrentImpersonation, createInPerson, createSignedIn, createSignInState, createSignInToEnd } from './sessions/signed-in.js';
import { createUserSessions } from './sessions/user-sessions.js';
import { createAccessTokens, wrapToken } from './tokens/access-token-jwt.js';
import { createPlainDoor } from './tokens/doors/plain-door.js';
import { createProviderDoor, type Handlers } from './tokens/doors/provider-door.js';
import { createFindToken } from './tokens/found-token.js';
import { createExtensionGrants } from './tokens/grants/extension-grants.js';
import { createGrantTypes } from './tokens/grants/grant-types.js';
import { createSpentTokenRules } from './tokens/grants/refresh-token.js';
import { createDescribeToken, createIntrospect } from './tokens/introspection.js';
import { createCheckPossession } from './tokens/possession.js';
import { createReadAccessToken } from './tokens/read-access-token.js';
import { createRevoke } from './tokens/revocation.js';
import { createUserinfo } from './tokens/userinfo.js';
import { findClient as findProviderClient } from './upstream/client.js';
import { proofAlgorithms } from './upstream/grant-types.js';
import type { ProviderHooks } from './upstream/provider.js';

/** The protocol: oidc-provider with its extension points filled in. */
export interface Protocol {
  /** Answers from now on with an oidc-provider that has these signing keys. A request under way ends on the one that it began on. */
  useKeys(keys: SigningKeys): void;
  /** oidc-provider as it is now: for hosts, and as a Koa app. */
  readonly provider: Provider;
  readonly app: ProtocolApp['app'];
  /** Groups of the context of extensions that the protocol answers for. */
  readonly signIn: ExtensionSignIn;
  readonly sessions: ExtensionSessions;
  readonly impersonation: ExtensionImpersonation;
  readonly claims: ExtensionClaims;
  readonly keys: Pick<ExtensionKeys, 'sign' | 'signature' | 'introspectionAlgorithm'>;
  readonly postedForms: ExtensionHttp['postedForms'];
  readonly readAccessToken: ReadAccessToken;
  /** Algorithms by which clients may sign DPoP proofs; none where DPoP is off. */
  readonly proofAlgorithms: () => readonly string[];
  /** Answers a form that is sent twice with the first answer. */
  readonly repeatedForms: RepeatedForms;
  /** Problems that oidc-provider finds in the metadata of a client. */
  problemsOf(client: Client): readonly InputProblem[];
  /** The record of a client, or of an application of an extension. */
  client(id: string): Promise<Client | undefined>;
  /** The endpoints' paths by name, below the issuer. */
  readonly routes: Readonly<Record<string, string>>;
  /** The discovery document and the key set by their paths: as they are sent, if they are at hand. */
  document(path: string): Document | undefined;
  /** Runs about oidc-provider's own middleware, in the context that `provider.createContext` made. */
  readonly middleware: Middleware;
}

/** Without keys: nothing of it can be used before the first {@link Protocol.useKeys}. */
export function createProtocol(
  dependencies: OidcDependencies & {
    readonly cookieKeys: readonly string[];
    readonly addressOf: (req: IncomingMessage) => string;
    /** Makes what answers a form that is sent twice. */
    readonly repeatedForms: (signIns: SignInsOfForms) => RepeatedForms;
  } & Pick<InstanceParts, 'discovery'>,
): Protocol {
  const { options, cookieKeys } = dependencies;
  const parts = createParts(dependencies, (ctx) => (ctx ? instances.of(ctx) : instances.current()).keys);
  const { tokens } = parts.adapters;
  const provider = (): Provider => instances.current().provider;
  const scopes = createScopes(parts);
  const accounts = createAccounts(parts, scopes);
  const spentTokens = createSpentTokenRules(parts, accounts);
  const logout = createLogout(parts, provider);
  const isComplete = createIsComplete(parts);
  const impersonation = createImpersonations(parts, provider, isComplete);
  const findClient: FindClient = (id) => findProviderClient(provider(), id);
  const describe = createDescribeToken(parts, accounts, scopes, findClient);
  const accessTokens = createAccessTokens(parts, accounts, scopes);
  const find = createFindToken(tokens, accessTokens);
  const extensionGrants = createExtensionGrants(parts, accounts, scopes);
  const handlers: Handlers | undefined = options.isAnsweredHere
    ? {
        grantTypes: createGrantTypes(parts, accounts, scopes, accessTokens, extensionGrants),
        introspect: createIntrospect(parts, describe, find),
        revoke: createRevoke(tokens, find),
        userinfo: createUserinfo(parts, accounts, scopes),
      }
    : undefined;
  const door = createProviderDoor(parts, scopes, spentTokens, handlers);
  const requestUris = createRequestUris(parts);
  const checkProfile = createProfileCheck(parts);
  const clientRefusals = createClientRefusals(parts);

  const answerClient = parts.backchannel && createClientEndpoint(parts, scopes, requestUris, provider, parts.backchannel);

  // Userinfo answers all that was granted; oidc-provider would have a parameter narrow it.
  const parameters: ProviderHooks['parameters'] = (route, given, of) =>
    route === 'userinfo' ? { ...given, scope: undefined } : wrapToken(route, carryParameters(route, given, of));
  const completed = createCompletedRequests(parts, provider);
  const signedIn = createSignedIn(parts, provider, isComplete);
  const signInRequests = createSignInRequests(parts, provider, signedIn);
  const hooks: InstanceParts['hooks'] = {
    authenticated(ctx) {
      noteCaller(ctx, ctx.oidc.client);
      checkProfile(ctx);
    },
    token: door.admit,
    grant: door.grant,
    lastSteps: handlers ? { ...door.lastSteps, pushed_authorization_request: createPushedAnswer(parts) } : {},
    backchannel:
      answerClient &&
      (async (ctx) => {
        const { client, body } = ctx.oidc;
        if (!client) throw new TypeError('the client did not authenticate');
        ctx.body = await answerClient({ ctx, client, record: clientOf(client) as Client, parameters: body ?? {} });
      }),
    respond: createResponder(parts, signInRequests.answer, completed),
    parameters,
    check(ctx) {
      checkUris(ctx);
      checkSignOut(ctx);
      requireClientAuthentication(ctx);
      requestUris.check(ctx);
    },
    assertionAudiences: assertionAudiences(
      options,
      routes.token,
      new Map([
        ['pushed_authorization_request', routes.pushed_authorization_request],
        ['backchannel_authentication', BACKCHANNEL_PATH],
      ]),
    ),
    scopes: (ctx) => scopes.known(ctx),
    held(ctx, client, granted) {
      const record = clientOf(client);
      return record ? scopes.held(ctx, record, granted) : [];
    },
    structuredToken: accessTokens,
    successorOf: (token) => tokens.successorOf(token),
    now: parts.now,
    interactions: {
      browserOf: (ctx) => parts.browsers.begin(ctx),
      mayResume: createResumeCheck(parts),
    },
    sessions: impersonation.hooks,
    clients: {
      record: createFindRecord(parts),
      keysAt: (uri) => dependencies.clientKeySets.at(uri),
      compareSecret: (client, secret) => isLiveSecret(callerOf(client)?.secrets ?? [], secret, parts.now()),
      mayBeLocal: !options.production,
    },
    addressOf: dependencies.addressOf,
  };
  const renderError = createErrorPage(parts, completed);
  const { discovery } = dependencies;
  const instances = createInstances({
    parts,
    hooks,
    extensionGrants,
    clientRefusals,
    discovery,
    accounts,
    scopes,
    describe,
    logout,
    cookieKeys,
    renderError,
  });
  sendLogoutTokens(parts, provider);

  const { isOver, ...interactions } = createInteractions(parts, provider, impersonation, isComplete, completed);
  const toEnd = createSignInToEnd(provider);
  const repeatedForms = dependencies.repeatedForms({ state: createSignInState(parts, provider, isComplete), isOver });
  const ofExtensions = parts.pseudonyms?.ofExtensions;
  const plainDoor = handlers && createPlainDoor({ parts, handlers, findClient, answerClient });
  return {
    useKeys: instances.begin,
    get provider() {
      return provider();
    },
    get app() {
      return provider() as unknown as ProtocolApp['app'];
    },
    signIn: {
      current: signedIn,
      toEnd,
      require: signInRequests.require,
      answer: signInRequests.take,
      isSufficient: createSufficient(parts, isComplete),
      mayChange: createMayChange(parts),
      interactions,
    },
    sessions: { ...createUserSessions(parts), signOut: logout.signOut },
    impersonation: {
      ...present({ rules: options.impersonation }),
      current: createCurrentImpersonation(parts, provider),
      inPerson: createInPerson(parts, toEnd),
      end: impersonation.end,
      endOf: impersonation.endOf,
    },
    claims: {
      ...createAccountClaims(parts, accounts, findClient),
      ...(ofExtensions && { pseudonyms: { of: ofExtensions.encipher, oidOf: ofExtensions.decipher } }),
    },
    keys: {
      sign: (typ, payload, alg) => signedJwt(parts.keys().signing(alg), typ, payload),
      async signature(data, alg) {
        const key = parts.keys().signing(alg);
        const signature = await key.sign(Buffer.from(data));
        return { kid: key.kid, alg: key.alg, signature, publicKey: key.publicKey.export({ format: 'jwk' }) };
      },
      introspectionAlgorithm: createIntrospectionAlgorithm(parts),
    },
    postedForms: createPostedForms(parts),
    repeatedForms,
    readAccessToken: createReadAccessToken(parts, {
      accounts,
      scopes,
      find,
      findClient,
      possession: createCheckPossession(parts, provider),
    }),
    proofAlgorithms: () => proofAlgorithms(provider()),
    problemsOf: (client) => findSchemaProblems(provider(), client, parts),
    client: async (id) => clientOf(await findClient(id)),
    get routes() {
      return instances.current().routes;
    },
    document: (path) => instances.current().documents.peek(path),
    middleware: createMiddleware({
      parts,
      instances,
      scopes,
      logout,
      clientRefusals,
      requestUris,
      plainDoor,
      parameters,
      completed,
      repeatedForms,
    }),
  };
}
