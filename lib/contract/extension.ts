/**
 * The extension contract: one plain object a feature.
 *
 * An extension imports this room, the pieces of `lib/http` and nothing of `lib/oidc`: whatever else it needs is in its context. `contributions` puts
 * together what several extensions add, `checks` looks at extensions that no compiler saw.
 */
import type Router from '@koa/router';
import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { Context, Middleware } from 'koa';
import type { Awaitable, ClaimSet, ClaimTarget, DeclaredClaim } from '../claims/contract.js';
import type {
  Account,
  Directory,
  Enqueued,
  ExtensionCollection,
  ExtensionData,
  ExtensionRows,
  RowsOfAllTenants,
  SeedPiece,
} from '../directory/index.js';
import type { Locale } from '../display/locales.js';
import type { ErrorEntry } from '../errors.js';
import type { Attribution, EventMap, EventName } from '../events.js';
import type { GuardedFetch } from '../fetch/guarded-fetch.js';
import type { CountWrongSecret } from '../http/clients/wrong-secrets.js';
import type { Logger } from '../logger.js';
import type { Sessions } from '../sessions.js';
import type { ArtifactKind, ExtensionArtifacts } from '../store/records/extension-artifacts.js';
import type { ApiResource, Branding, Client } from '../store/records/records.js';
import type { BearerState } from './bearer.js';
import type { CibaNotification } from './clients/authentication-requests.js';
import type { ClientEndpoint } from './clients/client-endpoint.js';
import type { GrantType } from './clients/grant-type.js';
import type { ConfigurationAddition } from './configuration.js';
import type { AccountSection } from './pages/account-section.js';
import type { Look, Mail, WriteLetter } from './pages/letter.js';
import type { ExtensionTexts, PageAddition } from './pages/page-additions.js';
import type { ScopeWords } from './pages/scope-words.js';
import type { View } from './pages/view.js';
import type { MountedOperation, Operation } from './resources.js';
import type { ActingHere } from './sign-in/acting.js';
import type { ActingRule } from './sign-in/acting-rule.js';
import type { Interactions } from './sign-in/interactions.js';
import type { BrowserSignIn, LogoutParticipant, SignOutAsk } from './sign-in/logout-participant.js';
import type { AskedElsewhere, Requirement, SignedIn } from './sign-in/requirement.js';
import type { SignInMethod } from './sign-in/sign-in-method.js';
import type { InternalClients, OutgoingForm, PostedForms, SignInAnswer, SignInAsk } from './sign-in/sign-in-request.js';
import type { DeliveryHandler, DeliveryKind, ExtensionKeys, ExtensionProblem, Job, ReportProblem, Seal } from './work.js';

export type { Interaction, KnownAccount, SignIn } from './sign-in/interaction.js';
export type { Interactions } from './sign-in/interactions.js';

/** A page the protocol has to show and leaves to an extension. */
export type ProtocolPage =
  | {
      readonly page: 'error';
      readonly status: number;
      /** The OAuth error code. */
      readonly error: string;
      /** For developers: shown outside production only. */
      readonly description?: string;
      readonly reference: string;
      readonly client?: Client;
    }
  /** A sign-in that cannot go on. With `restart`, the URL that begins it anew. */
  | { readonly page: 'expired'; readonly restart?: string; readonly client?: Client }
  /** May the user be signed out? Its form posts `fields`, and `logout=yes` for yes. */
  | { readonly page: 'logout'; readonly action: string; readonly fields: Readonly<Record<string, string>>; readonly client?: Client }
  | {
      readonly page: 'signed-out';
      readonly client?: Client;
      /** Applications that the browser has to call by hidden frames. @see OpenID Connect Front-Channel Logout 1.0 §2 */
      readonly frames?: readonly { readonly uri: string; readonly name: string }[];
      /** Names of applications that did not answer so far. */
      readonly unanswered?: readonly string[];
      /** Where to go on once the frames were called. */
      readonly next?: string;
    }
  /** Hands the browser over with a form that submits itself. Names and values come from outside. */
  | {
      readonly page: 'continue';
      readonly action: string;
      /** One with a list is sent once for each of its values. */
      readonly fields: Readonly<Record<string, string | readonly string[]>>;
      readonly client?: Client;
    }
  | { readonly page: 'unavailable' }
  /** What was asked for is for the user alone, and somebody acts as the user here. */
  | { readonly page: 'acting' }
  /** A sign-in that this browser knows nothing of: a link that is wrong, or too old to tell. */
  | { readonly page: 'wrong-link' }
  /** A page of an extension. */
  | { readonly page: 'view'; readonly view: View }
  /** The first page of a service in development. `signIn` begins one, where a link can. */
  | {
      readonly page: 'welcome';
      readonly issuer: string;
      readonly discovery: string;
      readonly clients: readonly { readonly name: string; readonly signIn?: string }[];
    };

