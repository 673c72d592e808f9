/** Rows that are read along an ordered index. */
import assert from 'node:assert/strict';
import type { Collection, DirectoryStore, Position, Range } from '../../../lib/store/directory-store.js';
import { type Member, member, openMembers } from './member.js';

export const named = (id: string, nameKey: string, tid = 't1') => member(id, { tid, nameKey });

export async function idsOf(rows: Collection<Member>, range: Partial<Range>): Promise<string[]> {
  const read = await rows.range({ index: 'inOrderOfName', within: ['t1'], limit: 1000, ...range });
  return read.map(({ id }) => id);
}

export const positionOf = ({ id, nameKey = '' }: Member): Position => ({ value: nameKey, id });

/** Returns all ids by pages. `between` runs after each page. */
export async function readAlong(
  rows: Collection<Member>,
  range: Partial<Range>,
  limit: number,
  between: (last: Member) => Promise<void> = async () => {},
): Promise<string[]> {
  const read: Member[] = [];
  for (;;) {
    const last = read.at(-1);
    const page = await rows.range({
      index: 'inOrderOfName',
      within: ['t1'],
      ...range,
      limit,
      ...(last && { after: positionOf(last) }),
    });
    assert.ok(page.length <= limit);
    read.push(...page);
    if (page.length < limit) return read.map(({ id }) => id);
    await between(read.at(-1)!);
  }
}

/** Three rows for each name, inserted out of order, and one row of another tenant. */
const names = ['abe', 'ada', 'ben', 'ben b', 'bo', 'cy', 'd'];
export const inOrder = names.flatMap((name) => [1, 2, 3].map((number) => `${name}-${number}`));

export async function openNamed(store: DirectoryStore): Promise<Collection<Member>> {
  const rows = await openMembers(store);
  const shuffled = inOrder.toSorted((one, other) => one.at(-1)!.localeCompare(other.at(-1)!) || (one < other ? 1 : -1));
  for (const id of shuffled) await rows.insert(named(id, id.slice(0, -2)));
  await rows.insert(named('ben-0', 'ben', 't2'));
  await rows.insert(member('nameless'));
  return rows;
}
