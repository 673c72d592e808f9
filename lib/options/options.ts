/**
 * The options of `createIdentityProvider`: each is documented, with its default, where it is declared.
 *
 * `schema` says their shape, `values` and `contradictions` check what a schema cannot say, `insecure` lists what production refuses, `features` which
 * features of oidc-provider are taken. `resolve` checks all at once, fills in the `defaults` and freezes the result.
 */
import type { IncomingMessage } from 'node:http';
import type { JWK } from 'jose';
import type { Client, Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ClaimSet } from '../claims/contract.js';
import type { CibaNotification } from '../contract/clients/authentication-requests.js';
import type { Extension } from '../contract/extension.js';
import type { MailMessage } from '../contract/pages/letter.js';
import type { RefusedPasswords, Seed } from '../directory/index.js';
import type { Locale } from '../display/locales.js';
import type { Logger } from '../logger.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { DirectoryStore } from '../store/directory-store.js';

/** How signing keys follow one another: whole seconds, each. */
export interface RotationOptions {
  /** How long a key signs. 3,600 to 31,536,000. @default 7_776_000 */
  readonly active?: number;
  /**
   * How long a key is published before it signs, which is how long others may keep the key set; never more than `active`.
   * 60 to 2,592,000. @default 86_400
   */
  readonly announced?: number;
  /**
   * How long a key stays published after it signed last, so that what it signed verifies as long as it is good; no less than an ID token, a
   * JWT access token and a session last. A client's own lifetimes make it longer. 60 to 31,536,000. @default 2_592_000
   */
  readonly retiring?: number;
}

export interface KeyOptions {
  /**
   * Private keys as JWKs: RSA of at least 2048 bits (RS256) and P-256 (ES256). The first of each algorithm signs, all are published.
   * One must be RSA, which every client understands. Nothing rotates them.
   * @default keys made at the first start, kept in the directory under `encryption`, and rotated
   * @see OpenID Connect Core §15.1
   */
  readonly signing?: readonly JWK[];
  /** When keys that were made here are replaced. @default {} @see OpenID Connect Core §10.1.1 */
  readonly rotation?: RotationOptions;
  /**
   * Secrets of at least 32 characters, newest first, that encrypt what is kept encrypted in the directory, signing keys among it. The first
   * encrypts, all decrypt. Needed in production.
   * @default one made at start and gone when the process ends
   */
  readonly encryption?: readonly string[];
}

export interface CookieOptions {
  /**
   * Secrets of at least 32 characters, newest first, that sign cookies. The first signs, all are accepted. Needed in production.
   * @default one made at start and gone when the process ends
   */
  readonly keys?: readonly string[];
  /**
   * Text before the name of every cookie of the service, after `__Host-` or `__Secure-`: `staging-` makes `__Host-staging-idp.session`. 1 to 32 letters,
   * digits, `.`, `_` and `-`, of which the first is a letter or digit. Two services on one host name need different prefixes, because browsers send cookies to
   * every port of a host. A changed prefix signs all browsers out.
   * @default ''
   */
  readonly prefix?: string;
}

export interface PathOptions {
  /**
   * Where the pages and all endpoints that no standard names are, relative to the issuer.
   * @default '/idp'
   */
  readonly own?: string;
}

