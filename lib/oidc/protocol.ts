/**
 * The protocol: oidc-provider with its extension points filled in.
 *
 * Folders are rooms, named after the protocol, and import downwards only. `rooms` creates them. `hooks` connects them to the steps of oidc-provider.
 * `instances` has an oidc-provider for each set of signing keys. `docs/architecture.md` has the order of the rooms and the table of the steps, and tests
 * compare both with the code.
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
import type { InputProblem } from '../directory/index.js';
import type { ProtocolApp } from '../http/app.js';
import type { Document } from '../http/documents.js';
import type { RepeatedForms, SignInsOfForms } from '../http/requests/repeated-forms.js';
import { present } from '../present.js';
import type { Client } from '../store/records/records.js';
import { createAccountClaims } from './accounts/account-claims.js';
import { createMayChange, createSufficient } from './accounts/requirements.js';
import { createErrorPage } from './authorize/error-page.js';
import { createPlainAuthorization, createPlainPushed } from './authorize/plain-door.js';
import { clientOf } from './clients/clients.js';
import { createIntrospectionAlgorithm } from './clients/fapi.js';
import { findSchemaProblems } from './clients/schema-problems.js';
import { routes } from './configuration.js';
import type { OidcDependencies } from './context.js';
import { createHooks } from './hooks.js';
import { createInstance, createInstances, type InstanceParts } from './instances.js';
import { signedJwt } from './keys/jwt.js';
import type { SigningKeys } from './keys/keys.js';
import { createMiddleware } from './middleware.js';
import { createParts } from './parts.js';
import { createRooms, type Rooms } from './rooms.js';
import { createProofOf } from './sessions/asked-in-sign-in.js';
import { sendLogoutTokens } from './sessions/logout-notices.js';
import { createPostedForms } from './sessions/posted-forms.js';
import { createCurrentImpersonation, createInPerson, createSignInState, createSignInToEnd } from './sessions/signed-in.js';
import { createUserSessions } from './sessions/user-sessions.js';
import { createPlainDoor } from './tokens/doors/plain-door.js';
import { createWithoutContext } from './tokens/doors/without-context.js';
import { createCheckPossession } from './tokens/possession.js';
import { createReadAccessToken } from './tokens/read-access-token.js';
import { proofAlgorithms } from './upstream/grant-types.js';

/** The protocol: oidc-provider with its extension points filled in. */
export interface Protocol {
  /** Answers new requests with an oidc-provider that has these signing keys. A running request ends on the instance on which it began. */
  useKeys(keys: SigningKeys): void;
  /** The current oidc-provider, for hosts, and as a Koa app. */
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
  /** Returns algorithms of DPoP proofs; none if DPoP is off. */
  readonly proofAlgorithms: () => readonly string[];
  /** Answers the second copy of a form that is sent twice with the first answer. */
  readonly repeatedForms: RepeatedForms;
  /** Returns the problems that oidc-provider finds in the metadata of a client. */
  problemsOf(client: Client): readonly InputProblem[];
  /** Returns the record of a client, or of an internal client. */
  client(id: string): Promise<Client | undefined>;
  /** Returns the record as {@link client} does, except for a page of the service. */
  application(id: string): Promise<Client | undefined>;
  isOwnPage(client: Client): boolean;
  /** Paths of the endpoints by name, below the issuer. */
  readonly routes: Readonly<Record<string, string>>;
  /** Returns the discovery document or the key set by its path, if it can be sent without waiting. */
  document(path: string): Document | undefined;
  /** Returns the function that tries to answer a request without a Koa context; undefined for a request that needs one. */
  readonly withoutContext: ProtocolApp['withoutContext'];
  /** Runs around oidc-provider's own middleware, in the context that `provider.createContext` made. */
  readonly middleware: Middleware;
}

export interface ProtocolDependencies extends OidcDependencies, Pick<InstanceParts, 'discovery' | 'cookieKeys'> {
  readonly addressOf: (req: IncomingMessage) => string;
  /** Creates the part that answers a form that is sent twice. */
  readonly repeatedForms: (signIns: SignInsOfForms) => RepeatedForms;
}

