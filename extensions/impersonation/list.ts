/** Lists of impersonations in pages, in the order of their start. The filter decides which index is read. */
import { type ExtensionContext, IdpError, type LeftOutItem, leftOutIn } from '../../lib/extension-door.js';
import { type ImpersonationRow, impersonations } from './records.js';

const DEFAULT_LIMIT = 50;
/** Milliseconds of the longest impersonation, plus the difference that the clocks of two nodes may have. */
const LONGEST_MS = 3_600_000 + 60_000;

export interface ImpersonationQuery {
  readonly status?: 'active' | 'ended';
  readonly userId?: string;
  readonly operatorId?: string;
  readonly sort?: 'startedAt' | '-startedAt';
  readonly limit?: number;
  readonly after?: string;
}

export interface ListedImpersonations {
  readonly items: readonly ImpersonationRow[];
  readonly next?: string;
  readonly unreadable?: LeftOutItem[];
}

export function createImpersonationList({
  records: { collection },
  service: { now },
  keys: { seal },
}: Pick<ExtensionContext, 'records' | 'service' | 'keys'>) {
  const cursors = seal('impersonation cursor');

  /** Returns the position after which a page begins. @throws IdpError `invalid_cursor` if the cursor is not of this list */
  function positionIn(list: string, cursor: string): { readonly value: Date; readonly id: string } {
    try {
      const { startedAt, id } = JSON.parse(cursors.open(list, cursor)) as { readonly startedAt: string; readonly id: string };
      return { value: new Date(startedAt), id };
    } catch (cause) {
      throw IdpError.is(cause, 'undecipherable') ? new IdpError('invalid_cursor', {}, { cause }) : cause;
    }
  }

  return async (
    tid: string,
    { status, userId, operatorId, sort = '-startedAt', limit = DEFAULT_LIMIT, after }: ImpersonationQuery,
  ): Promise<ListedImpersonations> => {
    const list = JSON.stringify([tid, status, userId, operatorId, sort]);
    const time = now();
    const isActive = ({ endedAt, endsAt }: ImpersonationRow): boolean => endedAt === undefined && endsAt.getTime() > time;
    const fits = (row: ImpersonationRow): boolean =>
      (status === undefined || isActive(row) === (status === 'active')) && (operatorId === undefined || row.operator.oid === operatorId);
    const along =
      userId !== undefined
        ? { index: 'ofUser', within: [userId] }
        : operatorId !== undefined
          ? { index: 'ofOperator', within: [operatorId] }
          : { index: 'byStart', within: [] };
    // Earlier impersonations have expired.
    const stretch = { ...along, descending: sort === '-startedAt', ...(status === 'active' && { from: new Date(time - LONGEST_MS) }) };

    const matching: ImpersonationRow[] = [];
    const reads: (readonly ImpersonationRow[])[] = [];
    for (let position = after === undefined ? undefined : positionIn(list, after); matching.length <= limit; ) {
      const rows = await collection(impersonations, tid).range({ ...stretch, limit: limit + 1, ...(position && { after: position }) });
      reads.push(rows);
      matching.push(...rows.filter(fits));
      const last = rows.at(-1);
      if (!last || rows.length <= limit) break;
      position = { value: last.startedAt, id: last.id };
    }
    const items = matching.slice(0, limit);
    const last = items.at(-1);
    return {
      items,
      ...(last && matching.length > limit && { next: cursors.seal(list, JSON.stringify({ startedAt: last.startedAt, id: last.id })) }),
      ...leftOutIn(...reads),
    };
  };
}
