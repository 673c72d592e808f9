import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { type Client, errors } from 'oidc-provider';
import { createBounded } from '../../store/caches/bounded.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import type { AllPseudonyms, OidcParts, Pseudonyms } from '../context.js';
import { isPairwise } from '../upstream/client.js';

/** Returns the function that makes pseudonyms of user ids for this client; undefined for a client that is not pairwise. */
export function pseudonymOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client): ((oid: string) => string) | undefined {
  if (!pseudonyms || !isPairwise(client)) return undefined;
  const sector = sectorOf(client);
  return (oid) => pseudonyms.encipher(sector, oid);
}

/**
 * Refuses each use of a pairwise client in production while there is no salt. Otherwise the client would get the user ids, which other clients know.
 * @throws UnauthorizedClient
 */
export function requireSalt({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, { metadata }: Pick<ClientRecord, 'metadata'>): void {
  if (metadata.subject_type === 'pairwise' && !pseudonyms)
    throw new errors.UnauthorizedClient('subject_type of the client is pairwise, and the service has no salt. Set the option subjectSalt.');
}

/** Returns the identifier of a user for a client: a pseudonym if the client is pairwise, otherwise the user id. */
export const identifierOf = (parts: Pick<OidcParts, 'pseudonyms'>, client: Client | undefined, oid: string): string =>
  (client && pseudonymOf(parts, client)?.(oid)) ?? oid;

/** Returns the user id for an identifier that a client got; undefined for a pseudonym of another sector. */
export function userIdOf({ pseudonyms }: Pick<OidcParts, 'pseudonyms'>, client: Client, identifier: string): string | undefined {
  return pseudonyms && isPairwise(client) ? pseudonyms.decipher(sectorOf(client), identifier) : identifier;
}

const sectorOf = (client: Client): string => (client as { sectorIdentifier?: string }).sectorIdentifier ?? client.clientId;

/**
 * Returns pseudonyms for all sectors, under keys derived from a salt. A sector of an extension and a sector of clients have different keys, even under the
 * same name.
 */
export const createPseudonyms = (salt: Buffer | string): AllPseudonyms => ({
  ...pseudonymsFor(salt, 'pairwise'),
  ofExtensions: pseudonymsFor(salt, 'extension'),
});

function pseudonymsFor(salt: Buffer | string, purpose: 'pairwise' | 'extension'): Pseudonyms {
  const keys = createBounded<KeyObject>({ max: 1000 });
  const keyOf = (sector: string): KeyObject => {
    const known = keys.get(sector);
    if (known) return known;
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', salt, '', `${purpose} ${sector}`, 32)));
    keys.set(sector, key);
    return key;
  };
  return {
    encipher(sector, id) {
      const cipher = createCipheriv('aes-256-ecb', keyOf(sector), null).setAutoPadding(false);
      return Buffer.concat([cipher.update(Buffer.from(id.replaceAll('-', ''), 'hex')), cipher.final()]).toString('base64url');
    },
    decipher(sector, pseudonym) {
      if (!/^[\w-]{21}[AQgw]$/.test(pseudonym)) return undefined;
      const decipher = createDecipheriv('aes-256-ecb', keyOf(sector), null).setAutoPadding(false);
      const hex = Buffer.concat([decipher.update(Buffer.from(pseudonym, 'base64url')), decipher.final()]).toString('hex');
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
  };
}