/** Sets the whole response. */
export type ShowPage = (ctx: Context, page: ProtocolPage) => void | Promise<void>;

/** Who authenticates with an id and a secret of its own. */
export type Caller = Client | ApiResource;

/** In the state of a Koa context once somebody authenticated there. */
export interface CallerState {
  caller?: Caller;
}

/** Pseudonyms of users, one for each sector: two sectors cannot compare theirs. No client has those of an extension's sector. */
export interface ExtensionPseudonyms {
  /** @param sector begins with the extension's name. @param oid the user's id */
  of(sector: string, oid: string): string;
  /** The id behind one; undefined for what cannot be one. One of another sector becomes an id that nobody has. */
  oidOf(sector: string, pseudonym: string): string | undefined;
}

/** Claims as callers get them; without a caller, and to an API resource, ids are what they are. */
export interface AccountClaims {
  /** Identity scopes: `openid`, and those that grant claims. */
  readonly scopes: ReadonlySet<string>;
  /**
   * `sub`, `tid`, `oid` where it is issued, and the claims of these scopes, as they are now.
   * @param viewer as whom ids are written. @default the caller
   * @throws UnavailableError `claims_unavailable`
   */
  about(
    account: Account,
    scopes: ReadonlySet<string>,
    target: ClaimTarget,
    caller?: Caller,
    viewer?: Caller,
  ): Promise<Record<string, unknown>>;
  /** All that are served, with where they may go. */
  readonly declared: readonly DeclaredClaim[];
  /**
   * The claims of these names that may go to the target, and of `sub`, `oid`, `tid` and `act` those that are among the names. Linked accounts are told of
   * where the client may know of their tenants.
   * @param client the id of the client, or of an `InternalClient`. @default none: what is told is not limited
   * @param signIn what claims may say of the sign-in
   * @throws UnavailableError `claims_unavailable`
   * @throws TypeError for a client that there is not
   */
  named(
    account: Account,
    names: ReadonlySet<string>,
    target: ClaimTarget,
    client?: string,
    signIn?: SignedIn,
  ): Promise<Record<string, unknown>>;
  /** The user id behind what the viewer was given for it: to a pairwise client, a pseudonym. Undefined when it cannot be one. */
  userIdOf(identifier: string, viewer?: Caller): Promise<string | undefined>;
  /** What the viewer is given for a user id. */
  identifierOf(userId: string, viewer?: Caller): Promise<string>;
}

