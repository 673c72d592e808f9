import { closest, distance } from 'fastest-levenshtein';

/** The entry of `names` that was probably meant by `name`. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const [lower, candidates] = [name.toLowerCase(), names.map((candidate) => candidate.toLowerCase())];
  const best = closest(lower, candidates);
  return distance(lower, best) <= Math.floor(best.length / 3) ? names[candidates.indexOf(best)] : undefined;
}
