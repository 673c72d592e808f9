/**
 * Claims: declared by plugins, computed by one resolver.
 *
 * This file is the contract of a plugin. `declarations` maps declared claims to served ones and says who owns a name, `checks` looks at plugins that
 * no compiler saw, `resolver` computes the claims of an account within a `deadline`, and `failures` says what happens when a plugin fails.
 */
import type { Awaitable } from '../awaitable.js';
import type { Client, Group, PersonWithUser, Subsidiary, Tenant } from '../store/records/records.js';

/** Where a claim goes, unless its declaration says less. */
export const claimTargets = ['id_token', 'userinfo', 'scope_introspection', 'saml'] as const;
/** Access tokens, and their introspection, carry a claim only where its declaration says so and names the API resources. */
export type ClaimTarget = (typeof claimTargets)[number] | 'access_token';

/** JSON types a claim may have, by the name a declaration gives. */
export interface ClaimTypes {
  string: string;
  number: number;
  boolean: boolean;
  strings: readonly string[];
  object: Readonly<Record<string, unknown>>;
  objects: readonly Readonly<Record<string, unknown>>[];
  /** One string, or several: `email`. */
  'string or strings': string | readonly string[];
}

/** How and as whom the subject signed in: recorded at sign-in, pinned on the grant, never changed by a later sign-in. */
export interface LoginContext {
  /** The subject identifier the grant asserts for life. @see OpenID Connect Core §12.2 */
  readonly sub: string;
  /** `local`, or the external identity provider. */
  readonly idp: string;
  readonly amr: readonly string[];
  /** Seconds since the epoch. */
  readonly authTime: number;
  /** The impersonating user. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
}

/** An account of the family that shares one `sub`. */
export interface LinkedAccount {
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  /** Whether it is active, as its tenant is, whose policy something here can meet. */
  readonly canSignIn: boolean;
}

/** Records about the subject that a set can need. */
export interface ClaimRecords {
  /** The one that the person is assigned to. */
  readonly subsidiary: Subsidiary | undefined;
  readonly groups: readonly Group[];
  /** Accounts of the family in tenants that the caller may know about, the subject's own included; one element when it is not linked. */
  readonly linkedAccounts: readonly LinkedAccount[];
}
/** A look-up by the name that a set declares in `needs`. */
export type ClaimNeed = keyof ClaimRecords;
export const claimNeeds: readonly ClaimNeed[] = ['subsidiary', 'groups', 'linkedAccounts'];

/**
 * The look-ups behind {@link ClaimRecords}, for one that depends on what `load` found; all others are declared in `needs`. Each is done once per
 * request, and only when there can be something to find. Records at hand come without a promise.
 */
export interface ClaimLookups {
  subsidiary(): Awaitable<ClaimRecords['subsidiary']>;
  groups(): Awaitable<ClaimRecords['groups']>;
  linkedAccounts(): Promise<ClaimRecords['linkedAccounts']>;
}

/** What a claim is computed from. There is no client and no login in a call by an API resource. */
export interface ClaimContext {
  readonly person: PersonWithUser;
  readonly user: PersonWithUser['user'];
  readonly tenant: Tenant;
  /** All that the request was granted. */
  readonly scopes: ReadonlySet<string>;
  readonly client?: Client;
  readonly login?: LoginContext;
  readonly lookups: ClaimLookups;
  /**
   * For a pairwise client: the form in which it may see a user's id. A claim that holds one passes it through.
   * @see OpenID Connect Core §8.1
   */
  readonly pseudonym?: (oid: string) => string;
  /** Aborted when the plugin's time is up. */
  readonly signal: AbortSignal;
}

/** Whom claims are resolved about: the context but for the signal, which each set gets of its own. */
export type ClaimSubject = Omit<ClaimContext, 'signal'>;

export interface ClaimDeclaration<Data, Type extends keyof ClaimTypes = keyof ClaimTypes, Needs extends ClaimNeed = ClaimNeed> {
  /** The scope that grants it; a scope nobody else declared becomes known to discovery and consent. */
  readonly scope: string;
  readonly type: Type;
  /** For discovery, the consent page and docs/claims.md. */
  readonly description: string;
  /** Where the claim goes. @default all but `access_token` */
  readonly in?: readonly ClaimTarget[];
  /**
   * Ids of API resources, with `in: ['access_token']`: an access token has the claim when it has the scope and is for these API resources alone.
   * They have to exist when the service starts.
   */
  readonly apiResources?: readonly string[];
  /** The value; undefined leaves the claim out. A value that is not of the declared type counts as an error. */
  readonly value: (
    context: ClaimContext & Pick<ClaimRecords, Needs> & { readonly data: Data },
  ) => ClaimTypes[Type] | undefined | Promise<ClaimTypes[Type] | undefined>;
}

/** A claim that is served. */
export interface DeclaredClaim {
  readonly name: string;
  readonly scope: string;
  readonly type: keyof ClaimTypes;
  readonly description: string;
  readonly targets: readonly ClaimTarget[];
  /** Those whose access tokens have the claim. */
  readonly apiResources?: readonly string[];
}

/** Names that are set after all plugins; declaring one is refused by the compiler and at start. */
export const reservedClaims = [
  'sub', 'oid', 'tid', 'act', 'amr', 'idp', 'auth_time', 'acr', 'azp', 'iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'nonce', 'sid',
  'at_hash', 'c_hash', 's_hash', 'cnf', 'events', 'client_id', 'scope', 'active', 'token_type', 'username',
] as const; // biome-ignore format: a list
export type ReservedClaim = (typeof reservedClaims)[number];

interface ClaimSetSettings {
  /** For error messages and logs. */
  readonly name: string;
  /** Scopes that are known even though they grant no claim. */
  readonly scopes?: readonly string[];
  /** Milliseconds in which `load` and the values are to be there. @default 1000 */
  readonly timeoutMs?: number;
  /**
   * What an error or a time-out does: `omit` leaves out the claims it concerns, `fail` fails the request with `claims_unavailable`.
   * @default 'omit'
   */
  readonly onError?: 'omit' | 'fail';
}

/** A list of claims that are computed from the same data: what a plugin is. Made by {@link defineClaims}. */
export interface ClaimSet extends ClaimSetSettings {
  readonly needs?: readonly ClaimNeed[];
  readonly load?: (context: ClaimContext) => unknown;
  readonly claims: Readonly<Record<string, ClaimDeclaration<never>>>;
}

/** An instance's own view of the table: for each claim the scope that grants it instead of the declared one; `false` removes it. */
export type ClaimMapping = Readonly<Record<string, string | false>>;

type Load = ClaimSet['load'];
type AnyClaimDeclaration<Data, Needs extends ClaimNeed> = {
  [Type in keyof ClaimTypes]: ClaimDeclaration<Data, Type, Needs>;
}[keyof ClaimTypes] &
  Targets;
/** Where access tokens are among them, the API resources are named. */
type Targets =
  | { readonly in?: readonly (typeof claimTargets)[number][]; readonly apiResources?: never }
  | { readonly in: readonly ClaimTarget[]; readonly apiResources: readonly [string, ...string[]] };
/** What `load` resolves to; `undefined` when there is none. */
type DataOf<L extends Load> = undefined extends L ? undefined : Awaited<ReturnType<NonNullable<L>>>;

export interface ClaimSetDefinition<L extends Load, Needs extends ClaimNeed> extends ClaimSetSettings {
  /** Look-ups that the values need: once per request, and only when one of the claims is wanted. Each is a member of what `value` gets. */
  readonly needs?: readonly Needs[];
  /**
   * Fetches what the values need from elsewhere: once per request, and only when one of the claims is wanted. Written before `claims`, it gives
   * `data` its type.
   */
  readonly load?: L;
  /** By claim name. */
  readonly claims: Readonly<Record<string, AnyClaimDeclaration<DataOf<L>, Needs>>> & {
    readonly [Name in ReservedClaim]?: never;
  };
}

/**
 * Types a claim plugin; what a compiler cannot see is checked when the service starts.
 * @example
 * ```ts
 * import { createIdentityProvider, defineClaims } from 'tenant-idp';
 *
 * const badges = defineClaims({
 *   name: 'badges',
 *   needs: ['groups'],
 *   claims: {
 *     badge: { scope: 'badges', type: 'string', description: 'Number of the badge', value: ({ person }) => person.externalId },
 *     doors: { scope: 'badges', type: 'strings', description: 'Doors', value: ({ groups }) => groups.map(({ name }) => name) },
 *   },
 * });
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', claims: [badges] });
 * await idp.listen(3000);
 * ```
 */
export const defineClaims = <L extends Load, const Needs extends ClaimNeed = never>(definition: ClaimSetDefinition<L, Needs>): ClaimSet =>
  definition as ClaimSet;
