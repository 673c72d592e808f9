import type { JsonWebKey } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC, Client as ProviderClient } from 'oidc-provider';
import type { Awaitable } from '../awaitable.js';
import type { ClaimResolver } from '../claims/resolver.js';
import type { SignInOffers } from '../contract/assembly/sign-in-offers.js';
import type { ClientEndpoint } from '../contract/clients/client-endpoint.js';
import type { GrantType } from '../contract/clients/grant-type.js';
import type { Csrf } from '../contract/context/http.js';
import type { CountWrongSecret } from '../contract/context/limits.js';
import type { ShowPage } from '../contract/pages/protocol-page.js';
import type { ImpersonationRule } from '../contract/sign-in/impersonation-rule.js';
import type { LogoutParticipant } from '../contract/sign-in/logout-participant.js';
import type { InternalClients as ClientsOfExtension, InternalClient } from '../contract/sign-in/sign-in-request.js';
import type { Directory } from '../directory/index.js';
import type { GuardedFetch } from '../fetch/guarded-fetch.js';
import type { RemoteDocuments } from '../fetch/remote-documents.js';
import type { CookieCheck } from '../http/requests/cookie-check.js';
import type { Logger } from '../logger.js';
import type { ResolvedOptions } from '../options/defaults.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { Client } from '../store/records/records.js';
import type { Sealer } from '../store/sealer.js';
import type { ModelAdapters } from './artifacts/model-adapter.js';
import type { SigningKeys } from './keys/keys.js';

/** What the parts of the protocol are made from. */
export interface OidcDependencies {
  readonly options: ResolvedOptions;
  readonly artifacts: ArtifactStore;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly directory: Directory;
  readonly sealer: Sealer;
  readonly claims: ClaimResolver;
  readonly browsers: Browsers;
  /** The only way out: to URLs that clients registered. */
  readonly fetch: GuardedFetch;
  /** What is read at such URLs. */
  readonly remote: RemoteDocuments;
  readonly clientKeySets: ClientKeySets;
  /** Reads a posted form into `ctx.request`. */
  readonly readForm: Middleware;
  /** Detection of browsers that send no cookies. */
  readonly cookieCheck: CookieCheck;
  /** Tokens of forms. */
  readonly csrf: Csrf;
  readonly countWrongSecret: CountWrongSecret;
  readonly logger: Logger;
  readonly showPage: ShowPage;
  readonly offers: SignInOffers;
  /** Sign-ins with `act`, as the extensions that began them judge them. */
  readonly impersonationRules: ImpersonationRule;
  /** Returns the URL of the page on which people end an impersonation; undefined where no extension has one. */
  readonly endImpersonationAt: () => string | undefined;
  /** Who hears of the end of sign-ins, by extension. */
  readonly participants: () => ReadonlyMap<string, LogoutParticipant>;
  /** Adds what extensions add to the configuration of oidc-provider. @throws ConfigError */
  readonly withAdditions: <C extends object>(configuration: C) => C;
  /** Applications that extensions answer themselves, by extension. */
  readonly clientsOfExtensions: () => ReadonlyMap<string, ClientsOfExtension>;
  /** Grant types of extensions, by name. */
  readonly grantTypes: ReadonlyMap<string, () => GrantType>;
  /** What an extension answers at the backchannel authentication endpoint; undefined where none does. */
  readonly backchannel: (() => ClientEndpoint) | undefined;
}

/** {@link OidcDependencies} and what is made from them once. */
export interface OidcParts extends OidcDependencies {
  readonly internalClients: InternalClients;
  /** The keys that the request's oidc-provider publishes: what it signs, it signs with those. Without a request, the keys of now. */
  readonly keys: (ctx?: object) => SigningKeys;
  readonly adapters: ModelAdapters;
  readonly browserState: BrowserState;
  /** Answers oidc-provider's question whether a request for a code without a challenge is refused. @throws InvalidRequest where it is */
  readonly challengeRule: (ctx: KoaContextWithOIDC, client: ProviderClient) => false;
  /** Whether the FAPI 2.0 Security Profile applies to a client: by its record, or by the option `fapi`. */
  readonly isFapi2: (record: Client | undefined) => boolean;
  /** Undefined without a salt: then no client is pairwise. */
  readonly pseudonyms: AllPseudonyms | undefined;
}

/** The browser that a sign-in belongs to. */
export interface Browsers {
  /** The hash of the secret that the request brings; undefined when it brings none, or more than one. */
  browserOf(ctx: Pick<Context, 'headers'>): string | undefined;
  /** Whether the request brings any cookie of the service. */
  sendsCookies(ctx: Pick<Context, 'headers'>): boolean;
  /** Whether something is bound to the browser that asks. */
  isBoundHere(ctx: Pick<Context, 'headers'>, bound: { readonly browser?: string | undefined }): boolean;
  /** For a response with something that belongs to its browser (an interaction, a form), and no other: where the request brings no secret, the response makes one. */
  begin(ctx: Pick<Context, 'headers' | 'append'>): string;
}

/** The state of a browser, as the frame of the check-session endpoint sees it. */
export interface BrowserState {
  /**
   * Brings the cookie up to date with an authorization response.
   * @param origin the redirect URI's.
   * @returns the response's `session_state`.
   */
  respond(ctx: KoaContextWithOIDC, origin: string, error: unknown): string;
  /** The sign-in of this browser ended. */
  clear(ctx: Pick<Context, 'cookies'>): void;
}

/** Applications of extensions, as clients. */
export interface InternalClients {
  /** Whether an id is one of theirs, existing or not. */
  owns(id: string): boolean;
  find(id: string): Awaitable<Client | undefined>;
  isInternal(record: object | undefined): boolean;
  /** As the application says of itself; undefined for any other client. */
  applicationOf(record: object | undefined): InternalClient | undefined;
  /** The service itself as a client: requirements are asked about it where no application asks. No request can name it. */
  readonly service: Client;
}

export interface KeySet {
  readonly keys: readonly JsonWebKey[];
  /** Until when it need not be read again, in milliseconds since the epoch. */
  readonly freshUntil: number;
}

/** The key sets at the `jwks_uri` of clients. */
export interface ClientKeySets {
  /** The last good set there; what cannot be read, or is none, never takes its place. @throws Error when there was none so far. */
  at(uri: string): Promise<KeySet>;
}

/**
 * Pairwise identifiers: a user's id enciphered under a key of the sector, so that two sectors cannot compare them and the service can turn them
 * back without a table. One AES-256 block holds exactly one UUID. @see OpenID Connect Core §8.1
 */
export interface Pseudonyms {
  encipher(sector: string, id: string): string;
  /** Undefined for what cannot be one; what is of another sector becomes an id that nobody has. */
  decipher(sector: string, pseudonym: string): string | undefined;
}

/** {@link Pseudonyms} of clients, and of the sectors of extensions. */
export interface AllPseudonyms extends Pseudonyms {
  readonly ofExtensions: Pseudonyms;
}
