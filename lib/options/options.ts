/**
 * Options of `createIdentityProvider`. Each option is declared once, with its comment, its check (type and range) and its default. The interfaces follow
 * from the tables.
 *
 * `checks` and `values` hold the checks, and `declare` derives types and defaults from a table. `contradictions` checks options against each other.
 * `insecure` lists the values that production refuses, and `features` the features of oidc-provider. `resolve` runs all checks, fills in the `defaults` and
 * freezes the result.
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
import type { AddressPart } from '../text/ip-address.js';
import { DAY_SECONDS, lifetimeBounds } from '../times/lifetime-bounds.js';
import { both, callback, flag, list, listOfNamed, mapOf, oneOf, only, record, text, wholeNumber, withMembers } from './checks.js';
import { group, type OptionalOptions, type RequiredOptions, required, withDefault } from './declare.js';
import * as values from './values.js';

const seconds = (minimum: number, maximum: number) => wholeNumber('whole seconds', minimum, maximum);
const count = (minimum: number, maximum: number) => wholeNumber('a whole number', minimum, maximum);
const secret = (minLength: number) => text(`a string of at least ${minLength} characters`, minLength);
const secrets = () => list(secret(32), 'an array of one or more secrets of at least 32 characters, newest first', { min: 1 });
/** The option `mail.send` as a developer would write it. */
const SEND = 'async (message) => …';

const rotation = {
  /** Seconds that a key signs. 3,600 to 31,536,000. @default 7_776_000 */
  active: withDefault(90 * DAY_SECONDS, seconds(3600, 365 * DAY_SECONDS)),
  /**
   * Seconds that a key is published before it signs, and that others may cache the key set. At most `active`.
   * 60 to 2,592,000. @default 86_400
   */
  announced: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /**
   * Seconds that a key stays published after it signed last, so that its signatures verify until they expire. At least the lifetime of an ID token, a JWT
   * access token and a session. A client's own lifetimes make it longer. 60 to 31,536,000. @default 2_592_000
   */
  retiring: withDefault(30 * DAY_SECONDS, seconds(60, 365 * DAY_SECONDS)),
};
/** Rotation of signing keys. Each value is in whole seconds. */
export interface RotationOptions extends RequiredOptions<typeof rotation>, OptionalOptions<typeof rotation> {}

const keys = {
  /**
   * Private keys as JWKs: RSA of at least 2048 bits (RS256) and P-256 (ES256). The first of each algorithm signs, all are published.
   * One must be RSA, because every client understands RS256. The service does not rotate them.
   * @default keys made at the first start, kept in the directory under `encryption`, and rotated
   * @see OpenID Connect Core §15.1
   */
  signing: list(
    both(record<JWK>('a private JWK, as exportJWK of jose returns it'), only(values.checkSigningKey)),
    'an array of one or more private JWKs, as exportJWK of jose returns them',
    { min: 1 },
  ),
  /** Rotation of the keys that the service makes. @default {} @see OpenID Connect Core §10.1.1 */
  rotation: withDefault({}, group<RotationOptions, typeof rotation>(rotation)),
  /**
   * Secrets of at least 32 characters, newest first, that encrypt values in the directory, such as signing keys. The first encrypts, all decrypt.
   * Required in production.
   * @default one made at start and gone when the process ends
   */
  encryption: secrets(),
};
export interface KeyOptions extends RequiredOptions<typeof keys>, OptionalOptions<typeof keys> {}

const cookies = {
  /**
   * Secrets of at least 32 characters, newest first, that sign cookies. The first signs, all are accepted. Required in production.
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
   * Path of the pages, and of all endpoints that no standard names, relative to the issuer.
   * @default '/idp'
   */
  own: withDefault('/idp', only<string>(values.checkOwnPath, true)),
  /**
   * Whether `/.well-known/change-password` leads to the page on which users change their password. The path exists only at an issuer without a path.
   * @default true
   * @see RFC 8615, W3C Well-Known URL for Changing Passwords
   */
  changePassword: withDefault(true, flag()),
};
export interface PathOptions extends RequiredOptions<typeof paths>, OptionalOptions<typeof paths> {}

