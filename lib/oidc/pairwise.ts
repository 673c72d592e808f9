import type { Client } from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import { isPairwise } from './internals.js';

/** Turns user ids into what this client may see; undefined for clients that see them as they are. */
export function pseudonymOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client): ((oid: string) => string) | undefined {
  if (!pseudonyms || !isPairwise(client)) return undefined;
  const sector = sectorOf(client);
  return (oid) => pseudonyms.encipher(sector, oid);
}

/** The user id behind what this client sees; for what it cannot have got from us, an id that nobody has. */
export function trueIdOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client, id: string): string {
  if (!pseudonyms || !isPairwise(client)) return id;
  return /^[\w-]{22}$/.test(id) ? pseudonyms.decipher(sectorOf(client), id) : '';
}

const sectorOf = (client: Client): string => (client as { sectorIdentifier?: string }).sectorIdentifier ?? client.clientId;
