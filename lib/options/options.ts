/**
 * The options of `createIdentityProvider`. Each is declared once, with its comment, its check (type and range) and its default; the interfaces follow.
 *
 * `checks` and `values` have the checks, `declare` what is made of a table. `contradictions` checks what must hold between options, `insecure` lists what
 * production refuses, `features` which features of oidc-provider are taken. `resolve` checks all at once, fills in the `defaults` and freezes the result.
 */
import type { IncomingMessage } from 'node:http';
import type { JWK } from 'jose';
import type { Client, Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ClaimSet } from '../claims/contract.js';
import type { CibaNotification } from '../contract/clients/authentication-requests.js';
import type { Extension } from '../contract/extension.js';
import type { MailMessage } from '../contract/pages/letter.js';
import type { RefusedPasswords, Seed } from '../directory/index.js';
import { type Locale, locales } from '../display/locales.js';
import { type Logger, warningsToConsole } from '../logger.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { DirectoryStore } from '../store/directory-store.js';
import { DAY_SECONDS, lifetimeBounds } from '../times/lifetime-bounds.js';
import { both, callback, flag, list, listOfNamed, mapOf, oneOf, only, record, text, wholeNumber, withMembers } from './checks.js';
import { group, type OptionalOptions, type RequiredOptions, required, withDefault } from './declare.js';
import * as values from './values.js';

const seconds = (minimum: number, maximum: number) => wholeNumber('whole seconds', minimum, maximum);
const count = (minimum: number, maximum: number) => wholeNumber('a whole number', minimum, maximum);
const secret = (minLength: number) => text(`a string of at least ${minLength} characters`, minLength);
const secrets = () => list(secret(32), 'an array of one or more secrets of at least 32 characters, newest first', { min: 1 });
/** The option `mail.send` as one would write it. */
const SEND = 'async (message) => …';

const rotation = {
  /** How long a key signs. 3,600 to 31,536,000. @default 7_776_000 */
  active: withDefault(90 * DAY_SECONDS, seconds(3600, 365 * DAY_SECONDS)),
  /**
   * How long a key is published before it signs, which is how long others may keep the key set; never more than `active`.
   * 60 to 2,592,000. @default 86_400
   */
  announced: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /**
   * How long a key stays published after it signed last, so that what it signed verifies as long as it is good; no less than an ID token, a
   * JWT access token and a session last. A client's own lifetimes make it longer. 60 to 31,536,000. @default 2_592_000
   */
  retiring: withDefault(30 * DAY_SECONDS, seconds(60, 365 * DAY_SECONDS)),
};
/** How signing keys follow one another: whole seconds, each. */
export interface RotationOptions extends RequiredOptions<typeof rotation>, OptionalOptions<typeof rotation> {}

const keys = {
  /**
   * Private keys as JWKs: RSA of at least 2048 bits (RS256) and P-256 (ES256). The first of each algorithm signs, all are published.
   * One must be RSA, which every client understands. Nothing rotates them.
   * @default keys made at the first start, kept in the directory under `encryption`, and rotated
   * @see OpenID Connect Core §15.1
   */
  signing: list(
    both(record<JWK>('a private JWK, as exportJWK of jose returns it'), only(values.checkSigningKey)),
    'an array of one or more private JWKs, as exportJWK of jose returns them',
    { min: 1 },
  ),
  /** When keys that were made here are replaced. @default {} @see OpenID Connect Core §10.1.1 */
  rotation: withDefault({}, group<RotationOptions, typeof rotation>(rotation)),
  /**
   * Secrets of at least 32 characters, newest first, that encrypt what is kept encrypted in the directory, signing keys among it. The first
   * encrypts, all decrypt. Needed in production.
   * @default one made at start and gone when the process ends
   */
  encryption: secrets(),
};
export interface KeyOptions extends RequiredOptions<typeof keys>, OptionalOptions<typeof keys> {}