const lifetimes = {
  /** Seconds that an authorization code is valid. 1 to 600. @default 60 @see RFC 6749 §4.1.2 */
  code: withDefault(60, seconds(1, 600)),
  /** Seconds that a sign-in may take, from the request to the last page. 1 to 86,400. @default 1_800 */
  interaction: withDefault(1_800, seconds(1, DAY_SECONDS)),
  /** Seconds that an access token by reference is valid. 1 to 86,400. @default 3_600 */
  accessToken: withDefault(3_600, seconds(...lifetimeBounds.accessToken)),
  /** Seconds that a JWT access token is valid. Resource servers may accept it until it expires. 1 to 86,400. @default 600 */
  jwtAccessToken: withDefault(600, seconds(...lifetimeBounds.accessToken)),
  /** Seconds that an ID token is valid. 1 to 86,400. @default 300 */
  idToken: withDefault(300, seconds(...lifetimeBounds.idToken)),
  /** Seconds that an unused refresh token is valid. At most `refreshTokenAbsolute`. 1 to 31,536,000. @default 1_296_000 */
  refreshTokenIdle: withDefault(15 * DAY_SECONDS, seconds(...lifetimeBounds.refreshTokenIdle)),
  /** Seconds that a refresh token and all its successors are valid. 1 to 31,536,000. @default 2_592_000 */
  refreshTokenAbsolute: withDefault(30 * DAY_SECONDS, seconds(...lifetimeBounds.refreshTokenAbsolute)),
  /** Seconds that a replaced refresh token gets its successor again, for clients that lost the answer. 0 to 60. @default 10 */
  refreshTokenGrace: withDefault(10, seconds(...lifetimeBounds.refreshTokenGrace)),
  /** Seconds until an unused session expires. At most `sessionAbsolute`. 1 to 2,592,000. @default 3_600 */
  sessionIdle: withDefault(3_600, seconds(1, 30 * DAY_SECONDS)),
  /** Seconds until a session expires, used or not. 1 to 2,592,000. @default 43_200 */
  sessionAbsolute: withDefault(43_200, seconds(1, 30 * DAY_SECONDS)),
  /** Seconds that an invitation link is valid. 60 to 2,592,000. @default 86_400 */
  invitation: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /** Seconds that a reset link is valid. 60 to 86,400. @default 3_600 */
  passwordReset: withDefault(3_600, seconds(60, DAY_SECONDS)),
  /** Seconds that a link is valid that proves an e-mail address or creates an account. 60 to 2,592,000. @default 86_400 */
  emailProof: withDefault(DAY_SECONDS, seconds(60, 30 * DAY_SECONDS)),
  /** Seconds that an impersonation may last. The impersonator may choose less. 60 to 3,600. @default 1_800 */
  impersonation: withDefault(1_800, seconds(60, 3600)),
  /** Seconds that an authentication request (CIBA) is valid. Clients and requests may have less. 10 to 600. @default 120 @see CIBA Core §7.3 */
  authenticationRequest: withDefault(120, seconds(...lifetimeBounds.authenticationRequest)),
  /** Seconds that an event is kept in the feed, which is also the audit log. 86,400 to 3,153,600,000. @default 31_536_000 */
  events: withDefault(365 * DAY_SECONDS, seconds(DAY_SECONDS, 36_500 * DAY_SECONDS)),
};
/** Lifetimes in whole seconds. A client may have its own for tokens. */
export interface LifetimeOptions extends RequiredOptions<typeof lifetimes>, OptionalOptions<typeof lifetimes> {}

const branding = {
  /** Logo: an https URL, or a path of the issuer's origin. @default none */
  logoUri: only<string>(values.checkImage, true),
  /** Icon of the browser's tab: an https URL, or a path of the issuer's origin. @default none */
  faviconUri: only<string>(values.checkImage, true),
  /** Accent colour as `#rrggbb`, with a contrast of 4.5:1 to white or more. @default '#4450b8' */
  accentColor: withDefault('#4450b8', only<string>(values.checkAccent, true)),
  /** Corner radius in pixels, 0 to 24. @default 10 */
  radius: withDefault(10, wholeNumber('whole pixels', 0, 24)),
  /** Font that devices have installed. @default 'system' */
  font: withDefault('system', oneOf('system', 'humanist', 'rounded', 'serif')),
  /** Privacy policy, linked at the foot of each page: an http or https URL, or a path of the issuer's origin. @default none */
  privacyUri: only<string>(values.checkLink, true),
  /** Terms of service, linked as the privacy policy is, and on the page that creates an account. @default none */
  termsUri: only<string>(values.checkLink, true),
  /** Help, linked as the privacy policy is. @default none */
  helpUri: only<string>(values.checkLink, true),
};
/** Look of pages and mails for which neither the client nor the tenant sets its own. */
export interface BrandingOptions extends RequiredOptions<typeof branding>, OptionalOptions<typeof branding> {}

