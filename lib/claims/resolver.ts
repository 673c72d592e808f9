/** Resolver of account claims, for ID tokens, userinfo, scope introspection, SAML and discovery. */
import { type Awaitable, allOf, isPromise, onceThere } from '../awaitable.js';
import type { Logger } from '../logger.js';
import type {
  ClaimContext,
  ClaimLookups,
  ClaimMapping,
  ClaimNeed,
  ClaimRecords,
  ClaimSet,
  ClaimSubject,
  ClaimTarget,
  DeclaredClaim,
} from './contract.js';
import { Deadline } from './deadline.js';
import type { ServedClaim, ServedClaimSet } from './declarations.js';
import { claimScopes, readClaimSets } from './declarations.js';
import type { ClaimFailureHandler } from './failures.js';
import { ClaimTypeError, createClaimFailureHandler } from './failures.js';
import { RememberedLookups } from './lookups.js';
import { isOfClaimType } from './types.js';

/** Claims of one request about one subject. Each set loads its data at most once. */
export interface RequestClaims {
  /**
   * Returns the claims of these scopes and of these names for the target. Returns a promise only if a plugin or a look-up has to be awaited.
   * @param audience of an access token.
   * @throws UnavailableError `claims_unavailable`
   */
  resolve(
    scopes: ReadonlySet<string>,
    target: ClaimTarget,
    names?: ReadonlySet<string>,
    audience?: readonly string[],
  ): Awaitable<Record<string, unknown>>;
}

export interface ClaimResolver {
  /** All served claims, in the order of their declarations. */
  readonly declarations: readonly DeclaredClaim[];
  /** Known scopes, each with the claims that it grants. A scope whose claims were all moved to other scopes stays known. */
  readonly scopes: ReadonlyMap<string, readonly string[]>;
  /** Whether any claim has the target `access_token`. Most instances have no such claim, and nothing has to be resolved. */
  readonly isForAccessTokens: boolean;
  forRequest(subject: ClaimSubject): RequestClaims;
  /** Resolves claims for a request that resolves once. @throws UnavailableError `claims_unavailable` */
  resolve(
    subject: ClaimSubject,
    scopes: ReadonlySet<string>,
    target: ClaimTarget,
    names?: ReadonlySet<string>,
    audience?: readonly string[],
  ): Awaitable<Record<string, unknown>>;
}

/**
 * Creates the resolver.
 * @throws ConfigError with all problems. `extension_conflict`: two sets declare the same claim, or a set declares a claim of the protocol.
 * `invalid_options`: a set or the mapping is malformed.
 */
export function createClaimResolver(
  sets: readonly ClaimSet[],
  { logger, mapping = {} }: { readonly logger: Logger; readonly mapping?: ClaimMapping },
): ClaimResolver {
  const served = readClaimSets(sets, mapping);
  const onFailure = createClaimFailureHandler(logger);
  const forRequest = (subject: ClaimSubject): RequestClaims => {
    const loads: Loads = new Map();
    const lookups = new RememberedLookups(subject);
    return {
      resolve(scopes, target, names, audience = []) {
        const outcomes = served.flatMap((set) => {
          const wanted = set.claims.filter(
            (claim) => (scopes.has(claim.scope) || names?.has(claim.name)) && goesTo(claim, target, audience),
          );
          return wanted.length > 0 ? [resolveSet(set, wanted, subject, lookups, loads, onFailure)] : [];
        });
        return onceThere(allOf(outcomes), (resolved) => {
          const claims: Record<string, unknown> = {};
          for (const entries of resolved) for (const [name, value] of entries) if (value !== undefined) claims[name] = value;
          return claims;
        });
      },
    };
  };
  return {
    declarations: served.flatMap(({ claims }) => claims.map(({ value: _, ...declared }) => declared)),
    scopes: scopesOf(claimScopes(sets, mapping), served),
    isForAccessTokens: served.some(({ claims }) => claims.some(({ targets }) => targets.includes('access_token'))),
    forRequest,
    resolve: (subject, scopes, target, names, audience) => forRequest(subject).resolve(scopes, target, names, audience),
  };
}

/** Returns whether the claim may be in the token. Every API resource in the audience of an access token reads all claims of the token. */
const goesTo = ({ targets, apiResources }: ServedClaim, target: ClaimTarget, audience: readonly string[]): boolean =>
  targets.includes(target) &&
  (target !== 'access_token' || (audience.length > 0 && audience.every((apiResource) => apiResources?.includes(apiResource))));

type Entry = readonly [claim: string, value: unknown];
type Loads = Map<ServedClaimSet, unknown>;

