import { hash } from 'node:crypto';
import type { Consent } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { newRecord } from '../input.js';

export interface Consents {
  get(userId: string, clientId: string): Promise<Consent | undefined>;
  /** All that the user allowed. */
  find(userId: string): Promise<readonly Consent[]>;
  /** Adds to what the user allowed the client before. @param claims those that were asked for one by one. */
  allow(userId: string, clientId: string, scopes: readonly string[], claims?: readonly string[]): Promise<Consent>;
  /** True when there was one. */
  withdraw(userId: string, clientId: string): Promise<boolean>;
}

export function createConsents({ collections: { consents }, now }: DirectoryContext): Consents {
  return {
    get: (userId, clientId) => consents.get(consentId(userId, clientId)),
    find: (userId) => consents.find({ byUser: [userId] }),
    withdraw: (userId, clientId) => consents.remove(consentId(userId, clientId)),
    async allow(userId, clientId, scopes, claims = []) {
      const id = consentId(userId, clientId);
      return consents.upsert(id, (row) => {
        const all = [...new Set([...(row?.scopes ?? []), ...scopes])];
        const before = row?.claims ?? [];
        const allClaims = [...new Set([...before, ...claims])];
        if (row && all.length === row.scopes.length && allClaims.length === before.length) return row;
        const at = new Date(now());
        const record = row ?? newRecord(now, id, { userId, clientId });
        return { ...record, scopes: all, ...(allClaims.length > 0 ? { claims: allClaims } : {}), at, updatedAt: at };
      });
    },
  };
}

const consentId = (userId: string, clientId: string): string => hash('sha256', JSON.stringify([userId, clientId]), 'base64url');