const impersonation = {
  /**
   * Id of the permission to impersonate. A user who has it in a tenant may impersonate the other users of the tenant, except those who also have it. The
   * permission is privileged: only administrators of all tenants grant it.
   */
  permission: required("the id of a permission, such as 'impersonate'", only<string>(values.checkPermissionId, true)),
  /** Whether a mail notifies users who were impersonated. Requires the option `mail`. @default nobody is notified */
  notify: flag(),
};
/** Impersonation: a support agent signs in as another user, and the service records it. */
export interface ImpersonationOptions extends RequiredOptions<typeof impersonation>, OptionalOptions<typeof impersonation> {}

const ciba = {
  /**
   * Notifies the user's device of a request, by a push message or an SMS. One of the nodes calls it at least once for each request. A call that rejects, or
   * takes longer than 10 seconds, is retried after 2, 5, 15 and 30 seconds, while the request waits for an answer.
   * @param signal aborted after 10 seconds
   * @default nothing: users look at `/idp/ciba`
   */
  notify: callback<(notification: CibaNotification, signal: AbortSignal) => unknown>('async (notification, signal) => …'),
  /** Whether a mail notifies the user too. Requires the option `mail`. @default false */
  email: withDefault(false, flag()),
};
/** Notices of requests to sign in on the user's own device (CIBA). */
export interface CibaOptions extends RequiredOptions<typeof ciba>, OptionalOptions<typeof ciba> {}

const mail = {
  /**
   * Sends a mail. A call that rejects, or takes longer than 30 seconds, is retried after 5 seconds, 30 seconds, and so on for about eight hours.
   */
  send: required(`a function: ${SEND}`, callback<(message: MailMessage) => Promise<unknown>>(SEND)),
};
export interface MailOptions extends RequiredOptions<typeof mail>, OptionalOptions<typeof mail> {}

const limits = {
  /**
   * Failures with one user name from one address in `signInWindow`, whether or not the account exists. Further attempts get 429. A browser that signed in to
   * an account before has as many more for that account. 1 to 100. @default 10
   */
  signInFailures: withDefault(10, count(1, 100)),
  /** Seconds in which `signInFailures` are counted. 60 to 86,400. @default 900 */
  signInWindow: withDefault(900, seconds(60, DAY_SECONDS)),
  /**
   * Failures at one account in an hour, from all addresses together. After that, every password is answered as a wrong one, except in browsers that signed in
   * to the account before. 1 to 100. @default 100 @see NIST SP 800-63B §3.2.2
   */
  signInFailuresPerAccount: withDefault(100, count(1, 100)),
  /** Failures from one address in an hour, with all user names together. Further attempts get 429. 1 to 100,000. @default 100 */
  signInFailuresPerAddress: withDefault(100, count(1, 100_000)),
  /** Requests of one client to the admin API in a minute, at all nodes together. Further requests get 429. 1 to 1,000,000. @default 600 */
  adminRequestsPerMinute: withDefault(600, count(1, 1_000_000)),
  /** Authentication requests (CIBA) of one client in a minute, at all nodes together. Further requests get 429. 1 to 1,000,000. @default 60 */
  authenticationRequestsPerMinute: withDefault(60, count(1, 1_000_000)),
  /** Requests that one process works on concurrently, after their bodies have arrived. Further requests get 503. 10 to 100,000. @default 1_000 */
  requestsAtOnce: withDefault(1000, count(10, 100_000)),
  /** Concurrent requests of one HTTP/1 connection, which may send a request before the last one was answered. 1 to 1,000. @default 10 */
  requestsAtOncePerConnection: withDefault(10, count(1, 1000)),
};
/**
 * Rate limits of sign-in, registration and requests. An address is an IPv4 address or the /64 of an IPv6 address.
 */
export interface LimitOptions extends RequiredOptions<typeof limits>, OptionalOptions<typeof limits> {}

const outgoing = {
  /**
   * Hosts, as `host` or `host:port`, that the service calls at any address and also over http. All others are called over https, at public addresses only.
   * @default []
   */
  allowHosts: withDefault([], list(only<string>(values.checkHost, true), "an array of hosts, such as ['hooks.example:8443']")),
};
/** Requests that the service makes to addresses that clients registered: logout URIs, request URIs, key sets. */
export interface OutgoingOptions extends RequiredOptions<typeof outgoing>, OptionalOptions<typeof outgoing> {}