/** How long things live: whole seconds, each. Clients may have their own for tokens. */
export interface LifetimeOptions {
  /** An authorization code. 1 to 600. @default 60 @see RFC 6749 §4.1.2 */
  readonly code?: number;
  /** One sign-in, from the request to the last page. 1 to 86,400. @default 1_800 */
  readonly interaction?: number;
  /** An access token by reference. 1 to 86,400. @default 3_600 */
  readonly accessToken?: number;
  /** An access token that is a JWT, which resource servers may accept until it ends. 1 to 86,400. @default 600 */
  readonly jwtAccessToken?: number;
  /** An ID token. 1 to 86,400. @default 300 */
  readonly idToken?: number;
  /** A refresh token that is not used; never more than `refreshTokenAbsolute`. 1 to 31,536,000. @default 1_296_000 */
  readonly refreshTokenIdle?: number;
  /** A refresh token and all its successors. 1 to 31,536,000. @default 2_592_000 */
  readonly refreshTokenAbsolute?: number;
  /** How long a refresh token that was just replaced is answered again, for clients that lost the reply. 0 to 60. @default 10 */
  readonly refreshTokenGrace?: number;
  /** A session that is not used; never more than `sessionAbsolute`. 1 to 2,592,000. @default 3_600 */
  readonly sessionIdle?: number;
  /** A session, used or not. 1 to 2,592,000. @default 43_200 */
  readonly sessionAbsolute?: number;
  /** The link of an invitation. 60 to 2,592,000. @default 86_400 */
  readonly invitation?: number;
  /** The link that resets a password. 60 to 86,400. @default 3_600 */
  readonly passwordReset?: number;
  /** The link that proves an e-mail address, or creates an account. 60 to 2,592,000. @default 86_400 */
  readonly emailProof?: number;
  /** A sign-in as somebody else, at most; the operator may choose less. 60 to 3,600. @default 1_800 */
  readonly impersonation?: number;
  /** An authentication request of CIBA; clients and requests may have less. 10 to 600. @default 120 @see CIBA Core §7.3 */
  readonly authenticationRequest?: number;
  /** An event in the feed, which is the audit as well. 86,400 to 3,153,600,000. @default 31_536_000 */
  readonly events?: number;
}

/** The look of what neither a client nor a tenant gives a look of its own. */
export interface BrandingOptions {
  /** An https URL, or a path of the issuer's origin. @default none */
  readonly logoUri?: string;
  /** The icon of the browser's tab, likewise. @default none */
  readonly faviconUri?: string;
  /** `#rrggbb`, with a contrast of 4.5:1 to white or more. @default '#4450b8' */
  readonly accentColor?: string;
  /** Corner radius in pixels, 0 to 24. @default 10 */
  readonly radius?: number;
  /** Of those that devices have. @default 'system' */
  readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
}

/** Signing in as somebody else, on the record. */
export interface ImpersonationOptions {
  /**
   * The id of the permission: who holds it in a tenant may act as its other users, but for those who hold it as well. It counts as privileged: only who
   * administers all tenants gives it.
   */
  readonly permission: string;
  /** Whether users are told by mail that somebody acted as them; needs the option `mail`. @default nobody is told */
  readonly notify?: boolean;
}

/** How people hear of requests to sign in on a device of their own. */
export interface CibaOptions {
  /**
   * Tells the person's device of a request: a push message, an SMS. Called at least once for each request, from whichever node is there. What it rejects, or
   * has not done within 10 seconds, is tried again after 2, 5, 15 and 30 seconds, as long as the request waits for an answer.
   * @param signal aborted when the 10 seconds are over
   * @default nothing: people look at `/idp/ciba`
   */
  readonly notify?: (notification: CibaNotification, signal: AbortSignal) => unknown;
  /** Whether people are told by mail as well; needs the option `mail`. @default false */
  readonly email?: boolean;
}

export interface MailOptions {
  /**
   * Hands a mail over. What it rejects, or has not taken within 30 seconds, is handed over again after 5 seconds, 30 seconds, and so on for about eight
   * hours.
   */
  readonly send: (message: MailMessage) => Promise<unknown>;
}

/**
 * How often a sign-in or a registration may fail before it has to wait. An address is an IPv4 address or the /64 of an IPv6 address.
 */
export interface LimitOptions {
  /**
   * Failures with one user name, of an account or not, from one address in `signInWindow`: what goes beyond is answered 429. A browser that
   * signed in to an account before has as many more for that account. 1 to 100. @default 10
   */
  readonly signInFailures?: number;
  /** Seconds that `signInFailures` are counted. 60 to 86,400. @default 900 */
  readonly signInWindow?: number;
  /**
   * Failures at one account in an hour, from wherever: beyond, every password is answered as a wrong one, but for browsers that signed in to the
   * account before. 1 to 100. @default 100 @see NIST SP 800-63B §3.2.2
   */
  readonly signInFailuresPerAccount?: number;
  /** Failures from one address in an hour, with whichever user name: what goes beyond is answered 429. 1 to 100,000. @default 100 */
  readonly signInFailuresPerAddress?: number;
  /** Requests of one client to the admin API in a minute, at all nodes together: what goes beyond is answered 429. 1 to 1,000,000. @default 600 */
  readonly adminRequestsPerMinute?: number;
  /** Authentication requests (CIBA) of one client in a minute, at all nodes together: what goes beyond is answered 429. 1 to 1,000,000. @default 60 */
  readonly authenticationRequestsPerMinute?: number;
  /** Requests that one process works on at once; more are answered 503. 10 to 100,000. @default 1_000 */
  readonly requestsAtOnce?: number;
  /** The same of one HTTP/1 connection, which may send one before another was answered. 1 to 1,000. @default 10 */
  readonly requestsAtOncePerConnection?: number;
}

