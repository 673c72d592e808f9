/** URIs of requests that the client did not register. Developers see the received and the registered URIs, because these mostly differ by one character. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { LONGEST_URI } from '../../directory/index.js';
import { nearestUri } from '../../text/nearest-uri.js';

interface UnregisteredUri {
  readonly received: string;
  /** Registered URIs, the nearest URI first. */
  readonly registered: readonly string[];
  /** Difference from the nearest registered URI, without its value. */
  readonly difference?: string;
}

/** Returns the URI for which a request was refused; undefined if the request was refused for another reason. */
export function unregisteredUri({ oidc }: KoaContextWithOIDC, error: Error): UnregisteredUri | undefined {
  const { client, params, route } = oidc ?? {};
  if (!client) return undefined;
  if (error instanceof errors.InvalidRedirectUri) return comparedUri(params?.redirect_uri, client.redirectUris);
  const { post_logout_redirect_uri: uri } = params ?? {};
  if (route !== 'end_session' || typeof uri !== 'string' || client.postLogoutRedirectUriAllowed(uri)) return undefined;
  return comparedUri(uri, client.postLogoutRedirectUris);
}

function comparedUri(received: unknown, registered: readonly string[] = []): UnregisteredUri | undefined {
  if (typeof received !== 'string') return undefined;
  // The time to parse a URL grows with the square of its length.
  const nearest = received.length > LONGEST_URI ? undefined : nearestUri(received, registered);
  if (!nearest) return { received, registered };
  return { received, registered: [nearest.uri, ...registered.filter((uri) => uri !== nearest.uri)], difference: nearest.difference };
}

/** Maximum URIs of a client, and maximum characters of each, that a page shows. */
const MOST_URIS = 20;
const MOST_CHARACTERS = 300;

/** Returns the received and the registered URIs and their difference in lines of text, for the page that developers see. */
export function shownUris({ received, registered, difference }: UnregisteredUri): string {
  const more = registered.length - MOST_URIS;
  return [
    `received ${visible(received)}`,
    ...(registered.length === 0 ? ['registered none'] : registered.slice(0, MOST_URIS).map((uri) => `registered ${visible(uri)}`)),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(difference === undefined ? [] : [`The first registered URI differs in ${difference}.`]),
  ].join('\n');
}

/** Returns the URI with all characters that no URI has percent-encoded, because some of them are invisible, end a line or begin markup. @see RFC 3986 §2 */
const visible = (uri: string): string =>
  `${uri.slice(0, MOST_CHARACTERS)}${uri.length > MOST_CHARACTERS ? '...' : ''}`
    .replace(/\p{Cs}/gu, '?')
    .replace(/[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu, encodeURIComponent);

/** Returns {@link shownUris} as a part of an `error_description`. */
export const describedUris = (uri: UnregisteredUri): string => shownUris(uri).replaceAll('\n', '; ');
