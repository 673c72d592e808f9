/** Failures of claim plugins: the claims are left out, or the request fails. */

import { UnavailableError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { ServedClaim, ServedClaimSet } from './declarations.js';

/** A plugin returned a value that is not of the declared type. The message does not contain the value. */
export class ClaimTypeError extends TypeError {
  override readonly name = 'ClaimTypeError';

  constructor({ name, type }: ServedClaim) {
    super(`the value of '${name}' is not of type '${type}'`);
  }
}

/** Returns if the claims are left out. @throws UnavailableError `claims_unavailable` if the set makes the request fail. */
export type ClaimFailureHandler = (set: ServedClaimSet, claims: readonly ServedClaim[], error: unknown, subject: object) => void;

/** Milliseconds between two log lines about the same failure. */
const LOG_INTERVAL_MS = 60_000;
/** Maximum kinds of failures that are remembered. */
const MOST = 1000;

export function createClaimFailureHandler(logger: Logger): ClaimFailureHandler {
  const silentUntil = new Map<string, number>();
  /** Logs each kind of failure of a set separately, because each kind has its own cause. */
  const tell = (set: ServedClaimSet, claims: readonly string[], err: Error): void => {
    const kind = [set.name, err.name, err.message].join('\n');
    const now = performance.now();
    if (now < (silentUntil.get(kind) ?? 0)) return;
    if (silentUntil.size >= MOST) silentUntil.clear();
    silentUntil.set(kind, now + LOG_INTERVAL_MS);
    logger.warn(
      { err, claimSet: set.name, claims },
      set.onError === 'fail'
        ? 'the service refused a request, because claims could not be loaded'
        : 'the service left out claims that could not be loaded',
    );
  };
  return (set, claims, error, subject) => {
    const names = claims.map(({ name }) => name);
    tell(set, names, tellable(error, wordsOf(subject)));
    if (set.onError === 'fail') throw new UnavailableError('claims_unavailable', { claims: names }, { cause: error });
  };
}

/**
 * Returns the error without personal data, because a plugin's message may quote its input. Leaves out all data of the person, texts in double quotes, and
 * words with a digit or an @. The stack names the place of the error.
 */
function tellable(error: unknown, personal: ReadonlySet<string>): Error {
  if (error instanceof ClaimTypeError) return error;
  if (!(error instanceof Error)) return new Error(`a thrown ${typeof error}`);
  const message = discreet(error.message, personal);
  const told = new Error(message);
  const frames = error.stack?.match(/^ +at .*$/gm) ?? [];
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') Object.assign(told, { code });
  told.name = error.name;
  told.stack = [`${error.name}: ${message}`, ...frames].join('\n');
  if (error.cause !== undefined) told.cause = tellable(error.cause, personal);
  return told;
}

const discreet = (text: string, personal: ReadonlySet<string>): string =>
  text
    .replace(/"[^"]*"?/g, '"…"')
    .replace(/\S*[\d@]\S*/g, '…')
    .replace(/[\p{L}\p{M}]+/gu, (word) => (personal.has(word.toLowerCase()) ? '…' : word))
    .slice(0, 200);

/** Returns the words of all texts in a record, in lower case. */
function wordsOf(value: unknown, words = new Set<string>(), depth = 0): ReadonlySet<string> {
  if (typeof value === 'string') for (const word of value.toLowerCase().match(/[\p{L}\p{M}]{2,}/gu) ?? []) words.add(word);
  else if (typeof value === 'object' && value !== null && depth < 4)
    for (const inner of Object.values(value)) wordsOf(inner, words, depth + 1);
  return words;
}