/** All an extension may touch. */
export interface ExtensionContext {
  readonly issuer: string;
  /** In production, pages keep to themselves what only a developer needs. */
  readonly production: boolean;
  /** Languages of the pages, the first for whoever wants none of them. */
  readonly locales: readonly Locale[];
  /** The look of the service, for what has none of its own: the option `branding`. */
  readonly branding: Branding;
  /** The absolute URL of a path below the issuer. */
  url(path: string): string;
  /** The prefix of everything that is not the protocol's: `/idp`. */
  readonly own: string;
  readonly directory: Directory;
  /** The cookie that tells a script of this origin whether the browser's sign-in changed. */
  readonly browserStateCookie: string;
  readonly interactions: Interactions;
  readonly claims: AccountClaims;
  /**
   * Middleware that lets pass who shows a live access token for the API resource, with these scopes, and puts it on `ctx.state.accessToken`.
   * 401 `invalid_token` and 403 `insufficient_scope` come with `WWW-Authenticate`. The API resource and the scopes have to exist when the service starts.
   * @see RFC 6750
   */
  bearer(audience: string, ...scopes: readonly string[]): Middleware<BearerState>;
  /** All operations of the admin API, which extensions contribute. */
  operations(): readonly MountedOperation[];
  /** The rows of one tenant in a collection that an extension declares. @throws TypeError for one that none does. */
  collection<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /** The rows of all tenants, and of the instance: for jobs, and for a row whose tenant is not known yet. @throws TypeError for a collection that no extension declares. */
  collectionOfAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
  /** In the place of a tenant's id, for {@link collection}: rows of the instance itself. */
  readonly ofInstance: string;
  /** The records of a kind that an extension declares. @throws TypeError for one that none does. */
  artifact(kind: ArtifactKind): ExtensionArtifacts;
  /** What extensions keep of persons and tenants: for who answers a person, or removes a tenant. Erasure of a person reaches it by itself. */
  readonly keptData: Pick<ExtensionData, 'export' | 'removeTenant'>;
  /**
   * Enqueues what has to reach somebody: durable, at least once, from whichever node is there. It is held for two seconds, so that it can be enqueued before
   * the change that it announces; `release()` sends it at once. The queue is not encrypted: put ids in it, and no secrets.
   * @throws TypeError for a kind that no extension takes.
   */
  deliver(kind: string, data: Readonly<Record<string, unknown>>, options?: { readonly batch?: string }): Promise<Enqueued>;
  /**
   * Raises an event that an extension declares, about an account: kept in the person's document until it is dispatched.
   * @param cause names what happened: told again, by any node, it stays one event.
   * @param by who made it happen.
   * @throws TypeError for a type that no extension declares.
   */
  emit<Name extends EventName>(type: Name, account: Account, data: EventMap[Name], cause: string, by?: Attribution): Promise<void>;
  /** Undefined without the option `subjectSalt`. */
  readonly pseudonyms?: ExtensionPseudonyms;
  /** Encrypts and hashes values of a purpose; purposes begin with the extension's name. */
  seal(purpose: string): Seal;
  /** Calls a URL that somebody else chose: https at public addresses, and hosts of the option `outgoing.allowHosts`. */
  readonly fetch: GuardedFetch;
  readonly keys: ExtensionKeys;
  /** A JWT of the service, signed with the current key of the algorithm. @param typ its explicit type. */
  sign(typ: string, payload: object, alg: 'RS256' | 'ES256'): Promise<string>;
  /** Algorithms that there are keys for. */
  readonly signingAlgorithms: readonly string[];
  readonly sessions: Sessions;
  /**
   * Whether somebody who signed in like this has all that is asked for elsewhere, and that the tenant and the requirements that `refuse` ask of everybody: for
   * approving in one place what begins in another. Whether the client is for people of the tenant is not asked here.
   */
  isSufficient(
    account: Account,
    signIn: Pick<BrowserSignIn, 'amr' | 'idp' | 'authTime' | 'provenAt' | 'act' | 'method'>,
    asked: AskedElsewhere,
  ): Promise<boolean>;
  /** Who is signed in in the browser that asks; undefined when nobody is. A page of another site that posts here brings no cookie, so nobody. */
  signedIn(ctx: Context): Promise<BrowserSignIn | undefined>;
  /**
   * Has the browser sign in for an application of the extension, by the same pages, requirements and session as for any other: answers 303. It comes back
   * to the application's `returnTo`, whose route calls {@link signInAnswer}.
   * @throws TypeError for an application that there is not.
   */
  requireSignIn(ctx: Context, ask: SignInAsk): Promise<void>;
  /** What the browser came back with; undefined for a request that nobody sent here, and for one that comes again. */
  signInAnswer(ctx: Context): Promise<SignInAnswer | undefined>;
  readonly postedForms: PostedForms;
  /** Has the browser post a form to another site: a page that submits itself. @throws TypeError for an action that is no http or https URL */
  sendForm(ctx: Context, form: OutgoingForm): Promise<void>;
  /**
   * Signs the browser out as the end-session endpoint does, for a caller that knows by itself that the person wants it: clients and participants are told
   * before anything ends; then session, grants and tokens are over, those of a session that was set aside included.
   * @returns where to go on: `next`, or what has to be called or visited on the way to it; undefined when the session is not of this browser, or over
   */
  signOut(ctx: Context, ask: SignOutAsk): Promise<string | undefined>;
  /**
   * Ends what a sign-in with `act` began in this browser: its session, grants and tokens. The clients are told, and who acted is signed in again as
   * before. For a form that was posted: the caller checks its token.
   * @param next a URL that the caller trusts
   * @returns where to go on: `next`, or the page that calls the clients in frames on the way to it; undefined when nobody acts here
   */
  endActing(ctx: Context, next: string): Promise<string | undefined>;
  /**
   * Ends the sign-in with `act` of this name wherever it is: its sessions, grants and tokens. The clients are told over the back channel, and who acted is
   * signed in again as before by the next request of their browser.
   * @param oid the user
   * @param name as in `acting` of the sign-in
   */
  endActingOf(oid: string, name: string): Promise<void>;
  /** Who acts as whom in the browser that asks, for its pages to say so: it is looked up in browsers alone where somebody acted a while ago. */
  acting(ctx: Context): Promise<ActingHere | undefined>;
  /**
   * Middleware for routes on which people do what nobody does in their name: set a password, link an account, accept an invitation, allow something. Where
   * somebody acts as somebody else, a page says so, with status 403.
   */
  readonly inPerson: Middleware;
  /** Scopes with the words of who declared them. */
  scopeDescriptions(): Promise<ReadonlyMap<string, ScopeWords>>;
  /** Shows a page of the extension's own in the look of the sign-in pages, with its strict headers. @throws TypeError for a text that there is not */
  view(ctx: Context, view: View): Promise<void>;
  /** Whose look a page without an interaction has, or a mail: the tenant, and the client if it is there. */
  brandingOf(tid: string, clientId?: string): Promise<Look>;
  /** The host's mail; undefined without the option `mail`. */
  readonly mail?: Mail;
  /** The tenant of personal accounts: the option `personalTenant`. */
  readonly personalTenant?: string;
  /** How people hear of requests to sign in: the option `ciba`. */
  readonly ciba: {
    readonly notify?: (notification: CibaNotification, signal: AbortSignal) => unknown;
    readonly email?: boolean;
  };
  /** The texts of all extensions in a language. */
  texts(locale: Locale): Readonly<Record<string, string>>;
  /** What extensions add to the pages of a sign-in. */
  readonly pageAdditions: readonly PageAddition[];
  /** The sections of the account page, which extensions contribute. */
  readonly accountSections: readonly AccountSection[];
  /** A token that proves a form came from our page of this interaction. */
  readonly csrf: { token(ctx: Context, subject: string): string; check(ctx: Context, subject: string, token: unknown): boolean };
  /** Counts attempts: how many there are with this one, and when the count starts again. @param window milliseconds */
  attempts(counter: string, window: number, by?: number): Promise<{ count: number; resetsAt: Date }>;
  /** Counts a wrong secret of a client or an API resource. @throws IdpError `too_many_requests` past the limit. */
  readonly countWrongSecret: CountWrongSecret;
  /** Who may act as others, and whether these are told: the option `impersonation`. */
  readonly impersonation?: { readonly permission: string; readonly notify?: boolean };
  readonly lifetimes: {
    /** Seconds of a link that proves an e-mail address. */
    readonly emailProof: number;
    /** Seconds of a sign-in, whatever its person does meanwhile. */
    readonly session: number;
    /** Seconds that somebody may act as a user, at most. */
    readonly impersonation: number;
    /** Seconds of an authentication request of CIBA. */
    readonly authenticationRequest: number;
    /** Seconds that events are kept. */
    readonly events: number;
  };
  readonly limits: {
    readonly signInFailures: number;
    readonly signInWindow: number;
    readonly signInFailuresPerAccount: number;
    readonly signInFailuresPerAddress: number;
    readonly adminRequestsPerMinute: number;
    readonly authenticationRequestsPerMinute: number;
  };
  readonly logger: Logger;
  /** What names a request in the log, and on the page about an error. */
  requestId(ctx: Context): string;
}

