/**
 * Claims: plugins declare claims, and one resolver computes them.
 *
 * Contract of a plugin. `declarations` maps declared claims to served claims and finds the owner of a name. `checks` checks plugins that no compiler has
 * checked. `resolver` computes the claims of an account within a `deadline`. `failures` handles a plugin that fails.
 */
import type { Awaitable } from '../awaitable.js';
import type { Client, Group, PersonWithUser, Subsidiary, Tenant } from '../store/records/records.js';

/** Targets of a claim, unless the declaration of the claim names fewer. */
export const claimTargets = ['id_token', 'userinfo', 'scope_introspection', 'saml'] as const;
/**
 * A target of a claim. An access token has a claim only if the declaration of the claim names `access_token` and the API resources. The same holds for the
 * introspection of an access token.
 */
export type ClaimTarget = (typeof claimTargets)[number] | 'access_token';

/** JSON types of claims, by the name in a declaration. */
export interface ClaimTypes {
  string: string;
  number: number;
  boolean: boolean;
  strings: readonly string[];
  object: Readonly<Record<string, unknown>>;
  objects: readonly Readonly<Record<string, unknown>>[];
  /** One string, or several strings. The claim `email` is an example. */
  'string or strings': string | readonly string[];
}

/** The sign-in of the subject: recorded at the sign-in and stored with the grant. A later sign-in does not change the stored sign-in. */
export interface LoginContext {
  /** The subject identifier, which is the same for the whole life of the grant. @see OpenID Connect Core §12.2 */
  readonly sub: string;
  /** `local`, or the external identity provider. */
  readonly idp: string;
  readonly amr: readonly string[];
  /** Time of the sign-in, in seconds since the epoch. */
  readonly authTime: number;
  /** The impersonator. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
}

/** A linked account: one of the accounts that share one `sub`. */
export interface LinkedAccount {
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  /** Whether the account and its tenant are active, and a sign-in can satisfy the tenant's policy. */
  readonly canSignIn: boolean;
}

/** Records of the subject that a claim set can need. */
export interface ClaimRecords {
  /** The subsidiary that the person is assigned to. */
  readonly subsidiary: Subsidiary | undefined;
  readonly groups: readonly Group[];
  /** Linked accounts in tenants that the caller may know, including the subject's own. One element if the account is not linked. */
  readonly linkedAccounts: readonly LinkedAccount[];
}
/** Name of a look-up, for `needs` of a set. */
export type ClaimNeed = keyof ClaimRecords;
export const claimNeeds: readonly ClaimNeed[] = ['subsidiary', 'groups', 'linkedAccounts'];

/**
 * Look-ups of {@link ClaimRecords}, for a look-up that depends on the result of `load`. Declare all other look-ups in `needs`. Each look-up runs once per
 * request, and only if it can find something. Records in memory are returned without a promise.
 */
export interface ClaimLookups {
  subsidiary(): Awaitable<ClaimRecords['subsidiary']>;
  groups(): Awaitable<ClaimRecords['groups']>;
  linkedAccounts(): Promise<ClaimRecords['linkedAccounts']>;
}

/**
 * A person whose attributes have the type of the option `attributes.schema`. Each attribute may be absent, because a person who registered has none. A value
 * that was stored before the schema may have another type.
 */
export type PersonWithAttributes<Attributes> = Omit<PersonWithUser, 'attributes'> & { readonly attributes: Readonly<Partial<Attributes>> };

/** Input of a claim. In a call by an API resource, client and login are absent. */
export interface ClaimContext<Person = PersonWithUser> {
  readonly person: Person;
  readonly user: PersonWithUser['user'];
  readonly tenant: Tenant;
  /** All scopes that the request was granted. */
  readonly scopes: ReadonlySet<string>;
  readonly client?: Client;
  readonly login?: LoginContext;
  readonly lookups: ClaimLookups;
  /**
   * Returns the pseudonym of a user id, for a pairwise client. A claim that holds a user id has to pass it through this function.
   * @see OpenID Connect Core §8.1
   */
  readonly pseudonym?: (oid: string) => string;
  /** Signal that is aborted when the plugin's time is up. */
  readonly signal: AbortSignal;
}

/** Input of the resolver: the context without the signal, because each set gets its own signal. */
export type ClaimSubject = Omit<ClaimContext, 'signal'>;

export interface ClaimDeclaration<
  Data,
  Type extends keyof ClaimTypes = keyof ClaimTypes,
  Needs extends ClaimNeed = ClaimNeed,
  Person = PersonWithUser,
> {
  /** Scope that grants the claim. Discovery and consent know a scope as soon as a claim declares it. */
  readonly scope: string;
  readonly type: Type;
  /** Description, for discovery, the consent page and docs/claims.md. */
  readonly description: string;
  /** Targets of the claim. @default all except `access_token` */
  readonly in?: readonly ClaimTarget[];
  /**
   * Ids of API resources, with `in: ['access_token']`. An access token has the claim only if the token has the scope and is for these API resources alone.
   * The API resources have to exist when the service starts.
   */
  readonly apiResources?: readonly string[];
  /** Returns the value; undefined leaves the claim out. A value that is not of the declared type counts as an error. */
  readonly value: (
    context: ClaimContext<Person> & Pick<ClaimRecords, Needs> & { readonly data: Data },
  ) => ClaimTypes[Type] | undefined | Promise<ClaimTypes[Type] | undefined>;
}

/** A claim that is served. */
export interface DeclaredClaim {
  readonly name: string;
  readonly scope: string;
  readonly type: keyof ClaimTypes;
  readonly description: string;
  readonly targets: readonly ClaimTarget[];
  /** API resources whose access tokens have the claim. */
  readonly apiResources?: readonly string[];
}

/** Claims that the service sets after all plugins. The compiler and the start refuse a plugin that declares a reserved claim. */
export const reservedClaims = [
  'sub', 'oid', 'tid', 'act', 'amr', 'idp', 'auth_time', 'acr', 'azp', 'iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'nonce', 'sid',
  'at_hash', 'c_hash', 's_hash', 'cnf', 'events', 'client_id', 'scope', 'active', 'token_type', 'username',
] as const; // biome-ignore format: a list
export type ReservedClaim = (typeof reservedClaims)[number];

interface ClaimSetSettings {
  /** Name for error messages and logs. */
  readonly name: string;
  /** Scopes of the set that grant no claim. */
  readonly scopes?: readonly string[];
  /** Maximum milliseconds of `load` and all values. @default 1000 */
  readonly timeoutMs?: number;
  /**
   * Effect of an error or a time-out: `omit` leaves out the affected claims, `fail` fails the request with `claims_unavailable`.
   * @default 'omit'
   */
  readonly onError?: 'omit' | 'fail';
}

/** A claim plugin: claims that are computed from the same data. {@link defineClaims} creates a plugin. */
export interface ClaimSet extends ClaimSetSettings {
  readonly needs?: readonly ClaimNeed[];
  readonly load?: (context: ClaimContext) => unknown;
  readonly claims: Readonly<Record<string, ClaimDeclaration<never>>>;
}

/** The instance's mapping. Each claim gets the scope that grants it, in place of the declared scope. `false` removes the claim. */
export type ClaimMapping = Readonly<Record<string, string | false>>;

type Load<Person = PersonWithUser> = ((context: ClaimContext<Person>) => unknown) | undefined;
type AnyClaimDeclaration<Data, Needs extends ClaimNeed, Person> = {
  [Type in keyof ClaimTypes]: ClaimDeclaration<Data, Type, Needs, Person>;
}[keyof ClaimTypes] &
  Targets;
/** Targets and API resources. A declaration with `access_token` has to name API resources. */
type Targets =
  | { readonly in?: readonly (typeof claimTargets)[number][]; readonly apiResources?: never }
  | { readonly in: readonly ClaimTarget[]; readonly apiResources: readonly [string, ...string[]] };
/** Result of `load`; `undefined` if there is no `load`. */
type DataOf<L extends Load<never>> = undefined extends L ? undefined : Awaited<ReturnType<NonNullable<L>>>;

export interface ClaimSetDefinition<L extends Load<Person>, Needs extends ClaimNeed, Person = PersonWithUser> extends ClaimSetSettings {
  /**
   * Look-ups that the values need. Each look-up runs once per request, and only if a claim of the set is requested. `value` gets the results as members.
   */
  readonly needs?: readonly Needs[];
  /**
   * Fetches data that the values need. Called once per request, and only if a claim of the set is requested. Write `load` before `claims`, so that `data`
   * gets its type.
   */
  readonly load?: L;
  /** Declarations, by claim name. */
  readonly claims: Readonly<Record<string, AnyClaimDeclaration<DataOf<L>, Needs, Person>>> & {
    readonly [Name in ReservedClaim]?: never;
  };
}

/**
 * Types a claim plugin. The service checks at its start what a compiler cannot see.
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
export function defineClaims<L extends Load, const Needs extends ClaimNeed = never>(definition: ClaimSetDefinition<L, Needs>): ClaimSet;
/**
 * Types a claim plugin whose `person.attributes` have the type of the option `attributes.schema`. The parentheses after the type are empty, because the
 * compiler infers the other types from the plugin.
 * @example
 * ```ts
 * import { defineClaims } from 'tenant-idp';
 *
 * export const costCenters = defineClaims<{ costCenter: string }>()({
 *   name: 'cost centers',
 *   claims: {
 *     cost_center: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ person }) => person.attributes.costCenter },
 *   },
 * });
 * ```
 */
export function defineClaims<Attributes extends object>(): <
  L extends Load<PersonWithAttributes<Attributes>>,
  const Needs extends ClaimNeed = never,
>(
  definition: ClaimSetDefinition<L, Needs, PersonWithAttributes<Attributes>>,
) => ClaimSet;
export function defineClaims(definition?: unknown): unknown {
  return definition ?? ((typed: unknown) => typed);
}
