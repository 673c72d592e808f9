/**
 * Start and end of impersonations. The row and its event are written before the sign-in, and the row ends before the sign-in does. Concurrent and repeated
 * ends write one event, because the row records whether the impersonation has ended. The row stays `open` until its sign-in has ended too.
 */
import {
  type Account,
  type Attribution,
  type ExtensionContext,
  epochSeconds,
  IdpError,
  type ImpersonationEnd,
  isUsable,
} from '../../lib/extension-door.js';
import { type End, endEvent, ended, type Impersonation, type ImpersonationRow, impersonations, startEvent, uuidOf } from './records.js';
import type { Rules } from './rules.js';

const PREFIX = 'impersonation:';

/** Returns the name of the row's sign-in. */
export const nameOf = ({ id }: Pick<ImpersonationRow, 'id'>): string => PREFIX + id;
export const idOf = (name: string | undefined): string | undefined => (name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined);

export interface Started {
  /** Id of the interaction. One interaction starts one impersonation, even if its form is posted several times. */
  readonly uid: string;
  readonly operator: Account;
  readonly target: Account;
  readonly reason: string;
  readonly clientId: string;
  readonly seconds: number;
  readonly by: Attribution;
}

export interface Lifecycle {
  /** Writes the row and its event. @returns undefined if the interaction started an impersonation that differs, or that has ended */
  start(started: Started): Promise<ImpersonationRow | undefined>;
  /** Returns an impersonation of the tenant. @throws IdpError `not_found`. */
  require(tid: string, id: string): Promise<ImpersonationRow>;
  /** Returns an impersonation of any tenant. */
  find(id: string): Promise<ImpersonationRow | undefined>;
  /** Returns why the impersonation has ended, or must end now; undefined while it may continue. */
  endOf(row: ImpersonationRow): Promise<ImpersonationEnd | undefined>;
  /**
   * Writes the end alone. The sign-in cannot be used from then on. An impersonation that has ended keeps its end. If its time has expired, the end is
   * `time`.
   * @returns the row after the write
   * @throws IdpError `not_found`.
   */
  close(tid: string, id: string, endedBy: ImpersonationEnd, by?: Attribution): Promise<ImpersonationRow>;
  /** Writes the end as {@link Lifecycle.close} does, ends the sign-in in every session, and notifies the clients. @throws IdpError `not_found`. */
  end(tid: string, id: string, endedBy: ImpersonationEnd, by?: Attribution): Promise<ImpersonationRow>;
}

/** Returns the id of the row of an interaction, so that concurrent posts write one row. */
const idOfStep = (uid: string): string => uuidOf(`impersonation ${uid}`);

const subOf = ({ person: { user } }: Account): string => user.parentUserId ?? user.id;

/**
 * Returns whether sign-ins of the account that began at the time have been ended. A cut-off within one second after the start concerns an earlier sign-in.
 */
const isCutOff =
  (startedAt: Date) =>
  (account: Account): boolean =>
    !isUsable(account, new Date(startedAt.getTime() + 1000));

export function createLifecycle(
  context: Pick<ExtensionContext, 'records' | 'directory' | 'impersonation' | 'service'>,
  rules: Rules,
): Lifecycle {
  const {
    records: { collection, collectionOfAllTenants },
    directory,
    impersonation,
  } = context;

  async function require(tid: string, id: string): Promise<ImpersonationRow> {
    const row = await collection(impersonations, tid).get(id);
    if (!row) throw new IdpError('not_found');
    return row;
  }

  async function close(tid: string, id: string, endedBy: ImpersonationEnd, by: Attribution = {}) {
    const now = new Date(context.service.now());
    const endOf = ({ endsAt }: ImpersonationRow): End => (endsAt <= now ? { at: endsAt, by: 'time' } : { at: now, by: endedBy });
    return collection(impersonations, tid).update(
      id,
      (row) => ended(row, endOf(row)),
      (row) => (row.endedAt ? [] : [endEvent(row, endOf(row), endOf(row).by === endedBy ? by : {})]),
    );
  }

  return {
    async start({ uid, operator, target, reason, clientId, seconds, by }) {
      const oid = operator.person.user.id;
      const now = epochSeconds(context.service.now()) * 1000;
      const row: Impersonation = {
        targetOid: target.person.user.id,
        targetPersonId: target.person.id,
        operator: { oid, sub: subOf(operator), tid: operator.tenant.id },
        operatorPersonId: operator.person.id,
        reason,
        clientId,
        startedAt: new Date(now),
        endsAt: new Date(now + seconds * 1000),
        open: 'yes',
      };
      const rows = collection(impersonations, target.tenant.id);
      const id = idOfStep(uid);
      const inserted = await rows.insert(row, { id, events: [startEvent({ ...row, id }, by)] }).catch(IdpError.unless('conflict'));
      if (inserted) return inserted;
      const existing = await rows.get(id);
      const isSame = existing && existing.targetOid === row.targetOid && existing.operator.oid === oid && existing.endedAt === undefined;
      return isSame ? existing : undefined;
    },

    require,
    find: (id) => collectionOfAllTenants(impersonations).get(id),

    async endOf({ endedBy, startedAt, endsAt, operator, targetOid }) {
      if (endedBy !== undefined) return endedBy;
      if (endsAt.getTime() <= context.service.now()) return 'time';
      const [actor, target] = await Promise.all([operator.oid, targetOid].map(directory.accounts.findByOid));
      // If the account was linked or unlinked since, its `sub` differs from the `sub` in the tokens.
      if (!actor || subOf(actor) !== operator.sub) return 'permission';
      if (!target) return 'target';
      return (await rules.obstacleTo(actor, target)) ?? ([actor, target].some(isCutOff(startedAt)) ? 'sign-out' : undefined);
    },

    close,
    async end(tid, id, endedBy, by) {
      const row = await close(tid, id, endedBy, by);
      if (row.open === undefined) return row;
      await impersonation.endOf(row.targetOid, nameOf(row));
      return collection(impersonations, tid).update(id, ({ open: _, ...rest }) => rest);
    },
  };
}
