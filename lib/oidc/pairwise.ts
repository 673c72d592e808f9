import type { Client } from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import { isPairwise } from './internals.js';

/** Turns user ids into what this client may see; undefined for clients that see them as they are. */
export function pseudonymOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client): ((oid: string) => string) | undefined {
  if (!pseudonyms || !isPairwise(client)) return undefined;
  const sector = (client as { sectorIdentifier?: string }).sectorIdentifier ?? client.clientId;
  return (oid) => pseudonyms.encipher(sector, oid);
}
