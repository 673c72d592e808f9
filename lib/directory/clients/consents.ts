import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Consent, Voucher } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { newRecord } from '../input.js';
import { weaker } from '../vouchers.js';

export interface Consents {
  /**
   * Returns the consent of a user. Undefined also for a consent that does not count, because the sign-ins in which the user gave it do not
   * cover the user's current privileges.
   */
  get(userId: string, clientId: string): Promise<Consent | undefined>;
  /** Returns all consents of the user. */
  find(userId: string): Promise<readonly Consent[]>;
  /**
   * Adds to the earlier consent of the user, if that consent counts.
   * @param claims claims that the client requested one by one
   * @param vouchedBy voucher of the sign-in in which the user gives the consent. @default no limit
   */
  allow(userId: string, clientId: string, scopes: readonly string[], claims?: readonly string[], vouchedBy?: Voucher): Promise<Consent>;
  /** Removes a consent. Returns whether there was one. */
  withdraw(userId: string, clientId: string): Promise<boolean>;
}

/** @param covers whether a voucher covers the privileges that a user has now */
export function createConsents(
  { collections: { consents }, now }: DirectoryContext,
  covers: (vouchedBy: Voucher, userId: string) => Promise<boolean>,
): Consents {
  /** Returns whether a consent counts. Reads the privileges only if a tenant's administrator vouched for a sign-in. */
  const counts = async ({ userId, vouchedBy }: Consent): Promise<boolean> =>
    vouchedBy?.by !== 'tenant' || (await covers(vouchedBy, userId));

  return {
    async get(userId, clientId) {
      const consent = await consents.get(consentId(userId, clientId));
      return consent && (await counts(consent)) ? consent : undefined;
    },
    find: (userId) => consents.find({ byUser: [userId] }),
    withdraw: (userId, clientId) => consents.remove(consentId(userId, clientId)),
    async allow(userId, clientId, scopes, claims = [], vouchedBy = undefined) {
      const id = consentId(userId, clientId);
      const stored = await consents.get(id);
      const refused = stored && !(await counts(stored)) ? stored.vouchedBy : undefined;
      return consents.upsert(id, (row) => {
        const previous = refused && isDeepStrictEqual(row?.vouchedBy, refused) ? undefined : row;
        const all = [...new Set([...(previous?.scopes ?? []), ...scopes])];
        const before = previous?.claims ?? [];
        const allClaims = [...new Set([...before, ...claims])];
        if (previous && all.length === previous.scopes.length && allClaims.length === before.length) return previous;
        const at = new Date(now());
        const { version, createdAt = at } = row ?? {};
        const least = weaker(previous?.vouchedBy, vouchedBy);
        return {
          ...newRecord(now, id, { userId, clientId }),
          ...(version !== undefined && { version }),
          createdAt,
          scopes: all,
          ...(allClaims.length > 0 ? { claims: allClaims } : {}),
          ...(least?.by === 'tenant' ? { vouchedBy: least } : {}),
          at,
        };
      });
    },
  };
}

const consentId = (userId: string, clientId: string): string => hash('sha256', JSON.stringify([userId, clientId]), 'base64url');
