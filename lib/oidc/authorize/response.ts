/** Where an authorization response goes. oidc-provider's own renderers would make `1,2` of a parameter that is there twice. */

/** Members of a response; one with a list is sent once for each of its values. */
export type Members = Readonly<Record<string, unknown>>;

export type Place = 'query' | 'fragment' | 'form_post';

const places: ReadonlySet<string> = new Set<Place>(['query', 'fragment', 'form_post']);

/** The place of a mode, or undefined for a mode of the host's own. @see JARM §2.3 */
export function placeOf(mode: string, responseType: unknown): Place | undefined {
  if (mode === 'jwt') return typeof responseType === 'string' && responseType.includes('token') ? 'fragment' : 'query';
  const place = mode.replace(/\.jwt$/, '');
  return places.has(place) ? (place as Place) : undefined;
}

/** The redirect URI with a response in its query or fragment. @see OAuth 2.0 Multiple Response Type Encoding Practices §2.1 */
export function redirectTo(redirectUri: string, place: 'query' | 'fragment', members: Members): string {
  const url = new URL(redirectUri);
  const pairs = new URLSearchParams(place === 'query' ? url.search : '');
  for (const name of Object.keys(members)) pairs.delete(name);
  for (const [name, values] of Object.entries(members)) for (const value of [values].flat()) pairs.append(name, String(value));
  url[place === 'query' ? 'search' : 'hash'] = pairs.toString();
  return url.href;
}

/** A response as fields of a form. @see OAuth 2.0 Form Post Response Mode §2 */
export const formFields = (members: Members): Record<string, string | readonly string[]> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]));