/** Requests that the service makes to addresses that clients registered: logout URIs, request URIs, key sets. */
export interface OutgoingOptions {
  /**
   * Hosts, as `host` or `host:port`, that are called at whatever address and over http as well. All others are called over https, at public
   * addresses alone.
   * @default []
   */
  readonly allowHosts?: readonly string[];
}

export interface PasswordOptions {
  /**
   * How new passwords are hashed; others are hashed anew at the next sign-in. `argon2id` needs a Node that has `crypto.argon2`
   * (24.7 or later) on every node of the service.
   * @default 'scrypt'
   */
  readonly algorithm?: 'scrypt' | 'argon2id';
  /**
   * N of scrypt, a power of two: a hash takes N KiB of memory, and time that grows with N. Production refuses less than the default. Hashes of
   * another cost are made anew at the next sign-in. 16 to 131,072. @default 16_384
   * @see OWASP Password Storage Cheat Sheet
   */
  readonly scryptCost?: number;
  /**
   * Passwords that are too easy to guess: a list, or a function that answers true for one, by whatever library it likes. It is asked wherever a password
   * is set, after the rules of the service; where it throws, or takes longer than 5 seconds, no password is set and the answer is 503 `busy`.
   * @default none
   * @see NIST SP 800-63B-4 §3.1.1.2
   */
  readonly weak?: RefusedPasswords;
  /** Passwords that are known from leaks: as `weak`, with words of its own on the pages. @default none */
  readonly leaked?: RefusedPasswords;
}

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

