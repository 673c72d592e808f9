/** What an extension gets from the service. */
import type { Static, TObject } from '@sinclair/typebox';
import type { Context, Middleware } from 'koa';
import type {
  Account,
  Directory,
  Enqueued,
  ExtensionCollection,
  ExtensionData,
  ExtensionRows,
  RowsOfAllTenants,
} from '../directory/index.js';
import type { Locale } from '../display/locales.js';
import type { Attribution, EventMap, EventName } from '../events.js';
import type { FetchProblem } from '../fetch/fetch-rules.js';
import type { GuardedFetch } from '../fetch/guarded-fetch.js';
import type { CountWrongSecret } from '../http/clients/wrong-secrets.js';
import type { Csrf } from '../http/requests/csrf.js';
import type { Logger } from '../logger.js';
import type { ArtifactKind, ExtensionArtifacts } from '../store/records/extension-artifacts.js';
import type { Branding } from '../store/records/records.js';
import type { BearerState } from './bearer.js';
import type { AccountClaims, ExtensionPseudonyms } from './clients/account-claims.js';
import type { CibaNotification } from './clients/authentication-requests.js';
import type { Caller } from './clients/caller.js';
import type { AccountSection } from './pages/account-section.js';
import type { Look, Mail } from './pages/letter.js';
import type { PageAddition } from './pages/page-additions.js';
import type { ScopeWords } from './pages/scope-words.js';
import type { View } from './pages/view.js';
import type { MountedOperation } from './resources.js';
import type { ActingHere } from './sign-in/acting.js';
import type { Interactions } from './sign-in/interactions.js';
import type { BrowserSignIn, SignInToEnd, SignOutAsk } from './sign-in/logout-participant.js';
import type { AskedElsewhere, SignedIn } from './sign-in/requirement.js';
import type { Sessions } from './sign-in/sessions.js';
import type { OutgoingForm, PostedForms, SignInAnswer, SignInAsk } from './sign-in/sign-in-request.js';
import type { ExtensionKeys, Seal } from './work.js';

/** The context of an extension, by its name. */
export type ContextOf = (extension: string) => ExtensionContext;

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
  /**
   * The time that all nodes share, in milliseconds since the epoch. `authTime` and `provenAt` of sign-ins and proofs of credentials are by it, so they are
   * compared with it: by its own clock, a node may be half a minute off.
   */
  now(): number;
  /** The prefix of everything that is not the protocol's: `/idp`. */
  readonly own: string;
  readonly directory: Directory;
  /**
   * Returns the name of a cookie that browsers send only to paths below the issuer's. The name has the prefix of the option `cookies.prefix`, and `__Secure-`
   * if the issuer is https. @param name the extension's own name for the cookie, such as `tour.seen`
   */
  cookieName(name: string): string;
  /** The cookie that tells a script of this origin whether the browser's sign-in changed. */
  readonly browserStateCookie: string;
  readonly interactions: Interactions;
  readonly claims: AccountClaims;
  /**
   * Middleware that lets pass who shows a live access token for the API resource, with these scopes, and puts it on `ctx.state.accessToken`.
   * 401 `invalid_token` and 403 `insufficient_scope` come with `WWW-Authenticate`. The API resource and the scopes have to exist when the service starts.
   * A token that is bound to a key or a certificate passes with a proof of possession.
   * @see RFC 6750, RFC 9449 §7, RFC 8705 §3
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
   * @param cause names what happened: told again, by any node, it stays one event. Undefined where nothing is told twice: that saves a look-up.
   * @param by who made it happen.
   * @throws TypeError for a type that no extension declares.
   */
  emit<Name extends EventName>(type: Name, account: Account, data: EventMap[Name], cause?: string, by?: Attribution): Promise<void>;
  /** Types of the events that this service raises, with those of its extensions. */
  readonly eventTypes: readonly EventName[];
  /** Undefined without the option `subjectSalt`. */
  readonly pseudonyms?: ExtensionPseudonyms;
  /** Encrypts and hashes values of a purpose. @throws TypeError for one that does not begin with the extension's name and a space, dot or colon. */
  seal(purpose: string): Seal;
  /** Calls a URL that somebody else chose: https at public addresses, and hosts of the option `outgoing.allowHosts`. */
  readonly fetch: GuardedFetch;
  /**
   * Checks a URL that the service will call, when the URL is written. In production, returns what the URL should be instead if its host is an address outside
   * the Internet that `outgoing.allowHosts` does not have. Host names pass, because the service looks them up at each call.
   */
  readonly fetchProblem: FetchProblem;
  readonly keys: ExtensionKeys;
  /** A JWT of the service, signed with the current key of the algorithm. @param typ its explicit type. */
  sign(typ: string, payload: object, alg: 'RS256' | 'ES256'): Promise<string>;
  /** Returns the algorithm of introspection responses to a caller: as it registered, and ES256 where FAPI 2.0 applies. @see RFC 9701 §6 */
  introspectionAlgorithm(caller: Caller): 'RS256' | 'ES256';
  /** Algorithms that there are keys for. */
  readonly signingAlgorithms: readonly string[];
  readonly sessions: Sessions;
  /**
   * Whether a sign-in is complete for the account, and meets a request that began elsewhere. Call it before a person approves such a request. Whether the
   * client accepts users of the tenant is not checked here.
   * @param asked the request that began elsewhere. @default none
   */
  isSufficient(
    account: Account,
    signIn: Pick<BrowserSignIn, 'amr' | 'idp' | 'authTime' | 'provenAt' | 'act' | 'method' | 'heldTo'> &
      Pick<SignedIn, 'owner' | 'session'>,
    asked?: AskedElsewhere,
  ): Promise<boolean>;
  /**
   * Whether a sign-in may change the ways to sign in of its account: factors, password, address, account links, identities. The requirement that serves
   * `mfa` decides: a user who has a second factor must have proven it. False for a sign-in by the child's own credential after the account was linked.
   * `createOwnPage` calls it for every page that takes a recent sign-in.
   */
  mayChange(signIn: BrowserSignIn): Promise<boolean>;
  /**
   * Returns the complete sign-in of the browser; undefined without one. A sign-in is complete when no requirement of the account is open: after the
   * password, the second factor too. If the result is undefined, `requireSignIn` leads the person to the open requirement. A form that a page of another
   * site posts carries no cookie, so the result is undefined.
   * @param client the application that the person signs in to, for requirements that look at it. @default the service itself
   * @throws UnavailableError `requirements_unavailable` where a requirement throws, or takes longer than five seconds
   */
  signedIn(ctx: Context, client?: string): Promise<BrowserSignIn | undefined>;
  /**
   * Returns the sign-in of the browser, complete or not. It names the session for `signOut`. Use it only to end the sign-in or to deny something, because
   * an incomplete sign-in must not show, give or change anything of the person.
   */
  signInToEnd(ctx: Context): Promise<SignInToEnd | undefined>;
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
  /** Tokens of forms, in the hidden field `csrf`. A route that reads its form with `form` evaluates each form once, even if the browser sends it twice. */
  readonly csrf: Csrf;
  /**
   * Counts attempts: how many there are with this one, and when the count starts again.
   * @param counter a name of the extension's own: another extension counts apart under the same
   * @param window milliseconds
   */
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
