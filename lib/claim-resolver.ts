/** The one authority on account claims: ID token, userinfo, scope introspection, SAML and discovery all ask here. */
import type { DeclaredClaim, ServedClaim, ServedClaimSet } from './claim-declarations.js';
import { readClaimSets } from './claim-declarations.js';
import type { ClaimFailureHandler } from './claim-failures.js';
import { ClaimTypeError, createClaimFailureHandler } from './claim-failures.js';
import { isOfClaimType } from './claim-types.js';
import type { ClaimContext, ClaimMapping, ClaimSet, ClaimSubject, ClaimTarget } from './claims.js';
import { Deadline } from './deadline.js';
import type { Logger } from './logger.js';

/** The claims of one request about one subject: whatever it resolves, each set loads once. */
export interface RequestClaims {
  /** The claims of these scopes that go to the target, by name. @throws IdpError `claims_unavailable` */
  resolve(scopes: ReadonlySet<string>, target: ClaimTarget): Promise<Record<string, unknown>>;
}

export interface ClaimResolver {
  /** All claims that are served, in the order in which they were declared. */
  readonly declarations: readonly DeclaredClaim[];
  /** The known scopes and the claims that each grants; one whose claims were all mapped away stays known. */
  readonly scopes: ReadonlyMap<string, readonly string[]>;
  forRequest(subject: ClaimSubject): RequestClaims;
  /** For a request that resolves once. @throws IdpError `claims_unavailable` */
  resolve(subject: ClaimSubject, scopes: ReadonlySet<string>, target: ClaimTarget): Promise<Record<string, unknown>>;
}

/**
 * @throws ConfigError `extension_conflict` when two sets declare a claim or one declares a name of the protocol, `invalid_options` when
 * a set or the mapping is malformed.
 */
export function createClaimResolver(
  sets: readonly ClaimSet[],
  { logger, mapping = {} }: { readonly logger: Logger; readonly mapping?: ClaimMapping },
): ClaimResolver {
  const served = readClaimSets(sets, mapping);
  const onFailure = createClaimFailureHandler(logger);
  const forRequest = (subject: ClaimSubject): RequestClaims => {
    const loads: Loads = new Map();
    return {
      async resolve(scopes, target) {
        const entries: Promise<readonly Entry[]>[] = [];
        for (const set of served) {
          const wanted = set.claims.filter((claim) => scopes.has(claim.scope) && claim.targets.includes(target));
          if (wanted.length > 0) entries.push(resolveSet(set, wanted, subject, loads, onFailure));
        }
        const resolved = (await Promise.all(entries)).flat();
        return Object.fromEntries(resolved.filter(([, value]) => value !== undefined));
      },
    };
  };
  return {
    declarations: served.flatMap(({ claims }) => claims.map(({ value: _, ...declared }) => declared)),
    scopes: scopesOf(sets, served),
    forRequest,
    resolve: (subject, scopes, target) => forRequest(subject).resolve(scopes, target),
  };
}

type Entry = readonly [claim: string, value: unknown];
type Loads = Map<ServedClaimSet, Promise<unknown>>;

async function resolveSet(
  set: ServedClaimSet,
  wanted: readonly ServedClaim[],
  subject: ClaimSubject,
  loads: Loads,
  onFailure: ClaimFailureHandler,
): Promise<readonly Entry[]> {
  const deadline = new Deadline(set.timeoutMs);
  const context: ClaimContext = {
    ...subject,
    get signal() {
      return deadline.signal;
    },
  };
  try {
    const loaded = await loadOnce(set, context, deadline, loads).then(
      (data) => ({ data }),
      (error: unknown) => onFailure(set, wanted, error),
    );
    if (!loaded) return [];
    const withData = Object.assign(context, loaded);
    return await Promise.all(
      wanted.map(async (claim): Promise<Entry> => {
        const value = await resolveClaim(claim, withData, deadline).catch((error) => onFailure(set, [claim], error));
        return [claim.name, value];
      }),
    );
  } finally {
    deadline.stop();
  }
}

const nothing = Promise.resolve(undefined);

/** The first to want it starts the load, on its own time; whoever comes later shares the outcome, a failure too. */
function loadOnce(set: ServedClaimSet, context: ClaimContext, deadline: Deadline, loads: Loads): Promise<unknown> {
  const { load } = set;
  if (!load) return nothing;
  const running = loads.get(set) ?? (async () => deadline.within(load(context)))();
  loads.set(set, running);
  return running;
}

async function resolveClaim(
  claim: ServedClaim,
  context: ClaimContext & { readonly data: unknown },
  deadline: Deadline,
): Promise<unknown> {
  const value = await deadline.within<unknown>(claim.value(context as ClaimContext & { readonly data: never }));
  if (value !== undefined && !isOfClaimType[claim.type](value)) throw new ClaimTypeError(claim);
  return value;
}

/** Every scope that a set names, and the claims that the mapping leaves or puts there. */
function scopesOf(
  sets: readonly ClaimSet[],
  served: readonly ServedClaimSet[],
): ReadonlyMap<string, readonly string[]> {
  const scopes = new Map<string, string[]>();
  for (const { scopes: more = [], claims } of sets)
    for (const scope of [...Object.values(claims).map((claim) => claim.scope), ...more]) scopes.set(scope, []);
  for (const { name, scope } of served.flatMap(({ claims }) => claims)) {
    const names = scopes.get(scope) ?? [];
    scopes.set(scope, [...names, name]);
  }
  return scopes;
}
