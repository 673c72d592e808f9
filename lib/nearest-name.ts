import { closest, distance } from 'fastest-levenshtein';

/** Returns the entry of `names` that is nearest to `name`, for messages about unknown names. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const [lower, candidates] = [name.toLowerCase(), names.map((candidate) => candidate.toLowerCase())];
  const best = closest(lower, candidates);
  return distance(lower, best) <= Math.floor(best.length / 3) ? names[candidates.indexOf(best)] : undefined;
}
