import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { MOST_REFS } from '../../store/records/organisations.js';
import { inputSchema, strings } from '../../text/schemas.js';
import type { Groups } from './groups.js';

export const groupRefs = inputSchema({
  ids: Type.Optional(strings(MOST_REFS)),
  names: Type.Optional(strings(MOST_REFS)),
});
/**
 * Groups by their ids or by their names, but not both.
 * @see service specification 4.12, 3
 * @interface
 */
export type GroupRefs = Static<typeof groupRefs>;

/**
 * Returns the ids of the groups, each once.
 * @throws IdpError `group_refs_mixed`; `group_unknown` with groups that the tenant does not have; `invalid_record` without ids and names.
 */
export async function resolveGroupIds(groups: Groups, { ids, names }: GroupRefs): Promise<readonly string[]> {
  if (ids !== undefined && names !== undefined) throw new IdpError('group_refs_mixed');
  const refs = [...new Set(ids ?? names)];
  if (ids === undefined && names === undefined) {
    throw new IdpError('invalid_record', { path: '/groups', expected: 'ids or names' });
  }
  const rows = await groups.findMany(ids === undefined ? { names: refs } : { ids: refs });
  const unknown = refs.filter((_, index) => rows[index] === undefined);
  if (unknown.length > 0) throw new IdpError('group_unknown', { unknown });
  return rows.flatMap((group) => group?.id ?? []);
}
