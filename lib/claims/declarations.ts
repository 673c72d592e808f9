/** Maps the declared claims of plugins to the claims that the service serves. The option `claimMapping` decides, and each name has one owner. */

import { formatPath } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import { ConfigError } from '../errors.js';
import { checkClaimSet, checkMapping, declarationsOf } from './checks.js';
import type { ClaimDeclaration, ClaimMapping, ClaimNeed, ClaimSet, DeclaredClaim } from './contract.js';
import { claimTargets, reservedClaims } from './contract.js';

export interface ServedClaim extends DeclaredClaim {
  readonly value: ClaimDeclaration<never>['value'];
}

export interface ServedClaimSet {
  readonly name: string;
  readonly needs: readonly ClaimNeed[];
  readonly load: ClaimSet['load'];
  readonly timeoutMs: number;
  readonly onError: 'omit' | 'fail';
  readonly claims: readonly ServedClaim[];
}

/**
 * Reads the claim sets.
 * @throws ConfigError with all problems. `extension_conflict`: two sets declare the same claim, or a set declares a claim of the protocol.
 * `invalid_options`: a declaration is malformed.
 */
export function readClaimSets(sets: readonly ClaimSet[], mapping: ClaimMapping): readonly ServedClaimSet[] {
  const malformed = findClaimProblems(sets, mapping);
  const conflicts = findClaimConflicts(sets, mapping);
  if (malformed.length > 0) throw new ConfigError('invalid_options', [...malformed, ...conflicts]);
  if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
  const scopes = new Map(Object.entries(mapping));
  return withoutRemoved(sets, mapping).map(({ name, needs = [], load, timeoutMs = 1000, onError = 'omit', claims }) => ({
    name,
    needs,
    load,
    timeoutMs,
    onError,
    claims: Object.entries(claims).map(([claim, { scope, type, description, in: targets = claimTargets, apiResources, value }]) => ({
      name: claim,
      scope: scopes.get(claim) || scope,
      type,
      description,
      targets,
      ...(apiResources && { apiResources }),
      value,
    })),
  }));
}

/** Returns the scopes of all sets and of the mapping, including a scope whose claims were all moved to other scopes. Skips malformed parts. */
export const claimScopes = (sets: readonly ClaimSet[], mapping: ClaimMapping): ReadonlySet<string> => {
  const named = sets.flatMap((set) => [...declarationsOf(set).map(([, { scope }]) => scope), ...[set.scopes ?? []].flat()]);
  return new Set([...named, ...Object.values(mapping)].filter((scope) => typeof scope === 'string'));
};

/** Returns the scopes of the protocol and the scopes of claims. */
export const identityScopes = (ofClaims: Iterable<string>): ReadonlySet<string> => new Set(['openid', 'offline_access', ...ofClaims]);

/** Returns the problems of malformed sets and of the mapping. */
export const findClaimProblems = (sets: readonly ClaimSet[], mapping: ClaimMapping): readonly ConfigProblem[] => [
  ...sets.flatMap(checkClaimSet),
  ...checkMapping(sets, mapping),
];

/** Returns the problems of names that two sets declare, or that the protocol reserves. */
export const findClaimConflicts = (sets: readonly ClaimSet[], mapping: ClaimMapping): readonly ConfigProblem[] =>
  findConflicts(withoutRemoved(sets, mapping));

/** Removes a claim from the first set that declares the claim, so that a later set can declare a claim of the same name. */
function withoutRemoved(sets: readonly ClaimSet[], mapping: ClaimMapping): readonly ClaimSet[] {
  const toRemove = new Set(Object.keys(mapping).filter((claim) => mapping[claim] === false));
  return sets.map((set) => ({
    ...set,
    claims: Object.fromEntries(declarationsOf(set).filter(([claim]) => !toRemove.delete(claim))),
  }));
}

function findConflicts(sets: readonly ClaimSet[]): ConfigProblem[] {
  const reserved = new Set<string>(reservedClaims);
  const owners = new Map<string, string>();
  const conflicts: ConfigProblem[] = [];
  for (const { name, claims } of sets) {
    for (const claim of Object.keys(claims)) {
      const path = formatPath(['claims', name, claim]);
      const owner = owners.get(claim);
      if (reserved.has(claim)) {
        conflicts.push({ path, expected: `a name that the protocol does not set; '${claim}' is reserved` });
      } else if (owner !== undefined) {
        conflicts.push({ path, expected: `a name that no other set declares; '${owner}' has '${claim}' too` });
      } else {
        owners.set(claim, name);
      }
    }
  }
  return conflicts;
}
