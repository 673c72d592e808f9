import type { Client } from 'oidc-provider';
import type { OidcParts } from '../context.js';
import { isPairwise } from '../upstream/client.js';

/** Turns user ids into what this client may see; undefined for clients that see them as they are. */
export function pseudonymOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client): ((oid: string) => string) | undefined {
  if (!pseudonyms || !isPairwise(client)) return undefined;
  const sector = sectorOf(client);
  return (oid) => pseudonyms.encipher(sector, oid);
}

/** The user id behind what a client sees of it; undefined when it is no pseudonym of the client's sector. */
export function userIdOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client, identifier: string): string | undefined {
  return pseudonyms && isPairwise(client) ? pseudonyms.decipher(sectorOf(client), identifier) : identifier;
}

const sectorOf = (client: Client): string => (client as { sectorIdentifier?: string }).sectorIdentifier ?? client.clientId;
