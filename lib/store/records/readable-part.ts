/**
 * The readable part of an unreadable row, for the administrator who removes the row or repairs its malformed parts. For all other callers,
 * the row does not exist.
 */
import { IdpError } from '../../errors.js';
import type { Row } from '../directory-store.js';
import type { CheckedCollection } from './checked-directory.js';
import type { Voucher } from './records.js';

/** An unreadable row that a caller removes or repairs. */
export interface DamagedRow {
  readonly collection: string;
  readonly id: string;
  /** The tenant of a row that names no tenant. */
  readonly tid?: string;
  /** JSON Pointers to the values that are written. Only these parts may be malformed. @default all, because the row is removed */
  readonly members?: readonly string[];
}

/**
 * Values that replace a malformed part. The first value that fits is used. Each value gives as few rights as a value of its kind can give.
 */
const blanks: readonly unknown[] = [
  ...[undefined, '', false, 0, [], {}, new Date(0)],
  ...['disabled', 'revoked', 'own', 'reference', 'minimal', 'first', 'tenant', 'dead'],
];
/** Voucher that covers nothing, also in place of a malformed voucher, because an absent voucher counts as the operator's. */
export const NOTHING: Voucher = { by: 'tenant', tids: [], permissionIds: [] };
const ofVoucher = /^.*?\/(?:vouchedBy|\w+VouchedBy)(?=\/|$)/;
/** Maximum malformed parts of one row that are replaced. */
const MOST = 1_000;

/** The readable part of a row, and JSON Pointers to the parts that are blank in it. */
interface ReadablePart<R> {
  readonly part: R;
  readonly malformed: readonly string[];
}

/** Returns the row with blank values for its malformed parts; undefined where a part is malformed that is not written. */
export function readablePartOf<R extends Row>(
  row: R,
  { tid, members }: Pick<DamagedRow, 'tid' | 'members'>,
  wrongPath: (row: R) => string | undefined,
): ReadablePart<R> | undefined {
  let part = row;
  const malformed: string[] = [];
  while (malformed.length < MOST) {
    const path = wrongPath(part);
    if (path === undefined) return { part, malformed };
    if (members && !members.some((member) => isWithin(path, member) || isWithin(member, path))) return undefined;
    const [voucher] = ofVoucher.exec(path) ?? [];
    const values = path === '/tid' && tid !== undefined ? [tid] : voucher === undefined ? blanks : [NOTHING];
    const blanked = values.map((blank) => withPart(part, voucher ?? path, blank)).find((next) => wrongPath(next) !== path);
    if (!blanked) return undefined;
    part = blanked;
    malformed.push(path);
  }
  return undefined;
}

const isWithin = (path: string, pointer: string): boolean => path === pointer || path.startsWith(`${pointer}/`);

/** Returns the value with another part at the pointer. An undefined part is removed. */
function withPart<T>(value: T, pointer: string, part: unknown): T {
  const [name = '', ...rest] = pointer.slice(1).split('/');
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  const inner = (value as Readonly<Record<string, unknown>>)[key];
  const next = rest.length > 0 ? withPart(inner, `/${rest.join('/')}`, part) : part;
  if (Array.isArray(value)) return value.flatMap((each, index) => (String(index) !== key ? [each] : next === undefined ? [] : [next])) as T;
  const { [key]: _, ...others } = value as Readonly<Record<string, unknown>>;
  return (next === undefined ? others : { ...others, [key]: next }) as T;
}

/**
 * Returns the collection with the readable part of the row instead of the row. A write makes the row readable.
 */
export function withDamaged<R extends Row>(rows: CheckedCollection<R>, damaged: DamagedRow): CheckedCollection<R> {
  const all = rows.withUnreadable();
  const shown = (row: R): R | undefined =>
    all.isReadable(row) ? row : row.id === damaged.id ? readablePartOf(row, damaged, all.wrongPath)?.part : undefined;
  return {
    ...rows,
    async get(id) {
      const row = await all.get(id);
      return row && shown(row);
    },
    find: async (where, page) => (await all.find(where, page)).flatMap((row) => shown(row) ?? []),
    retire: (id, events, isMeant) => rows.retire(id, events, isMeant && ((row) => isMeant(shown(row) ?? row))),
    update: (id, change) =>
      all.update(id, (row) => {
        const part = shown(row);
        if (!part) throw new IdpError('record_unreadable', { collection: damaged.collection, id });
        // The part is written even if nothing else changes, because this write repairs the row.
        return change(part);
      }),
  };
}
