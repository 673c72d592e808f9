import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { present } from '../../present.js';
import type { Consent, Voucher } from '../../store/records/records.js';
import type { ClientCutoff, DirectoryContext } from '../context.js';
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
  /** Removes a consent, and ends the access of the client by {@link endClient}. Returns whether there was a consent. Without a consent, nothing ends. */
  withdraw(userId: string, clientId: string): Promise<boolean>;
  /**
   * Ends all grants and tokens of a client for the user, in all sessions and without a session, and notifies the client over the back channel. The sessions
   * continue. Removes the consent, if there is one. The promise resolves when the grants have ended on every node.
   */
  endClient(userId: string, clientId: string): Promise<void>;
}

export interface ConsentsParts {
  /** Returns whether a voucher covers the privileges that a user has now. */
  readonly covers: (vouchedBy: Voucher, userId: string) => Promise<boolean>;
  readonly raise: RaiseOfClient;
}

/**
 * Raises an event of a user. Does nothing for a user who does not exist.
 * @param cause as in `AccountEvents.raise`
 */
export type RaiseOfClient = (
  type: 'ConsentWithdrawn' | 'UserSignedOutOfClient',
  { oid, clientId, by }: Pick<ClientCutoff, 'oid' | 'clientId' | 'by'>,
  cause: string,
) => Promise<void>;

type Rows = Pick<DirectoryContext['collections'], 'consents'>;

/** Returns the member {@link ClientCutoff.consent} of a consent. */
async function creationOf({ consents }: Rows, id: string, row: Consent | undefined): Promise<number | null | undefined> {
  if (row) return row.createdAt.getTime();
  return (await consents.has(id)) ? null : undefined;
}

/**
 * Raises the event of a withdrawal or a sign-out, and removes the withdrawn consent, but no newer consent. A second call changes nothing, so that a
 * delivery can complete the cut-off after a crash.
 */
export async function completeCutoff(rows: Rows, raise: RaiseOfClient, cutoff: ClientCutoff): Promise<void> {
  const { oid, clientId, at, consent } = cutoff;
  const id = consentId(oid, clientId);
  if (consent === undefined) return raise('UserSignedOutOfClient', cutoff, JSON.stringify([id, at]));
  for (;;) {
    const row = await rows.consents.get(id);
    if ((await creationOf(rows, id, row)) !== consent) return;
    // The event comes first. If the node dies in between, the consent is still there, and its creation in the cause prevents a second event.
    await raise('ConsentWithdrawn', cutoff, JSON.stringify([id, consent]));
    // The version protects a consent that the user gives in between.
    if (await rows.consents.remove(id, row?.version)) return;
  }
}

export function createConsents(context: DirectoryContext, { covers, raise }: ConsentsParts): Consents {
  const {
    collections: { consents },
    now,
    withCutoff,
    cutoffTime,
  } = context;
  /** Returns whether a consent counts. Reads the privileges only if a tenant's administrator vouched for a sign-in. */
  const counts = async ({ userId, vouchedBy }: Consent): Promise<boolean> =>
    vouchedBy?.by !== 'tenant' || (await covers(vouchedBy, userId));

  async function endClient(userId: string, clientId: string): Promise<void> {
    const id = consentId(userId, clientId);
    const consent = await creationOf(context.collections, id, await consents.get(id));
    const { once: _, ...by } = context.by;
    const at = await cutoffTime({ oid: userId, clientId });
    const cutoff: ClientCutoff = { oid: userId, clientId, at, ...present({ consent }), by };
    await withCutoff(cutoff, () => completeCutoff(context.collections, raise, cutoff));
  }

  return {
    async get(userId, clientId) {
      const consent = await consents.get(consentId(userId, clientId));
      return consent && (await counts(consent)) ? consent : undefined;
    },
    find: (userId) => consents.find({ byUser: [userId] }),
    async withdraw(userId, clientId) {
      if (!(await consents.has(consentId(userId, clientId)))) return false;
      await endClient(userId, clientId);
      return true;
    },
    endClient,
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