export interface IdentityProviderOptions {
  /**
   * Base URL of the service, and the value of `iss`: absolute, http or https (production: https), without trailing slash, query or
   * fragment. All URLs, redirects and the cookies' `Secure` follow it, never a request. Its path is where the service is mounted.
   * @see OpenID Connect Discovery §3
   */
  readonly issuer: string;
  /**
   * Where short-lived protocol records are kept: sessions, grants, codes, tokens, counters. Production needs one that lasts.
   * @default in memory, gone when the process ends
   */
  readonly artifacts?: ArtifactStore;
  /**
   * Where durable records are kept: tenants, persons, clients, keys, events. Production needs one that lasts.
   * @default in memory, gone when the process ends
   */
  readonly directory?: DirectoryStore;
  /**
   * Tenants, persons, groups, permissions, clients and API resources to create or update at start. Allowed everywhere, but
   * `devPassword` is refused in production.
   * @default nothing
   */
  readonly seed?: Seed;
  /** Keys that sign tokens and encrypt records. @default {} */
  readonly keys?: KeyOptions;
  /** Cookies of the service. @default {} */
  readonly cookies?: CookieOptions;
  /**
   * Secret of at least 16 characters that pairwise subject identifiers are derived from. Changing it changes every one of them; no
   * other key does.
   * @default in production none: no client is pairwise; elsewhere made at start
   * @see OpenID Connect Core §8.1
   */
  readonly subjectSalt?: string;
  /**
   * Where the client's address comes from, for throttling; it never influences URLs. `false`: the connection. `true`: one
   * proxy is in front, and the address is the right-most entry of `X-Forwarded-For`. A number: so many proxies are in front, each
   * adding an entry. A function: it answers the address. Needed in production, `false` included: a proxy that nobody mentions makes all
   * people share its limits.
   * @default false
   */
  readonly trustProxy?: boolean | number | ((request: IncomingMessage) => string);
  /**
   * Audience of client assertions (`private_key_jwt`): the `issuer`. With `token-endpoint`, the URL of the token endpoint is accepted too, and at PAR and
   * the backchannel authentication endpoint the URL of that endpoint; a client of FAPI 1.0 may send an array that contains one of them. Clients of FAPI
   * 2.0 send the issuer in both cases.
   * @default 'issuer'
   * @see draft-ietf-oauth-rfc7523bis §4, RFC 9126 §2, CIBA Core §7.1
   */
  readonly assertionAudience?: 'issuer' | 'token-endpoint';
  /** Paths of the service. @default {} */
  readonly paths?: PathOptions;
  /** Claim plugins, after the standard claims. @default [] */
  readonly claims?: readonly ClaimSet[];
  /**
   * Moves claims to other scopes, by claim name; `false` leaves the claim out everywhere.
   * @default {}
   */
  readonly claimMapping?: Readonly<Record<string, string | false>>;
  /**
   * When `oid` is issued: `linked`, to users that have a parent or children, whose `sub` names the family; or `always`.
   * @default 'linked'
   */
  readonly oid?: 'linked' | 'always';
  /**
   * Claim `email` of a person with a second address, for clients whose record does not say: `all` is a list of both addresses, as the service specification
   * says, and `first` is one string, as most libraries need it.
   * @default 'all'
   */
  readonly email?: 'all' | 'first';
  /**
   * The FAPI profile of all clients: `'2.0'` sets and requires the whole FAPI 2.0 Security Profile. The member `fapi` of a client sets it for that client.
   * @default none
   * @see FAPI 2.0 Security Profile
   */
  readonly fapi?: '2.0';
  /**
   * Whether `picture` of a person without one is their initials, as the service specification says. OpenID Connect Core §5.1 has a URL there: set `false` for
   * applications that show `picture` as an image, and for the certification of OpenID Connect.
   * @default true
   */
  readonly initialsAsPicture?: boolean;
  /** Extensions, after the standard ones. @default [] */
  readonly extensions?: readonly Extension[];
  /** Where the service logs; `console` and pino fit. It gets no secrets. @default warnings and errors to the console */
  readonly logger?: Logger;
  /** How long codes, tokens and sessions live. @default {} */
  readonly lifetimes?: LifetimeOptions;
  /** How often sign-in may fail. @default {} */
  readonly limits?: LimitOptions;
  /**
   * Sends mail: invitations, links that reset a password or prove an address, notices of what changed. One address gets at most five in an hour; more wait.
   * @default nothing: an invitation can only be fetched as a link, and nobody resets a password
   */
  readonly mail?: MailOptions;
  /**
   * The id of the tenant of personal accounts, which invitations with `link` link to. Such an invitation lets its user create an account there, whatever the
   * tenant's `signIn.selfRegistration` says.
   * @default none: there are no such invitations
   */
  readonly personalTenant?: string;
  /**
   * Lets people act as others: `impersonate` in `acr_values`.
   * @default none: such requests are refused
   * @see service specification 4.2
   */
  readonly impersonation?: ImpersonationOptions;
  /** How people hear of requests to sign in on a device of their own. @default {} */
  readonly ciba?: CibaOptions;
  /** What the service may call. @default {} */
  readonly outgoing?: OutgoingOptions;
  /** How passwords are kept. @default {} */
  readonly passwords?: PasswordOptions;
  /** Logo, accent colour and corner radius of the pages and mails, where a tenant's `branding` or a client's `styles` has none. @default {} */
  readonly branding?: BrandingOptions;
  /** Languages of the pages; the first is used when a person wants none of them. @default ['en', 'nb', 'sv', 'da', 'fi', 'de'] */
  readonly locales?: readonly Locale[];
  /** Features of oidc-provider, in its own form: mTLS, the claims parameter, resource indicators, FAPI … @default {} */
  readonly features?: Features;
  /**
   * The last word over the configuration of oidc-provider: change it, or return another. Called for each oidc-provider instance, before it is
   * made: at start, and each time keys rotate. A feature that is refused as an option is refused here too.
   * @default unchanged
   */
  readonly configure?: (configuration: Configuration) => Configuration | undefined;
  /**
   * Called for each oidc-provider instance, after it was made and before it serves: at start, and each time keys rotate, when a new instance takes
   * over. The place for listeners, middleware and grant types; afterwards they are refused. With it, oidc-provider's own handlers answer.
   * @default nothing
   */
  readonly onProvider?: (provider: Provider) => void;
}