const attributes = {
  /**
   * JSON Schema (2020-12) of `attributes` of persons, which every write of attributes has to match. The root has `type: 'object'`. Requires the package
   * `ajv` 8. Attributes that were stored before stay readable.
   */
  schema: required(
    "a JSON Schema of an object, such as { type: 'object', properties: {} }",
    record<object>("a JSON Schema of an object, such as { type: 'object', properties: {} }"),
  ),
  /**
   * Names of attributes that users may change themselves, at the account page: properties of the schema with one of the types `string`, `number`,
   * `integer` and `boolean`, or with `enum`. `selfService` of a tenant may forbid it.
   * @default []
   */
  selfService: withDefault(
    [],
    list(text("the name of an attribute, such as 'nickname'", 1), "an array of different names of attributes, such as ['nickname']", {
      isUnique: true,
    }),
  ),
};
/** Schema of the attributes of persons. */
export interface AttributeOptions extends RequiredOptions<typeof attributes>, OptionalOptions<typeof attributes> {}

const sessions = {
  /**
   * Part of the user's IP address that is stored with a sign-in, and shown to the user and to administrators. `truncated` is the /24 of an IPv4 address and
   * the /48 of an IPv6 address.
   * @default 'truncated'
   */
  address: withDefault('truncated', oneOf<AddressPart>('full', 'truncated', 'none')),
};
/** Data that is stored with sessions. */
export interface SessionOptions extends RequiredOptions<typeof sessions>, OptionalOptions<typeof sessions> {}

const signInHistory = {
  /** Days for which a sign-in is stored. With 0, no sign-in is stored. 0 to 400. @default 90 */
  days: withDefault(90, count(0, 400)),
  /** Sign-ins that are stored for each user. With 0, no sign-in is stored. 0 to 100. @default 30 */
  entries: withDefault(30, count(0, 100)),
  /**
   * Whether a mail notifies users of a sign-in from a browser that the account does not know. Without the option `mail`, and without a history, there is no
   * such mail.
   * @default true
   */
  notify: withDefault(true, flag()),
};
/** History of sign-ins, for users and administrators. */
export interface SignInHistoryOptions extends RequiredOptions<typeof signInHistory>, OptionalOptions<typeof signInHistory> {}

const passwords = {
  /**
   * Algorithm that hashes passwords. A password with another hash is hashed again at the next sign-in. `argon2id` requires Node.js 24.7 or later on every node
   * of the service, because it uses `crypto.argon2`.
   * @default 'scrypt'
   */
  algorithm: withDefault('scrypt', both(oneOf('scrypt', 'argon2id'), only(values.checkPasswordAlgorithm, true))),
  /**
   * N of scrypt, a power of two: a hash takes N KiB of memory, and time that grows with N. Production refuses less than the default. A
   * password with a hash of another cost is hashed again at the next sign-in. 16 to 131,072. @default 16_384
   * @see OWASP Password Storage Cheat Sheet
   */
  scryptCost: withDefault(2 ** 14, both(count(2 ** 4, 2 ** 17), only(values.checkPowerOfTwo, true))),
  /**
   * Passwords that are too easy to guess: a list, or a function that returns true for one. The function is called whenever a password is set, after the rules of the
   * service. If the function throws or takes longer than 5 seconds, no password is set and the answer is 503 `busy`.
   * @default none
   * @see NIST SP 800-63B-4 §3.1.1.2
   */
  weak: only<RefusedPasswords>(values.checkRefusedPasswords),
  /** Passwords that are known from leaks: like `weak`, with its own text on the pages. @default none */
  leaked: only<RefusedPasswords>(values.checkRefusedPasswords),
};
export interface PasswordOptions extends RequiredOptions<typeof passwords>, OptionalOptions<typeof passwords> {}

/** Features of oidc-provider that can be set. All others are always on, or refused. */
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

