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

/** Dependencies of the parts of the protocol. */
export interface OidcDependencies {
  readonly options: ResolvedOptions;
  readonly artifacts: ArtifactStore;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly directory: Directory;
  readonly sealer: Sealer;
  readonly claims: ClaimResolver;
  readonly browsers: Browsers;
  /** Sends requests to URLs that clients registered. Nothing else in the protocol sends requests. */
  readonly fetch: GuardedFetch;
  /** Documents at URLs that clients registered. */
  readonly remote: RemoteDocuments;
  readonly clientKeySets: ClientKeySets;
  /** Reads a posted form into `ctx.request`. */
  readonly readForm: Middleware;
  /** Detection of browsers that send no cookies. */
  readonly cookieCheck: CookieCheck;
  /** CSRF tokens of forms. */
  readonly csrf: Csrf;
  readonly countWrongSecret: CountWrongSecret;
  readonly logger: Logger;
  readonly showPage: ShowPage;
  readonly offers: SignInOffers;
  /** Rules of impersonations, from the extensions that began them. */
  readonly impersonationRules: ImpersonationRule;
  /** Returns the URL of the page on which users end an impersonation; undefined if no extension has such a page. */
  readonly endImpersonationAt: () => string | undefined;
  /** Participants in a logout, by extension. */
  readonly participants: () => ReadonlyMap<string, LogoutParticipant>;
  /** Returns the configuration of oidc-provider with the members that extensions add. @throws ConfigError */
  readonly withAdditions: <C extends object>(configuration: C) => C;
  /** Returns the internal clients, by extension. */
  readonly clientsOfExtensions: () => ReadonlyMap<string, ClientsOfExtension>;
  /** Grant types of extensions, by name. */
  readonly grantTypes: ReadonlyMap<string, () => GrantType>;
  /** Returns the answer of the backchannel authentication endpoint. Undefined if no extension answers the endpoint. */
  readonly backchannel: (() => ClientEndpoint) | undefined;
}

/** {@link OidcDependencies}, and the parts that are created from them once. */
export interface OidcParts extends OidcDependencies {
  readonly internalClients: InternalClients;
  /** Returns the signing keys that the request's oidc-provider publishes and uses. Without a request: the current signing keys. */
  readonly keys: (ctx?: object) => SigningKeys;
  readonly adapters: ModelAdapters;
  readonly browserState: BrowserState;
  /**
   * Returns false, because the rule itself checks whether a request for a code needs a challenge. @throws InvalidRequest if the request needs a challenge
   * and has none
   */
  readonly challengeRule: (ctx: KoaContextWithOIDC, client: ProviderClient) => false;
  /** Returns whether the FAPI 2.0 Security Profile applies to a client: by its record, or by the option `fapi`. */
  readonly isFapi2: (record: Client | undefined) => boolean;
  /** Pairwise identifiers. Undefined without a salt: then no client is pairwise. */
  readonly pseudonyms: AllPseudonyms | undefined;
}

/** Binds sign-ins to browsers. */
export interface Browsers {
  /** Returns the hash of the secret in the request's cookie; undefined if there is no such cookie, or more than one. */
  browserOf(ctx: Pick<Context, 'headers'>): string | undefined;
  /** Returns whether the request sends any cookie of the service. */
  sendsCookies(ctx: Pick<Context, 'headers'>): boolean;
  /** Returns whether the browser of the request is the bound browser. */
  isBoundHere(ctx: Pick<Context, 'headers'>, bound: { readonly browser?: string | undefined }): boolean;
  /**
   * Returns the browser's hash, for a response that belongs to its browser alone (an interaction, a form). Sets a new secret if the request has no secret.
   */
  begin(ctx: Pick<Context, 'headers' | 'append'>): string;
}

/** State of a browser for the frame of the check-session endpoint. */
export interface BrowserState {
  /**
   * Updates the cookie for an authorization response.
   * @param origin of the redirect URI.
   * @returns the response's `session_state`.
   */
  respond(ctx: KoaContextWithOIDC, origin: string, error: unknown): string;
  /** Updates the cookie after the sign-in of this browser ended. */
  clear(ctx: Pick<Context, 'cookies'>): void;
}

/** Internal clients of extensions, as clients. */
export interface InternalClients {
  /** Returns whether an id has the form of an internal client's id, whether or not that client exists. */
  owns(id: string): boolean;
  find(id: string): Awaitable<Client | undefined>;
  isInternal(record: object | undefined): boolean;
  /** Returns the internal client of a record; undefined for every other client. */
  applicationOf(record: object | undefined): InternalClient | undefined;
  /** The service itself as a client. Requirements get this client if there is no other client. No request can name it. */
  readonly service: Client;
}

export interface KeySet {
  readonly keys: readonly JsonWebKey[];
  /** Time until which the key set is not read again, in milliseconds since the epoch. */
  readonly freshUntil: number;
}

/** Key sets at the `jwks_uri` of clients. */
export interface ClientKeySets {
  /** Returns the last valid key set of the URL. A failed or invalid read never replaces the set. @throws Error if there has been no valid set. */
  at(uri: string): Promise<KeySet>;
}

/**
 * Pairwise identifiers: a user's id encrypted with an encryption key of the sector. Two sectors cannot compare these identifiers, and the service can
 * decrypt them without a table. One AES-256 block holds exactly one UUID. @see OpenID Connect Core §8.1
 */
export interface Pseudonyms {
  encipher(sector: string, id: string): string;
  /** Returns the user id; undefined for a malformed pseudonym. A pseudonym of another sector gives an id that no user has. */
  decipher(sector: string, pseudonym: string): string | undefined;
}

/** {@link Pseudonyms} of clients, and of the sectors of extensions. */
export interface AllPseudonyms extends Pseudonyms {
  readonly ofExtensions: Pseudonyms;
}