/** What stands under `seed.extensions.<name>`, and how it becomes records. */
export interface ExtensionSeed<Schema extends TSchema = TSchema> {
  readonly form: Schema;
  /**
   * The records, in the order that they are made in: before the tenants of the seed, whose policies may name them. The seed makes each once, and changes
   * what nobody else changed meanwhile.
   */
  pieces(seeded: Static<Schema>, context: ExtensionContext, names: SeedNames): readonly SeedPiece<{ readonly id: string }>[];
}

export interface SeedNames {
  /** The id of the tenant that the seed calls so; the name itself where it calls none so. */
  tenantId(name: string): string;
}

/** What a feature adds. Two that claim the same route, claim, page or discovery key are refused at start with both names. */
export interface Extension {
  readonly name: string;
  /** Routes below the issuer; a path of the protocol's own is refused. */
  readonly routes?: (router: Router, context: ExtensionContext) => void;
  /**
   * How errors of its routes look: `problem` (RFC 9457), `oauth` (`error` and `error_description` in JSON) or a `page`.
   * @default a page below `own` and for browsers, else `oauth`
   */
  readonly errors?: 'problem' | 'oauth' | 'page';
  /** Codes of its own errors, made by `defineErrors`. */
  readonly errorCodes?: Readonly<Record<string, ErrorEntry>>;
  readonly claims?: readonly ClaimSet[];
  /** Operations of the admin API, made by `defineOperation`: it checks token, scope, tenant and form of each request, and lists them in its document. */
  readonly resources?: (context: ExtensionContext) => readonly Operation[];
  /** Durable rows of its own, made by `defineCollection`. */
  // biome-ignore lint/suspicious/noExplicitAny: each has rows of its own
  readonly collections?: readonly ExtensionCollection<any>[];
  /** Kinds of short-lived records of its own. */
  readonly artifacts?: readonly ArtifactKind[];
  /** Its records in the option `seed`, under `extensions.<name>`, made by `defineSeed`. */
  readonly seed?: ExtensionSeed;
  /** Looks at what the extension was made with, together with all other options: nothing is open yet. */
  readonly check?: (report: ReportProblem) => void;
  /** Before the service answers, with stores open and keys loaded. What it throws stops the start. */
  readonly start?: (context: ExtensionContext) => Awaitable<void>;
  /** What is wrong now, for `health().problems`; within two seconds. */
  readonly health?: (context: ExtensionContext) => Awaitable<readonly ExtensionProblem[]>;
  /** How deliveries of its kinds are taken, by kind: the extension's name, a dot, and a name of its own. */
  readonly deliveries?: (context: ExtensionContext) => Readonly<Record<string, DeliveryHandler | DeliveryKind>>;
  readonly jobs?: (context: ExtensionContext) => readonly Job[];
  /** Types of its own events, as `EventMap` has them by declaration merging. */
  readonly events?: readonly EventName[];
  /** Shows the protocol's pages; exactly one extension does. */
  readonly pages?: (context: ExtensionContext) => ShowPage;
  /** Writes the mails of all extensions; exactly one extension does, the one with the pages. */
  readonly letters?: (context: ExtensionContext) => WriteLetter;
  /** Members of the discovery document. */
  readonly discovery?: (context: ExtensionContext) => Readonly<Record<string, unknown>>;
  /** Koa middleware about a named endpoint of the protocol. */
  readonly around?: Readonly<Record<string, (context: ExtensionContext) => Middleware>>;
  /** Ways to sign in beside the password. */
  readonly signInMethods?: (context: ExtensionContext) => readonly SignInMethod[];
  /** What is asked of a person who is signed in, before an application gets its answer. */
  readonly requirements?: (context: ExtensionContext) => readonly Requirement[];
  /** The extension's words, in each of the pages' languages. */
  readonly texts?: ExtensionTexts;
  /** Words and links at the foot of the pages of a sign-in. */
  readonly pageAdditions?: readonly PageAddition[];
  /** Pages of the extension on which people change something of their own, for the account page to lead to. */
  readonly accountSections?: readonly AccountSection[];
  /**
   * Grant types at the token endpoint, by the `grant_type` that clients are registered for and send, an absolute URI (RFC 6749 §4.5). Each is made once,
   * before the service listens, and listed in discovery.
   */
  readonly grantTypes?: Readonly<Record<string, (context: ExtensionContext) => GrantType>>;
  /**
   * Endpoints of oidc-provider's own that the extension answers, once the client authenticated as at the token endpoint. Their paths are the
   * service's; {@link configure} adds their feature.
   */
  readonly clientEndpoints?: Readonly<Record<'backchannel_authentication', (context: ExtensionContext) => ClientEndpoint>>;
  /**
   * Adds names to `features`, `routes` and `ttl` of oidc-provider's configuration, which it gets to look at: for an endpoint of oidc-provider's own that the
   * service does not use. Called once for each set of signing keys.
   */
  readonly configure?: (configuration: Readonly<Record<string, unknown>>, context: ExtensionContext) => ConfigurationAddition;
  /** Applications that the extension answers by a protocol of its own, which {@link ExtensionContext.requireSignIn} signs people in for. */
  readonly clients?: (context: ExtensionContext) => InternalClients;
  /** The absolute URL of the page on which people end what a sign-in with `act` began: every page leads there meanwhile. The first extension that has one says. */
  readonly endActingAt?: (context: ExtensionContext) => string | undefined;
  /** Whether the sign-ins with `act` that the extension began may go on, and what is to be done when they end. */
  readonly acting?: (context: ExtensionContext) => ActingRule;
  /** Who has to hear of the end of a sign-in. */
  readonly logoutParticipant?: (context: ExtensionContext) => LogoutParticipant;
  /**
   * Client metadata by name, kept in the client's record: each answers what the value should be instead (`a https URL`), or undefined where it is right. It
   * is checked when a client is written.
   */
  readonly clientMetadata?: Readonly<Record<string, (value: unknown) => string | undefined>>;
  /**
   * What is wrong with the metadata of a client as a whole: what it should be instead, by the name of the member. Asked when a client is written, beside
   * {@link clientMetadata}.
   */
  readonly clientProblems?: (metadata: Client['metadata']) => Readonly<Record<string, string>>;
  readonly close?: () => Promise<void>;
}