const cookies = {
  /**
   * Secrets of at least 32 characters, newest first, that sign cookies. The first signs, all are accepted. Needed in production.
   * @default one made at start and gone when the process ends
   */
  keys: secrets(),
  /**
   * Text before the name of every cookie of the service, after `__Host-` or `__Secure-`: `staging-` makes `__Host-staging-idp.session`. 1 to 32 letters,
   * digits, `.`, `_` and `-`, of which the first is a letter or digit. Two services on one host name need different prefixes, because browsers send cookies to
   * every port of a host. A changed prefix signs all browsers out.
   * @default ''
   */
  prefix: withDefault('', only<string>(values.checkCookiePrefix, true)),
};
export interface CookieOptions extends RequiredOptions<typeof cookies>, OptionalOptions<typeof cookies> {}

const paths = {
  /**
   * Where the pages and all endpoints that no standard names are, relative to the issuer.
   * @default '/idp'
   */
  own: withDefault('/idp', only<string>(values.checkOwnPath, true)),
};
export interface PathOptions extends RequiredOptions<typeof paths>, OptionalOptions<typeof paths> {}

const lifetimes = {
  /** An authorization code. 1 to 600. @default 60 @see RFC 6749 §4.1.2 */
  code: withDefault(60, seconds(1, 600)),
  /** One sign-in, from the request to the last page. 1 to 86,400. @default 1_800 */
  interaction: withDefault(1_800, seconds(1, DAY_SECONDS)),
  /** An access token by reference. 1 to 86,400. @default 3_600 */
  accessToken: withDefault(3_600, seconds(...lifetimeBounds.accessToken)),
  /** An access token that is a JWT, which resource servers may accept until it ends. 1 to 86,400. @default 600 */
  jwtAccessToken: withDefault(600, seconds(...lifetimeBounds.accessToken)),
  /** An ID token. 1 to 86,400. @default 300 */
  idToken: withDefault(300, seconds(...lifetimeBounds.idToken)),
  /** A refresh token that is not used; never more than `refreshTokenAbsolute`. 1 to 31,536,000. @default 1_296_000 */
  refreshTokenIdle: withDefault(15 * DAY_SECONDS, seconds(...lifetimeBounds.refreshTokenIdle)),
  /** A refresh token and all its successors. 1 to 31,536,000. @default 2_592_000 */
  refreshTokenAbsolute: withDefault(30 * DAY_SECONDS, seconds(...lifetimeBounds.refreshTokenAbsolute)),
  /** How long a refresh token that was just replaced is answered again, for clients that lost the reply. 0 to 60. @default 10 */
  refreshTokenGrace: withDefault(10, seconds(...lifetimeBounds.refreshTokenGrace)),
  /** A session that is not used; never more than `sessionAbsolute`. 1 to 2,592,000. @default 3_600 */
  sessionIdle: withDefault(3_600, seconds(1, 30 * DAY_SECONDS)),
  /** A session, used or not. 1 to 2,592,000. @default 43_200 */
  sessionAbsolute: withDefault(43_200, seconds(1, 30 * DAY_SECONDS)),
  /** The link of an invitation. 60 to 2,592,000. @default 86_400 */
  invitation: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /** The link that resets a password. 60 to 86,400. @default 3_600 */
  passwordReset: withDefault(3_600, seconds(60, DAY_SECONDS)),
  /** The link that proves an e-mail address, or creates an account. 60 to 2,592,000. @default 86_400 */
  emailProof: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /** A sign-in as somebody else, at most; the operator may choose less. 60 to 3,600. @default 1_800 */
  impersonation: withDefault(1_800, seconds(60, 3600)),
  /** An authentication request of CIBA; clients and requests may have less. 10 to 600. @default 120 @see CIBA Core §7.3 */
  authenticationRequest: withDefault(120, seconds(...lifetimeBounds.authenticationRequest)),
  /** An event in the feed, which is the audit as well. 86,400 to 3,153,600,000. @default 31_536_000 */
  events: withDefault(365 * DAY_SECONDS, seconds(DAY_SECONDS, 36_500 * DAY_SECONDS)),
};
/** How long things live: whole seconds, each. Clients may have their own for tokens. */
export interface LifetimeOptions extends RequiredOptions<typeof lifetimes>, OptionalOptions<typeof lifetimes> {}