/** All options of `createIdentityProvider`. */
export const optionTable = {
  /**
   * Base URL of the service, and the value of `iss`: absolute, http or https (production: https), without trailing slash, query or
   * fragment. All URLs, redirects and the cookies' `Secure` follow it, never a request. The path of the URL is where the service is mounted.
   * @see OpenID Connect Discovery §3
   */
  issuer: required(values.ISSUER, only<string>(values.checkIssuer, true)),
  /**
   * Store of short-lived protocol records: sessions, grants, codes, tokens, counters. Production requires one that outlives the process.
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
   * Store of durable records: tenants, persons, clients, keys, events. Production requires one that outlives the process.
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
   * Secret of at least 16 characters that pairwise subject identifiers are derived from. A new secret changes all of these identifiers. No other key does.
   * @default in production none: no client is pairwise; elsewhere made at start
   * @see OpenID Connect Core §8.1
   */
  subjectSalt: secret(16),
  /**
   * Source of the client's address, for rate limits. The address never influences URLs.
   * - `false`: the connection.
   * - `true`: one proxy is in front, and the address is the right-most entry of `X-Forwarded-For`.
   * - A number: so many proxies are in front, and each adds an entry.
   * - A function: it returns the address.
   *
   * Required in production, even if it is `false`, because all users behind an unknown proxy would share its limits.
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
   * Users who get the claim `oid`: `linked` means users with a parent account or child accounts, whose `sub` is shared; `always` means all.
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
  /** Logger of the service. `console` and pino fit. The logger gets no secrets. @default warnings and errors to the console */
  logger: withDefault(warningsToConsole, withMembers<Logger>('a logger', 'debug()', 'info()', 'warn()', 'error()')),
  /** Lifetimes of codes, tokens, sessions and links. @default {} */
  lifetimes: withDefault({}, group<LifetimeOptions, typeof lifetimes>(lifetimes)),
  /** Rate limits of sign-in, registration and requests. @default {} */
  limits: withDefault({}, group<LimitOptions, typeof limits>(limits)),
  /**
   * Sends mail: invitations, links that reset a password or prove an address, notices of what changed. One address gets at most five in an hour; further mails wait.
   * @default nothing: an invitation can only be fetched as a link, and nobody resets a password
   */
  mail: group<MailOptions, typeof mail>(mail),
  /**
   * Id of the tenant of personal accounts, which invitations with `link` link to. Such an invitation lets its user create an account there, even if
   * `signIn.selfRegistration` of the tenant is off.
   * @default none: there are no such invitations
   */
  personalTenant: only<string>(values.checkTenantId, true),
  /**
   * Impersonation, which a client requests by `impersonate` in `acr_values`.
   * @default none: such requests are refused
   * @see service specification 4.2
   */
  impersonation: group<ImpersonationOptions, typeof impersonation>(impersonation),
  /** Notices of requests to sign in on the user's own device (CIBA). @default {} */
  ciba: withDefault({}, group<CibaOptions, typeof ciba>(ciba)),
  /** Requests of the service to addresses that clients registered. @default {} */
  outgoing: withDefault({}, group<OutgoingOptions, typeof outgoing>(outgoing)),
  /**
   * Schema of the attributes of persons.
   * @default none: attributes are any object
   * @see JSON Schema 2020-12
   */
  attributes: group<AttributeOptions, typeof attributes>(attributes),
  /** Data that is stored with the sessions of users. @default {} */
  sessions: withDefault({}, group<SessionOptions, typeof sessions>(sessions)),
  /** Recent sign-ins of each user, and mails about browsers that the account does not know. @default {} */
  signInHistory: withDefault({}, group<SignInHistoryOptions, typeof signInHistory>(signInHistory)),
  /** Hashes of passwords, and passwords that are refused. @default {} */
  passwords: withDefault({}, group<PasswordOptions, typeof passwords>(passwords)),
  /** Logo, colours, font and links of the pages and mails, where a tenant's `branding` or a client's `styles` has none. @default {} */
  branding: withDefault({}, group<BrandingOptions, typeof branding>(branding)),
  /** Languages of the pages. The first is used for a user who accepts none of them. @default ['en', 'nb', 'sv', 'da', 'fi', 'de'] */
  locales: withDefault(
    locales,
    list(oneOf<Locale>(...locales), `an array of different languages, at least one of ${locales.join(', ')}`, { min: 1, isUnique: true }),
  ),
  /** Features of oidc-provider, in its own form: mTLS, the claims parameter, resource indicators, FAPI … @default {} */
  features: withDefault({}, record<Features>('an object of features, such as { dPoP: { enabled: true } }')),
  /**
   * Changes the configuration of oidc-provider, or returns another. Called before each oidc-provider instance is made: at start, and each time keys rotate. A
   * feature that is refused as an option is refused here too.
   * @default unchanged
   */
  configure: callback<(configuration: Configuration) => Configuration | undefined>('(configuration) => configuration'),
  /**
   * Adds listeners, middleware and grant types to an oidc-provider instance. Called for each instance, after it was made and before it serves: at start, and
   * each time keys rotate. Later additions are refused. With this option, oidc-provider's own handlers answer.
   * @default nothing
   */
  onProvider: callback<(provider: Provider) => void>('(provider) => …'),
};
export interface IdentityProviderOptions extends RequiredOptions<typeof optionTable>, OptionalOptions<typeof optionTable> {}

/** Finds every value of the options that has a wrong form, and at most one problem for each. */
export const checkOptions = group<IdentityProviderOptions, typeof optionTable>(optionTable);
