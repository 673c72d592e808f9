import { IdpError } from '../../errors.js';
import type { Position } from '../../store/directory-store.js';
import type { Sealer } from '../../store/sealer.js';

/** Positions in lists, as callers carry them: encrypted, because they hold names, and bound to the list that they are of. */
export interface Cursors {
  /** @param list tells the list from all others: its collection, tenant, order and filters. */
  write(list: string, position: Position): string;
  /** @throws IdpError `invalid_cursor` for what is no cursor of this list. */
  read(list: string, cursor: string): Position;
}

const PURPOSE = 'list cursor';

export const createCursors = (sealer: Pick<Sealer, 'encrypt' | 'decrypt'>): Cursors => ({
  write(list, { value, id }) {
    const position = value instanceof Date ? { instant: value.getTime(), id } : { value, id };
    return sealer.encrypt(PURPOSE, list, JSON.stringify(position));
  },
  read(list, cursor) {
    try {
      const { instant, value, id } = JSON.parse(sealer.decrypt(PURPOSE, list, cursor)) as {
        readonly instant?: number;
        readonly value: string;
        readonly id: string;
      };
      return { value: instant === undefined ? value : new Date(instant), id };
    } catch (cause) {
      throw IdpError.is(cause, 'undecipherable') ? new IdpError('invalid_cursor', {}, { cause }) : cause;
    }
  },
});