const branding = {
  /** An https URL, or a path of the issuer's origin. @default none */
  logoUri: only<string>(values.checkImage, true),
  /** The icon of the browser's tab, likewise. @default none */
  faviconUri: only<string>(values.checkImage, true),
  /** `#rrggbb`, with a contrast of 4.5:1 to white or more. @default '#4450b8' */
  accentColor: withDefault('#4450b8', only<string>(values.checkAccent, true)),
  /** Corner radius in pixels, 0 to 24. @default 10 */
  radius: withDefault(10, wholeNumber('whole pixels', 0, 24)),
  /** Of those that devices have. @default 'system' */
  font: withDefault('system', oneOf('system', 'humanist', 'rounded', 'serif')),
};
/** The look of what neither a client nor a tenant gives a look of its own. */
export interface BrandingOptions extends RequiredOptions<typeof branding>, OptionalOptions<typeof branding> {}

const impersonation = {
  /**
   * The id of the permission: who holds it in a tenant may act as its other users, but for those who hold it as well. It counts as privileged: only who
   * administers all tenants gives it.
   */
  permission: required("the id of a permission, such as 'impersonate'", only<string>(values.checkPermissionId, true)),
  /** Whether users are told by mail that somebody acted as them; needs the option `mail`. @default nobody is told */
  notify: flag(),
};
/** Signing in as somebody else, on the record. */
export interface ImpersonationOptions extends RequiredOptions<typeof impersonation>, OptionalOptions<typeof impersonation> {}

const ciba = {
  /**
   * Tells the person's device of a request: a push message, an SMS. Called at least once for each request, from whichever node is there. What it rejects, or
   * has not done within 10 seconds, is tried again after 2, 5, 15 and 30 seconds, as long as the request waits for an answer.
   * @param signal aborted when the 10 seconds are over
   * @default nothing: people look at `/idp/ciba`
   */
  notify: callback<(notification: CibaNotification, signal: AbortSignal) => unknown>('async (notification, signal) => …'),
  /** Whether people are told by mail as well; needs the option `mail`. @default false */
  email: withDefault(false, flag()),
};
/** How people hear of requests to sign in on a device of their own. */
export interface CibaOptions extends RequiredOptions<typeof ciba>, OptionalOptions<typeof ciba> {}

const mail = {
  /**
   * Hands a mail over. What it rejects, or has not taken within 30 seconds, is handed over again after 5 seconds, 30 seconds, and so on for about eight
   * hours.
   */
  send: required(`a function: ${SEND}`, callback<(message: MailMessage) => Promise<unknown>>(SEND)),
};
export interface MailOptions extends RequiredOptions<typeof mail>, OptionalOptions<typeof mail> {}

const limits = {
  /**
   * Failures with one user name, of an account or not, from one address in `signInWindow`: what goes beyond is answered 429. A browser that
   * signed in to an account before has as many more for that account. 1 to 100. @default 10
   */
  signInFailures: withDefault(10, count(1, 100)),
  /** Seconds that `signInFailures` are counted. 60 to 86,400. @default 900 */
  signInWindow: withDefault(900, seconds(60, DAY_SECONDS)),
  /**
   * Failures at one account in an hour, from wherever: beyond, every password is answered as a wrong one, but for browsers that signed in to the
   * account before. 1 to 100. @default 100 @see NIST SP 800-63B §3.2.2
   */
  signInFailuresPerAccount: withDefault(100, count(1, 100)),
  /** Failures from one address in an hour, with whichever user name: what goes beyond is answered 429. 1 to 100,000. @default 100 */
  signInFailuresPerAddress: withDefault(100, count(1, 100_000)),
  /** Requests of one client to the admin API in a minute, at all nodes together: what goes beyond is answered 429. 1 to 1,000,000. @default 600 */
  adminRequestsPerMinute: withDefault(600, count(1, 1_000_000)),
  /** Authentication requests (CIBA) of one client in a minute, at all nodes together: what goes beyond is answered 429. 1 to 1,000,000. @default 60 */
  authenticationRequestsPerMinute: withDefault(60, count(1, 1_000_000)),
  /** Requests that one process works on at once; more are answered 503. 10 to 100,000. @default 1_000 */
  requestsAtOnce: withDefault(1000, count(10, 100_000)),
  /** The same of one HTTP/1 connection, which may send one before another was answered. 1 to 1,000. @default 10 */
  requestsAtOncePerConnection: withDefault(10, count(1, 1000)),
};
/**
 * How often a sign-in or a registration may fail before it has to wait. An address is an IPv4 address or the /64 of an IPv6 address.
 */