/** Returns the entries. Returns a promise only if a value has to be awaited. Every token calls this function, and a promise costs more than most claims. */
function resolveSet(
  set: ServedClaimSet,
  wanted: readonly ServedClaim[],
  subject: ClaimSubject,
  lookups: RememberedLookups,
  loads: Loads,
  onFailure: ClaimFailureHandler,
): readonly Entry[] | Promise<readonly Entry[]> {
  const deadline = new Deadline(set.timeoutMs);
  const context = contextOf(subject, lookups, deadline);
  const entriesNow = (): readonly Entry[] | PromiseLike<readonly Entry[]> => {
    const values = wanted.map((claim) => valueOfClaim(claim, context, deadline, (e) => onFailure(set, [claim], e, subject)));
    const named = (settled: readonly unknown[]): readonly Entry[] => wanted.map(({ name }, index) => [name, settled[index]]);
    const settled = allOf(values);
    return isPromise(settled) ? settled.then(named) : named(settled);
  };
  const leaveOut = (error: unknown): readonly Entry[] => {
    onFailure(set, wanted, error, subject);
    return [];
  };
  const awaited: PromiseLike<void>[] = [];
  const keep = (member: 'data' | ClaimNeed, value: unknown): void => {
    context[member] = value as never;
  };
  const add = (member: 'data' | ClaimNeed, found: unknown): void => {
    if (isPromise(found)) awaited.push(found.then((value) => keep(member, value)));
    else keep(member, found);
  };
  if (set.load) add('data', loadOnce(set, context, deadline, loads));
  for (const need of set.needs) add(need, lookedUp(lookups, need, deadline));
  const entries = awaited.length === 0 ? entriesNow() : Promise.all(awaited).then(entriesNow, leaveOut);
  if (isPromise(entries)) return stopAfter(entries, deadline);
  deadline.stop();
  return entries;
}

const stopAfter = async <T>(outcome: PromiseLike<T>, deadline: Deadline): Promise<T> => {
  try {
    return await outcome;
  } finally {
    deadline.stop();
  }
};

/** Context of a set: the data that the claims of the set expect, and the records that the set needs. */
type SetContext = ClaimContext & { -readonly [Name in keyof ClaimRecords]: ClaimRecords[Name] } & { data: never };

/** Context of one set for one token. The members are assigned one by one, because copying a subject costs more than most claims. */
class ContextOfSet {
  readonly person: ClaimSubject['person'];
  readonly user: ClaimSubject['user'];
  readonly tenant: ClaimSubject['tenant'];
  readonly scopes: ClaimSubject['scopes'];
  readonly client: ClaimSubject['client'];
  readonly login: ClaimSubject['login'];
  readonly pseudonym: ClaimSubject['pseudonym'];
  readonly #lookups: RememberedLookups;
  readonly #deadline: Deadline;

  constructor(subject: ClaimSubject, lookups: RememberedLookups, deadline: Deadline) {
    this.person = subject.person;
    this.user = subject.user;
    this.tenant = subject.tenant;
    this.scopes = subject.scopes;
    this.client = subject.client;
    this.login = subject.login;
    this.pseudonym = subject.pseudonym;
    this.#lookups = lookups;
    this.#deadline = deadline;
  }

  get lookups(): ClaimLookups {
    return this.#lookups.byName;
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }
}

const contextOf = (subject: ClaimSubject, lookups: RememberedLookups, deadline: Deadline): SetContext =>
  new ContextOfSet(subject, lookups, deadline) as unknown as SetContext;

function lookedUp(lookups: RememberedLookups, need: ClaimNeed, deadline: Deadline): unknown {
  try {
    return deadline.within<unknown>(lookups.record(need));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Starts the load at the first call, within the deadline of that call. Later calls share the result or the failure of the load. */
function loadOnce(set: ServedClaimSet, context: ClaimContext, deadline: Deadline, loads: Loads): unknown {
  if (!loads.has(set)) loads.set(set, loaded(set, context, deadline));
  return loads.get(set);
}

function loaded(set: ServedClaimSet, context: ClaimContext, deadline: Deadline): unknown {
  try {
    return deadline.within<unknown>(set.load?.(context));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Returns the value. Returns a promise only if the plugin returned a promise or failed, because most values are available immediately. */
function valueOfClaim(claim: ServedClaim, context: SetContext, deadline: Deadline, onError: (error: unknown) => void): unknown {
  const checked = (value: unknown): unknown => {
    if (value !== undefined && !isOfClaimType[claim.type](value)) throw new ClaimTypeError(claim);
    return value;
  };
  const checkedLater = (value: unknown): unknown => {
    try {
      return checked(value);
    } catch (error) {
      return onError(error);
    }
  };
  try {
    const value = deadline.within<unknown>(claim.value(context));
    return isPromise(value) ? value.then(checkedLater, onError) : checked(value);
  } catch (error) {
    // Returns a rejected promise instead of throwing, because the claims before this one may still be computed and have to be awaited.
    return Promise.reject(error).catch(onError);
  }
}

/** Returns every scope with its claims, after the mapping. */
function scopesOf(all: ReadonlySet<string>, served: readonly ServedClaimSet[]): ReadonlyMap<string, readonly string[]> {
  const claims = served.flatMap((set) => set.claims);
  return new Map([...all].map((scope) => [scope, claims.filter((claim) => claim.scope === scope).map(({ name }) => name)]));
}
