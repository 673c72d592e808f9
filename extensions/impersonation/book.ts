/** Impersonations of a tenant, as administrators see and end them. */
import { type Attribution, type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import { eventData, type ImpersonationRow, impersonations } from './records.js';

const PAGE = 50;

export interface Book {
  /** Those of a tenant, the last begun first. @param after the last one of the page before */
  list(
    tid: string,
    page?: { readonly limit?: number; readonly after?: Pick<ImpersonationRow, 'id' | 'startedAt'> },
  ): Promise<readonly ImpersonationRow[]>;
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
    list: (tid, { limit = PAGE, after } = {}) =>
      collection(impersonations, tid).range({
        index: 'byStart',
        within: [],
        descending: true,
        limit,
        ...(after && { after: { value: after.startedAt, id: after.id } }),
      }),
    require,
    end(tid, id, endedBy, by = {}) {
      const endedAt = new Date();
      return collection(impersonations, tid).update(
        id,
        (row) => {
          const { open: _, ...rest } = row;
          return row.endedAt ? row : { ...rest, endedAt, endedBy };
        },
        (row) =>
          row.endedAt
            ? []
            : [{ type: 'ImpersonationEnded', data: { ...eventData(row), EndedAt: endedAt.toISOString(), EndedBy: endedBy }, by }],
      );
    },
  };
}