export interface LimitOptions extends RequiredOptions<typeof limits>, OptionalOptions<typeof limits> {}

const outgoing = {
  /**
   * Hosts, as `host` or `host:port`, that are called at whatever address and over http as well. All others are called over https, at public
   * addresses alone.
   * @default []
   */
  allowHosts: withDefault([], list(only<string>(values.checkHost, true), "an array of hosts, such as ['hooks.example:8443']")),
};
/** Requests that the service makes to addresses that clients registered: logout URIs, request URIs, key sets. */
export interface OutgoingOptions extends RequiredOptions<typeof outgoing>, OptionalOptions<typeof outgoing> {}

const passwords = {
  /**
   * How new passwords are hashed; others are hashed anew at the next sign-in. `argon2id` needs a Node that has `crypto.argon2`
   * (24.7 or later) on every node of the service.
   * @default 'scrypt'
   */
  algorithm: withDefault('scrypt', both(oneOf('scrypt', 'argon2id'), only(values.checkPasswordAlgorithm, true))),
  /**
   * N of scrypt, a power of two: a hash takes N KiB of memory, and time that grows with N. Production refuses less than the default. Hashes of
   * another cost are made anew at the next sign-in. 16 to 131,072. @default 16_384
   * @see OWASP Password Storage Cheat Sheet
   */
  scryptCost: withDefault(2 ** 14, both(count(2 ** 4, 2 ** 17), only(values.checkPowerOfTwo, true))),
  /**
   * Passwords that are too easy to guess: a list, or a function that answers true for one, by whatever library it likes. It is asked wherever a password
   * is set, after the rules of the service; where it throws, or takes longer than 5 seconds, no password is set and the answer is 503 `busy`.
   * @default none
   * @see NIST SP 800-63B-4 §3.1.1.2
   */
  weak: only<RefusedPasswords>(values.checkRefusedPasswords),
  /** Passwords that are known from leaks: as `weak`, with words of its own on the pages. @default none */
  leaked: only<RefusedPasswords>(values.checkRefusedPasswords),
};
export interface PasswordOptions extends RequiredOptions<typeof passwords>, OptionalOptions<typeof passwords> {}

/** Features of oidc-provider that can be set; all others are on for good, or refused. */
export interface Features
  extends Pick<
    NonNullable<Configuration['features']>,
    | 'claimsParameter'
    | 'dPoP'
    | 'encryption'
    | 'jwtUserinfo'
    | 'mTLS'
    | 'pushedAuthorizationRequests'
    | 'requestObjects'
    | 'resourceIndicators'
  > {
  /** FAPI 1.0. The option `fapi` and the member `fapi` of clients set FAPI 2.0. */
  readonly fapi?: {
    readonly enabled?: boolean;
    readonly profile?: '1.0 Final' | ((ctx: KoaContextWithOIDC, client: Client | undefined) => '1.0 Final' | undefined);
  };
}

