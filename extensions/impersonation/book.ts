/** Impersonations of a tenant: what was begun is found, and ended once. */
import { type Attribution, type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import { eventData, type ImpersonationRow, impersonations } from './records.js';

export interface Book {
  /** @throws IdpError `not_found`. */
  require(tid: string, id: string): Promise<ImpersonationRow>;
  /**
   * Ends one: its tokens and session are of no use from then on. One that has ended stays as it ended.
   * @returns the row as it is then
   * @throws IdpError `not_found`.
   */
  end(tid: string, id: string, endedBy: NonNullable<ImpersonationRow['endedBy']>, by?: Attribution): Promise<ImpersonationRow>;
}

export function createBook({ collection }: Pick<ExtensionContext, 'collection'>): Book {
  const require = async (tid: string, id: string): Promise<ImpersonationRow> => {
    const row = await collection(impersonations, tid).get(id);
    if (!row) throw new IdpError('not_found');
    return row;
  };
  return {
    require,
    end(tid, id, endedBy, by = {}) {
      const now = new Date();
      /** What its time ended before stays ended by it. */
      const endOf = ({ endsAt }: ImpersonationRow) =>
        endsAt <= now ? ({ endedAt: endsAt, endedBy: 'time' } as const) : { endedAt: now, endedBy };
      return collection(impersonations, tid).update(
        id,
        (row) => {
          const { open: _, ...rest } = row;
          return row.endedAt ? row : { ...rest, ...endOf(row) };
        },
        (row) => {
          if (row.endedAt) return [];
          const { endedAt, endedBy: EndedBy } = endOf(row);
          return [
            {
              type: 'ImpersonationEnded',
              data: { ...eventData(row), EndedAt: endedAt.toISOString(), EndedBy },
              ...(EndedBy === endedBy && { by }),
            },
          ];
        },
      );
    },
  };
}
