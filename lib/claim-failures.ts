/** What happens when claims cannot be computed: they are left out, or the request fails. */
import type { ServedClaim, ServedClaimSet } from './claim-declarations.js';
import { UnavailableError } from './errors.js';
import type { Logger } from './logger.js';

/** A plugin returned a value that is not of the type it declared. The message holds no value. */
export class ClaimTypeError extends TypeError {
  override readonly name = 'ClaimTypeError';

  constructor({ name, type }: ServedClaim) {
    super(`the value of '${name}' is not of type '${type}'`);
  }
}

/** Returns when the claims are to be left out. @throws UnavailableError `claims_unavailable` when the set wants the request to fail. */
export type ClaimFailureHandler = (set: ServedClaimSet, claims: readonly ServedClaim[], error: unknown) => void;

/** Milliseconds between two lines about the same set. */
const LOG_INTERVAL = 60_000;

export function createClaimFailureHandler(logger: Logger): ClaimFailureHandler {
  const silentUntil = new Map<ServedClaimSet, number>();
  return (set, claims, error) => {
    const names = claims.map(({ name }) => name);
    if (set.onError === 'fail') throw new UnavailableError('claims_unavailable', { claims: names }, { cause: error });
    const now = Date.now();
    if (now < (silentUntil.get(set) ?? 0)) return;
    silentUntil.set(set, now + LOG_INTERVAL);
    logger.warn({ claimSet: set.name, claims: names, reason: reasonOf(error) }, 'claims left out');
  };
}

/** A plugin's messages may hold personal data; the names of its errors do not. */
const reasonOf = (error: unknown): string => {
  if (error instanceof ClaimTypeError) return error.message;
  return error instanceof Error ? error.name : `a thrown ${typeof error}`;
};
