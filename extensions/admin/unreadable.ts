/** Unreadable records: which callers may know of, remove or repair an unreadable record. */
import {
  type Directory,
  IdpError,
  type MountedOperation,
  type Operation,
  type OperationRequest,
  referenceToken,
} from '../../lib/extension-door.js';
import { errors, recordUnreadable } from './errors.js';

type Request = Pick<OperationRequest, 'administrator' | 'directory' | 'params'>;
type RecordOf = NonNullable<Operation['record']>;
type Unreadable = NonNullable<Awaited<ReturnType<Directory['unreadable']>>>;

/**
 * Returns the unreadable record that the request names. Undefined if the record is readable, if it does not exist, or if the caller may not know of it.
 * Only callers of all tenants know of records whose tenant cannot be read.
 */
export async function unreadableOf(
  { administrator, directory, params }: Request,
  { collection, param, index }: RecordOf,
): Promise<Unreadable | undefined> {
  const { tid, [param]: id = '' } = params;
  if (tid === undefined ? !administrator.ofAllTenants : !administrator.administers(tid)) return undefined;
  const record = await directory.unreadable({ collection, id, ...(index !== undefined && { index }) });
  if (!record || tid === undefined || param === 'tid' || record.tid === tid) return record;
  const hasTenant = typeof record.tid === 'string' && record.path !== '/tid';
  return !hasTenant && administrator.ofAllTenants ? record : undefined;
}

/** Returns the operation's record and the records above it in the path, the nearest first. */
export const recordsOf = ({ path }: Pick<Operation, 'path'>, all: readonly MountedOperation[]): readonly RecordOf[] =>
  [...new Map(all.flatMap((each) => (each.record ? [[each.path, each.record] as const] : [])))]
    .filter(([above]) => path === above || path.startsWith(`${above}/`))
    .sort(([one], [other]) => other.length - one.length)
    .map(([, record]) => record);

/**
 * Returns the error as `record_unreadable` with its place, if a record that the path names exists and cannot be read. The directory throws `not_found` for
 * this record, or `record_unreadable` if the record was readable a moment ago.
 */
export async function explained(error: unknown, request: Request, records: readonly RecordOf[]): Promise<unknown> {
  if (!IdpError.is(error, 'not_found') && !isUnexplained(error)) return error;
  for (const record of records) {
    const unreadable = await unreadableOf(request, record);
    if (unreadable) return recordUnreadable({ path: unreadable.path, expected: 'a value that matches the schema' }, { cause: error });
  }
  return error;
}

/** Returns whether the error is the directory's `record_unreadable`, which names no place. */
export const isUnexplained = (error: unknown): boolean => IdpError.is(error, 'record_unreadable') && error.status === 500;

/**
 * Returns the request over services that find the readable part of the record.
 * @param isJudged whether the contents of the record decide who may do this. A malformed record cannot be judged, so only callers of all tenants may then.
 * @param members JSON Pointers to the values that the request writes. @default all, for a removal
 * @throws IdpError `not_found`, `all_tenants_required`
 */
export async function overDamaged<R extends Request>(
  request: R,
  record: RecordOf,
  isJudged: boolean,
  members?: readonly string[],
): Promise<R & Required<Damaged>> {
  const unreadable = await unreadableOf(request, record);
  if (!unreadable) throw new IdpError('not_found');
  if (isJudged && !request.administrator.ofAllTenants) throw errors('all_tenants_required');
  const { tid } = request.params;
  const directory = request.directory.overDamaged({
    collection: record.collection,
    id: unreadable.id,
    ...(tid !== undefined && { tid }),
    ...(members && { members }),
  });
  return { ...request, directory, malformed: unreadable.malformed };
}

/** A request over the readable part of a record. */
export interface Damaged {
  /** JSON Pointers to the malformed parts. Absent for a readable record. */
  readonly malformed?: readonly string[];
}

/** Returns whether the part at the pointer is malformed in the stored record, so that its former value is unknown. */
export const isMalformed = ({ malformed = [] }: Damaged, pointer: string): boolean =>
  malformed.some((path) => `${path}/`.startsWith(`${pointer}/`) || pointer.startsWith(`${path}/`));

/**
 * Returns JSON Pointers to the values that a merge patch writes. `null` and an object without members write no value and repair nothing. Otherwise a
 * malformed member would be removed unseen, and many members give more when they are absent.
 */
export const pointersOf = (patch: unknown, pointer = ''): readonly string[] => {
  if (patch === null) return [];
  if (typeof patch !== 'object' || Array.isArray(patch)) return [pointer];
  return Object.entries(patch).flatMap(([name, value]) => pointersOf(value, `${pointer}/${referenceToken(name)}`));
};
