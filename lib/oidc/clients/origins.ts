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
  let origins = redirectOrigins.get(client);
  if (!origins) {
    origins = new Set((client.redirectUris ?? []).flatMap((uri) => (canParseUrl(uri) ? [new URL(uri).origin] : [])));
    redirectOrigins.set(client, origins);
  }
  return origins;
}
