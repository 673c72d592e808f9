import type { Client } from 'oidc-provider';
import { canParseUrl } from '../../text/can-parse-url.js';
import { clientOf } from './clients.js';

/** Origins of redirect URIs, by the client object. A client object is made again when its record changes. */
const redirectOrigins = new WeakMap<Client, ReadonlySet<string>>();

/**
 * Returns whether scripts of an origin may read responses to the client. The origin has to be registered, or to be the origin of a redirect URI of the
 * client. @see Fetch §3.2
 */
export function isOriginOf(client: Client, origin: string): boolean {
  const record = clientOf(client);
  return record !== undefined && (record.corsOrigins.includes(origin) || originsOf(client).has(origin));
}

function originsOf(client: Client): ReadonlySet<string> {
  const known = redirectOrigins.get(client);
  if (known) return known;
  const origins = new Set((client.redirectUris ?? []).flatMap((uri) => (canParseUrl(uri) ? [new URL(uri).origin] : [])));
  // The origin of a URI with an application's own scheme is `null`. Sandboxed frames of every site send `null` too. @see RFC 6454 §6.1
  origins.delete('null');
  redirectOrigins.set(client, origins);
  return origins;
}
