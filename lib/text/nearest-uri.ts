import { canParseUrl } from './can-parse-url.js';

/** Parts of two URIs that differ, in words without their values. */
type Differences = readonly string[];

const parts: readonly (readonly [name: string, (url: URL) => string])[] = [
  ['the scheme', ({ protocol }) => protocol],
  ['the host', ({ hostname }) => hostname],
  ['the port', ({ port }) => port],
  ['the path', ({ pathname }) => pathname],
  ['the query', ({ search }) => search],
  ['the fragment', ({ hash }) => hash],
];

const withoutSlash = (path: string): string => path.replace(/\/+$/, '');

const isWeb = ({ protocol }: URL): boolean => /^https?:$/.test(protocol);

function difference(name: string, a: URL, b: URL): string {
  if (name === 'the scheme' && isWeb(a) && isWeb(b)) return 'http or https';
  return name === 'the path' ? pathDifference(a.pathname, b.pathname) : name;
}

function pathDifference(a: string, b: string): string {
  if (withoutSlash(a) === withoutSlash(b)) return 'the slash at the end';
  return withoutSlash(a).toLowerCase() === withoutSlash(b).toLowerCase() ? 'upper and lower case in the path' : 'the path';
}

function differencesOf(one: string, other: string): Differences {
  if (!canParseUrl(one) || !canParseUrl(other)) return one.toLowerCase() === other.toLowerCase() ? ['upper and lower case'] : ['the form'];
  const [a, b] = [new URL(one), new URL(other)];
  const found = parts.flatMap(([name, partOf]) => (partOf(a) === partOf(b) ? [] : [difference(name, a, b)]));
  if (found.length > 0) return found;
  // URLs that a parser finds equal are compared character by character.
  if (withoutSlash(one) === withoutSlash(other)) return ['the slash at the end'];
  return [one.toLowerCase() === other.toLowerCase() ? 'upper and lower case' : 'the spelling'];
}

/** Maximum number of parts in which a URI may differ from the URI that was probably meant. */
const MOST_DIFFERENCES = 2;

/**
 * Returns the URI of a list that was probably meant by another URI, and the difference. For `https://app.example/cb/` and `https://app.example/cb`, the
 * difference is the slash at the end. Undefined if no URI is near.
 */
export function nearestUri(given: string, uris: readonly string[]): { readonly uri: string; readonly difference: string } | undefined {
  const [nearest] = uris
    .map((uri) => ({ uri, differences: differencesOf(given, uri) }))
    .filter(({ differences }) => differences.length <= MOST_DIFFERENCES && !differences.includes('the form'))
    .sort((a, b) => a.differences.length - b.differences.length);
  return nearest && { uri: nearest.uri, difference: nearest.differences.join(' and ') };
}