/** Creates the protocol without signing keys. Call {@link Protocol.useKeys} before the protocol answers its first request. */
export function createProtocol(dependencies: ProtocolDependencies): Protocol {
  const instances = createInstances();
  const provider = (): Provider => instances.current().provider;
  const parts = createParts(dependencies, (ctx) => (ctx ? instances.of(ctx) : instances.current()).keys);
  const rooms = createRooms(parts, provider);
  const { discovery, cookieKeys } = dependencies;
  const instanceParts: InstanceParts = {
    ...rooms,
    hooks: createHooks(rooms, dependencies.addressOf),
    renderError: createErrorPage(parts, rooms.completed),
    discovery,
    cookieKeys,
  };
  sendLogoutTokens(parts, provider);
  const { handlers, findClient } = rooms;
  const repeatedForms = dependencies.repeatedForms({
    state: createSignInState(parts, provider, rooms.isComplete),
    isOver: rooms.interactions.isOver,
  });
  const plainDoor = handlers && createPlainDoor({ ...rooms, handlers, answerPushed: createPlainPushed(parts, provider) });
  const plainAuthorization = handlers && createPlainAuthorization(parts, rooms.accounts, rooms.scopes, instanceParts.hooks.respond);
  return {
    ...groupsOf(rooms),
    useKeys: (keys) => instances.use(createInstance(instanceParts, keys)),
    get provider() {
      return provider();
    },
    get app() {
      return provider() as unknown as ProtocolApp['app'];
    },
    get routes() {
      return instances.current().routes;
    },
    repeatedForms,
    readAccessToken: createReadAccessToken(parts, {
      accounts: rooms.accounts,
      scopes: rooms.scopes,
      find: rooms.findToken,
      findClient,
      possession: createCheckPossession(parts, provider),
    }),
    proofAlgorithms: () => proofAlgorithms(provider()),
    problemsOf: (client) => findSchemaProblems(provider(), client, parts),
    client: async (id) => clientOf(await findClient(id)),
    async application(id) {
      const record = clientOf(await findClient(id));
      return parts.internalClients.applicationOf(record)?.isPage ? undefined : record;
    },
    isOwnPage(client) {
      const { isPage, name } = parts.internalClients.applicationOf(client) ?? {};
      return isPage === true && name === undefined;
    },
    document: (path) => instances.current().documents.peek(path),
    withoutContext: plainDoor ? createWithoutContext(plainDoor, routes) : () => undefined,
    middleware: createMiddleware({ ...rooms, instances, plainDoor, plainAuthorization, repeatedForms }),
  };
}

/** Returns the groups of the context of extensions that the protocol answers for. */
function groupsOf(rooms: Rooms): Pick<Protocol, 'signIn' | 'sessions' | 'impersonation' | 'claims' | 'keys' | 'postedForms'> {
  const { parts, provider, accounts, findClient, logout, isComplete, signInRequests, impersonations } = rooms;
  const { isOver: _, ...interactions } = rooms.interactions;
  const toEnd = createSignInToEnd(provider);
  const pseudonyms = parts.pseudonyms?.ofExtensions;
  return {
    signIn: {
      current: rooms.signedIn,
      toEnd,
      require: signInRequests.require,
      answer: signInRequests.take,
      isSufficient: createSufficient(parts, isComplete),
      mayChange: createMayChange(parts),
      proofOf: createProofOf(parts, provider),
      interactions,
    },
    sessions: { ...createUserSessions(parts), signOut: logout.signOut },
    impersonation: {
      ...present({ rules: parts.options.impersonation }),
      current: createCurrentImpersonation(parts, provider),
      inPerson: createInPerson(parts, toEnd),
      end: impersonations.end,
      endOf: impersonations.endOf,
    },
    claims: {
      ...createAccountClaims(parts, accounts, findClient),
      ...(pseudonyms && { pseudonyms: { of: pseudonyms.encipher, oidOf: pseudonyms.decipher } }),
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
  };
}
