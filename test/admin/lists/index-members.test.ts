/**
 * M18: lists and look-ups miss a row whose member of an index is malformed or missing. The sweep finds the row, and `health()` names it.
 * The cases are generated over the indexes of all collections.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import type { AdminClient } from '../../support/administration/admin.js';
import { type ListedRecords, type StoredRow, useListedWorld } from '../../support/administration/listed-world.js';
import type { Json } from '../../support/client/agent.js';
import { useSweep } from '../../support/time/sweep.js';
import { until } from '../../support/time/until.js';

const sweep = useSweep();
const world = useListedWorld();
let admin: AdminClient;
let records: ListedRecords;
beforeAll(async () => {
  admin = await world.root();
  records = await world.fill();
});

/** Collections of background work: no list shows their rows, and a copy of a row would be another job. */
const work = ['accountEvents', 'changes', 'deliveries', 'events', 'removals', 'removedUsers', 'seeds', 'signingKeys', 'upkeep'];
/** Members that are optional in a sound row. */
const optional = ['tenants/uniqueName'];

const at = (row: unknown, path: readonly string[]): unknown => path.reduce((inner, name) => (inner as Json)?.[name], row);
const withMember = (row: Json, [name = '', ...rest]: readonly string[], value: unknown): Json => {
  const { [name]: before, ...others } = row;
  const next = rest.length === 0 ? value : withMember(before, rest, value);
  return next === undefined ? others : { ...others, [name]: next };
};

const pathsOf = ({ indexes }: (typeof world.specs)[number]): readonly string[] => [
  ...new Set(Object.values(indexes).flatMap(({ fields }) => fields)),
];
const uniqueOf = ({ indexes }: (typeof world.specs)[number]): readonly string[] =>
  Object.values(indexes).flatMap(({ fields, unique }) => (unique ? fields.filter((field) => field !== 'tid') : []));

/** Returns a copy with its own unique members. */
function copyOf(row: StoredRow, unique: readonly string[]): Json {
  const id = randomUUID();
  let copy: Json = { ...row, id };
  for (const path of unique.map((field) => field.split('.'))) {
    const value = at(copy, path);
    if (value !== undefined) copy = withMember(copy, path, Array.isArray(value) ? [id] : id);
  }
  return copy;
}

const problems = async () =>
  new Map((await world.idp.health()).problems.map(({ collection, id, code, path }) => [`${collection}:${id}`, `${code} ${path}`]));

test('M18: each member of each index, malformed or missing: health names the row', async () => {
  const damaged = new Map<string, string>();
  for (const spec of world.specs) {
    if (work.includes(spec.name)) continue;
    const rows = world.directory.collection<StoredRow>(spec.name);
    const all = await rows.find({});
    for (const field of pathsOf(spec)) {
      const path = field.split('.');
      const row = all.find((each) => at(each, path) !== undefined);
      for (const [kind, value] of [
        ['missing', undefined],
        ['malformed', 42],
      ] as const) {
        const name = `${spec.name}/${field} ${kind}`;
        if (!row || (kind === 'missing' && optional.includes(`${spec.name}/${field}`))) continue;
        const copy = withMember(copyOf(row, uniqueOf(spec)), path, value) as StoredRow;
        await rows.put(copy);
        damaged.set(`${spec.name}:${copy.id}`, name);
      }
    }
  }
  expect(damaged.size).toBeGreaterThan(100);
  const missed = async () => {
    sweep();
    const named = await problems();
    return [...damaged].filter(([key]) => !named.has(key)).map(([, name]) => name);
  };
  expect(await until(missed, ({ length }) => length === 0)).toEqual([]);
});

test('M18: a user whom lists miss is read alone, is listed after any change of the person, and is not named any more', async () => {
  const persons = world.directory.collection<StoredRow>('persons');
  const { hasUser: _, ...rest } = (await persons.get(records.person)) as StoredRow;
  await persons.put(rest as StoredRow);
  const tenant = `/tenants/${records.tid}`;
  const listed = async () => (await admin(`${tenant}/users?limit=200`)).json.items.some(({ id }: Json) => id === records.user);
  expect([await listed(), (await admin(`${tenant}/users/${records.user}`)).status]).toEqual([false, 200]);
  expect((await admin.patch(`${tenant}/persons/${records.person}`, { givenName: 'Changed' })).status).toBe(200);
  expect([await listed(), (await problems()).has(`persons:${records.person}`)]).toEqual([true, false]);
});
