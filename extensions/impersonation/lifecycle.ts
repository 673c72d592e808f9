/**
 * The record of impersonations: how each begins and ends. A row and its event are written before there is a sign-in, and a row ends before its sign-in does.
 * Whoever ends it, and however often, there is one event: the row says whether it has ended. It stays open until its sign-in is gone as well.
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

/** What the sign-in of a row is called. */
export const nameOf = ({ id }: Pick<ImpersonationRow, 'id'>): string => PREFIX + id;
export const idOf = (name: string | undefined): string | undefined => (name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined);

export interface Started {
  /** The step of the sign-in: it begins one alone, however often it is posted. */
  readonly uid: string;
  readonly operator: Account;
  readonly target: Account;
  readonly reason: string;
  readonly clientId: string;
  readonly seconds: number;
  readonly by: Attribution;
}

export interface Lifecycle {
  /** @returns the row; undefined where the step began another one, or one that has ended */
  start(started: Started): Promise<ImpersonationRow | undefined>;
  /** One of a tenant. @throws IdpError `not_found`. */
  require(tid: string, id: string): Promise<ImpersonationRow>;
  /** One of whichever tenant. */
  find(id: string): Promise<ImpersonationRow | undefined>;
  /** What ended it, or does now; undefined while it may go on. */
  endOf(row: ImpersonationRow): Promise<ImpersonationEnd | undefined>;
  /**
   * Writes the end, and no more: the sign-in is of no use from then on. One that has ended stays as it ended, and what its time ended before as well.
   * @returns the row as it is then
   * @throws IdpError `not_found`.
   */
  close(tid: string, id: string, endedBy: ImpersonationEnd, by?: Attribution): Promise<ImpersonationRow>;
  /** {@link Lifecycle.close}, and ends the sign-in wherever it is; the clients are told. @throws IdpError `not_found`. */
  end(tid: string, id: string, endedBy: ImpersonationEnd, by?: Attribution): Promise<ImpersonationRow>;
}

/** One row for a step, whoever is first to write it. */
const idOfStep = (uid: string): string => uuidOf(`impersonation ${uid}`);

const subOf = ({ person: { user } }: Account): string => user.parentUserId ?? user.id;

/** Whether sign-ins of the account from before a time are over. A cut-off within the second of the start is of the sign-in before. */
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
      // Who was linked, or unlinked, has another `sub` than the tokens say.
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