/** The options of `createIdentityProvider`. */
export const optionTable = {
  /**
   * Base URL of the service, and the value of `iss`: absolute, http or https (production: https), without trailing slash, query or
   * fragment. All URLs, redirects and the cookies' `Secure` follow it, never a request. Its path is where the service is mounted.
   * @see OpenID Connect Discovery §3
   */
  issuer: required(values.ISSUER, only<string>(values.checkIssuer, true)),
  /**
   * Where short-lived protocol records are kept: sessions, grants, codes, tokens, counters. Production needs one that lasts.
   * @default in memory, gone when the process ends
   */
  artifacts: withMembers<ArtifactStore>(
    'an ArtifactStore',
    'name',
    'ephemeral',
    'read()',
    'commit()',
    'listByAccount()',
    'hit()',
    'lease()',
    'health()',
    'close()',
  ),
  /**
   * Where durable records are kept: tenants, persons, clients, keys, events. Production needs one that lasts.
   * @default in memory, gone when the process ends
   */
  directory: withMembers<DirectoryStore>('a DirectoryStore', 'name', 'ephemeral', 'open()', 'collection()', 'health()', 'close()'),
  /**
   * Tenants, persons, groups, permissions, clients and API resources to create or update at start. Allowed everywhere, but
   * `devPassword` is refused in production.
   * @default nothing
   */
  seed: record<Seed>("an object, such as { tenants: [{ name: 'Acme' }] }"),
  /** Keys that sign tokens and encrypt records. @default {} */
  keys: withDefault({}, group<KeyOptions, typeof keys>(keys)),
  /** Cookies of the service. @default {} */
  cookies: withDefault({}, group<CookieOptions, typeof cookies>(cookies)),
  /**
   * Secret of at least 16 characters that pairwise subject identifiers are derived from. Changing it changes every one of them; no
   * other key does.
   * @default in production none: no client is pairwise; elsewhere made at start
   * @see OpenID Connect Core §8.1
   */
  subjectSalt: secret(16),
  /**
   * Where the client's address comes from, for throttling; it never influences URLs. `false`: the connection. `true`: one
   * proxy is in front, and the address is the right-most entry of `X-Forwarded-For`. A number: so many proxies are in front, each
   * adding an entry. A function: it answers the address. Needed in production, `false` included: a proxy that nobody mentions makes all
   * people share its limits.
   * @default false
   */
  trustProxy: withDefault(false, only<boolean | number | ((request: IncomingMessage) => string)>(values.checkTrustProxy)),
  /**
   * Audience of client assertions (`private_key_jwt`): the `issuer`. With `token-endpoint`, the URL of the token endpoint is accepted too, and at PAR and
   * the backchannel authentication endpoint the URL of that endpoint; a client of FAPI 1.0 may send an array that contains one of them. Clients of FAPI
   * 2.0 send the issuer in both cases.
   * @default 'issuer'
   * @see draft-ietf-oauth-rfc7523bis §4, RFC 9126 §2, CIBA Core §7.1
   */
  assertionAudience: withDefault('issuer', oneOf('issuer', 'token-endpoint')),
  /** Paths of the service. @default {} */
  paths: withDefault({}, group<PathOptions, typeof paths>(paths)),
  /** Claim plugins, after the standard claims. @default [] */
  claims: withDefault([], listOfNamed<ClaimSet>("an array of claim sets, such as [{ name: 'hr', claims: {} }]")),
  /**
   * Moves claims to other scopes, by claim name; `false` leaves the claim out everywhere.
   * @default {}
   */
  claimMapping: withDefault(
    {},
    mapOf(only<string | false>(values.checkClaimScope), "an object of scopes by claim name, such as { department: 'hr' }"),
  ),
  /**
   * When `oid` is issued: `linked`, to users that have a parent or children, whose `sub` names the family; or `always`.
   * @default 'linked'
   */
  oid: withDefault('linked', oneOf('linked', 'always')),
  /**
   * Claim `email` of a person with a second address, for clients whose record does not say: `all` is a list of both addresses, as the service specification
   * says, and `first` is one string, as most libraries need it.
   * @default 'all'
   */
  email: withDefault('all', oneOf('all', 'first')),
  /**
   * The FAPI profile of all clients: `'2.0'` sets and requires the whole FAPI 2.0 Security Profile. The member `fapi` of a client sets it for that client.
   * @default none
   * @see FAPI 2.0 Security Profile
   */
  fapi: oneOf('2.0'),
  /**
   * Whether `picture` of a person without one is their initials, as the service specification says. OpenID Connect Core §5.1 has a URL there: set `false` for
   * applications that show `picture` as an image, and for the certification of OpenID Connect.
   * @default true
   */
  initialsAsPicture: withDefault(true, flag()),
  /** Extensions, after the standard ones. @default [] */
  extensions: withDefault([], listOfNamed<Extension>("an array of extensions, such as [{ name: 'shop' }]")),
  /** Where the service logs; `console` and pino fit. It gets no secrets. @default warnings and errors to the console */
  logger: withDefault(warningsToConsole, withMembers<Logger>('a logger', 'debug()', 'info()', 'warn()', 'error()')),
  /** How long codes, tokens and sessions live. @default {} */
  lifetimes: withDefault({}, group<LifetimeOptions, typeof lifetimes>(lifetimes)),
  /** How often sign-in may fail. @default {} */
  limits: withDefault({}, group<LimitOptions, typeof limits>(limits)),
  /**
   * Sends mail: invitations, links that reset a password or prove an address, notices of what changed. One address gets at most five in an hour; more wait.
   * @default nothing: an invitation can only be fetched as a link, and nobody resets a password
   */
  mail: group<MailOptions, typeof mail>(mail),
  /**
   * The id of the tenant of personal accounts, which invitations with `link` link to. Such an invitation lets its user create an account there, whatever the
   * tenant's `signIn.selfRegistration` says.
   * @default none: there are no such invitations
   */
  personalTenant: only<string>(values.checkTenantId, true),
  /**
   * Lets people act as others: `impersonate` in `acr_values`.
   * @default none: such requests are refused
   * @see service specification 4.2
   */
  impersonation: group<ImpersonationOptions, typeof impersonation>(impersonation),
  /** How people hear of requests to sign in on a device of their own. @default {} */
  ciba: withDefault({}, group<CibaOptions, typeof ciba>(ciba)),
  /** What the service may call. @default {} */
  outgoing: withDefault({}, group<OutgoingOptions, typeof outgoing>(outgoing)),
  /** How passwords are kept. @default {} */
  passwords: withDefault({}, group<PasswordOptions, typeof passwords>(passwords)),
  /** Logo, accent colour and corner radius of the pages and mails, where a tenant's `branding` or a client's `styles` has none. @default {} */
  branding: withDefault({}, group<BrandingOptions, typeof branding>(branding)),
  /** Languages of the pages; the first is used when a person wants none of them. @default ['en', 'nb', 'sv', 'da', 'fi', 'de'] */
  locales: withDefault(
    locales,
    list(oneOf<Locale>(...locales), `an array of different languages, at least one of ${locales.join(', ')}`, { min: 1, isUnique: true }),
  ),
  /** Features of oidc-provider, in its own form: mTLS, the claims parameter, resource indicators, FAPI … @default {} */
  features: withDefault({}, record<Features>('an object of features, such as { dPoP: { enabled: true } }')),
  /**
   * The last word over the configuration of oidc-provider: change it, or return another. Called for each oidc-provider instance, before it is
   * made: at start, and each time keys rotate. A feature that is refused as an option is refused here too.
   * @default unchanged
   */
  configure: callback<(configuration: Configuration) => Configuration | undefined>('(configuration) => configuration'),
  /**
   * Called for each oidc-provider instance, after it was made and before it serves: at start, and each time keys rotate, when a new instance takes
   * over. The place for listeners, middleware and grant types; afterwards they are refused. With it, oidc-provider's own handlers answer.
   * @default nothing
   */
  onProvider: callback<(provider: Provider) => void>('(provider) => …'),
};
export interface IdentityProviderOptions extends RequiredOptions<typeof optionTable>, OptionalOptions<typeof optionTable> {}

/** Finds every place where the options do not have the shape; at most one problem for each. */
export const checkOptions = group<IdentityProviderOptions, typeof optionTable>(optionTable);
