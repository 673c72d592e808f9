/**
 * M17, M18: an invalid row makes no list and no read fail with 500, and no list omits items silently. The cases are generated over the list
 * operations of the document. Rows have invalid values in each member, and references to missing records.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { type AdminAnswer, type AdminClient, documented } from '../../support/administration/admin.js';
import { meant } from '../../support/administration/admin-matrix.js';
import { badValues, idsOf, type Path, partAt, partsOf, withPart } from '../../support/administration/damaged-rows.js';
import { type ListedRecords, type StoredRow, useListedWorld } from '../../support/administration/listed-world.js';
import type { Json } from '../../support/client/agent.js';

const world = useListedWorld();
let admin: AdminClient;
let records: ListedRecords;
let reads: readonly Read[] = [];
let stored: readonly Stored[] = [];
beforeAll(async () => {
  admin = await world.root();
  records = await world.fill();
  reads = await readsOf();
  stored = await storedRows();
});

/** A GET operation with all its parameters. */
interface Read {
  readonly path: string;
  readonly url: string;
  readonly isList: boolean;
  readonly before: AdminAnswer;
}
interface Stored {
  readonly collection: string;
  readonly row: StoredRow;
}

/** Lists whose items are no rows, or have no id: keys, sessions, sign-ins, consents, and means. */
const withoutRows = [
  '/keys',
  '/saml-signing-keys',
  ...['sessions', 'sign-ins', 'consents', 'means'].map((name) => `/tenants/{tid}/users/{id}/${name}`),
];
/** Members by which an index finds the row of a list, or that name its owner. `health()` names a row without them. */
const ofIndex = new Set(['tid', 'createdAt', 'startedAt', 'hasUser', 'webhookId']);

const idFor = (path: string, name: string): string | undefined =>
  path.startsWith('/tenants/') ? meant(path, name, records) : records.ofInstance[path.split('/')[1] as string];

async function readsOf(): Promise<readonly Read[]> {
  const { operations, document } = await documented(world.issuer);
  const found: Read[] = [];
  for (const { method, path, operation } of operations) {
    if (method !== 'GET') continue;
    const url = path.replace(/\{(\w+)\}/g, (_, name) => idFor(path, name) ?? 'none');
    const schema = (Object.values(operation.responses[200].content) as Json[])[0]?.schema;
    const resolved = schema?.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema;
    const isList = resolved?.properties?.items?.type === 'array';
    const hasLimit = operation.parameters.some(({ name }: Json) => name === 'limit');
    const whole = isList && hasLimit ? `${url}?limit=200` : url;
    found.push({ path, url: whole, isList, before: await admin(whole) });
  }
  return found;
}

async function storedRows(): Promise<readonly Stored[]> {
  const found: Stored[] = [];
  for (const collection of new Set(world.collections))
    for (const row of await world.directory.collection<StoredRow>(collection).find({})) found.push({ collection, row });
  return found;
}

const itemsOf = ({ json }: AdminAnswer): readonly Json[] => json.items ?? [];
const namesOf = ({ id, personId, sequence }: Json): readonly unknown[] => [id, personId, sequence];
const isOf = (item: Json, of: Stored): boolean => [item.id, item.sequence].some((name) => idsOf(of.row).includes(name));

/** Calls `look` while the row has another value at the path. Returns undefined if the store refuses the row. */
async function damaged<Seen>(
  { collection, row }: Stored,
  path: Path,
  value: unknown,
  look: () => Promise<Seen>,
): Promise<Seen | undefined> {
  const rows = world.directory.collection<StoredRow>(collection);
  try {
    await rows.put(withPart(row, path, value));
  } catch {
    return undefined;
  }
  return look().finally(() => rows.put(row));
}

/** Returns the fault of a list while one of its rows is damaged. */
async function faultNow({ url, before }: Read, of: Stored, path: Path): Promise<string | undefined> {
  const { status, json } = await admin(url);
  if (status !== 200) return `${status}`;
  const items = json.items as readonly Json[];
  const shown = items.map((item) => JSON.stringify(namesOf(item)));
  const others = itemsOf(before).filter((item) => !isOf(item, of));
  if (others.some((item) => !shown.includes(JSON.stringify(namesOf(item))))) return 'other items are missing';
  const named = ((json.unreadable ?? []) as readonly Json[]).map((one) => one.id ?? one);
  if (items.some((item) => isOf(item, of)) || idsOf(of.row).some((id) => named.includes(id))) return undefined;
  // A user with another id is another item.
  return ofIndex.has(path[0] ?? '') || path.join() === 'user,id' ? undefined : 'the row is neither an item nor named';
}

/** Returns the fault of {@link faultNow} if it stays, because a cache may have the former row for a second. */
async function faultOf(read: Read, of: Stored, path: Path): Promise<string | undefined> {
  for (let looks = 1; ; looks += 1) {
    const fault = await faultNow(read, of, path);
    if (fault === undefined || looks === 6) return fault;
    await sleep(500);
  }
}

test('every list operation of the document has items, so that a new one is covered', () => {
  const lists = reads.filter(({ isList }) => isList);
  expect(lists.length).toBeGreaterThan(20);
  const empty = lists.filter(({ path, before }) => itemsOf(before).length === 0 && !withoutRows.includes(path));
  expect(empty.map(({ path }) => path)).toEqual([]);
});

test('M17: each member of a row of each list with each bad value: the other items stay, and the row is an item or named', async () => {
  const faults: string[] = [];
  const tried = new Map<string, number>();
  for (const read of reads.filter(({ isList, path }) => isList && !withoutRows.includes(path))) {
    // The list of clients also has the caller of the test.
    const last = itemsOf(read.before).findLast(({ id }) => id !== 'root');
    const of = stored.find((one) => isOf(last, one));
    if (!of) throw new Error(`${read.path} has no stored row`);
    tried.set(read.path, 0);
    for (const path of partsOf(of.row))
      for (const value of badValues) {
        const fault = await damaged(of, path, value, async () => (await faultOf(read, of, path)) ?? '');
        if (fault !== undefined) tried.set(read.path, (tried.get(read.path) ?? 0) + 1);
        if (fault) faults.push(`${read.path} ${of.collection} /${path.join('/')} ${String(value).slice(0, 9)}: ${fault}`);
      }
  }
  expect(faults).toEqual([]);
  expect([...tried].filter(([, times]) => times < 5)).toEqual([]);
});

test('a reference that leads nowhere: no read is 500, and the row is an item of its lists, or named by them', async () => {
  const faults: string[] = [];
  const ids = new Set(stored.flatMap(({ row }) => idsOf(row)));
  const shown = reads.map(({ before }) => before.text).join();
  const rows = new Map(stored.filter((one) => idsOf(one.row).some((id) => shown.includes(id))).map((one) => [one.collection, one]));
  const alice = stored.find(({ row }) => row.id === records.person) as Stored;
  let tried = 0;
  for (const of of [...rows.values(), alice])
    for (const path of partsOf(of.row)) {
      const value = partAt(of.row, path);
      if (typeof value !== 'string' || !ids.has(value) || path.join('/') === 'user/id') continue;
      tried += 1;
      await damaged(of, path, randomUUID(), async () => {
        for (const read of reads) {
          const isListed = read.isList && itemsOf(read.before).some((item) => isOf(item, of));
          const fault = isListed ? await faultOf(read, of, path) : undefined;
          const { status } = isListed ? { status: 200 } : await admin(read.url);
          if (fault !== undefined || status >= 500) faults.push(`${read.path} ${of.collection} /${path.join('/')}: ${fault ?? status}`);
        }
      });
    }
  expect(faults).toEqual([]);
  expect(tried).toBeGreaterThan(15);
});

test('all rows of a collection are gone: no read is 500', async () => {
  const faults: string[] = [];
  for (const collection of new Set(stored.map((one) => one.collection))) {
    const rows = world.directory.collection<StoredRow>(collection);
    const gone = stored.filter((one) => one.collection === collection && one.row.id !== 'root');
    for (const { row } of gone) await rows.remove(row.id);
    for (const { path, url } of reads) {
      const { status } = await admin(url);
      if (status >= 500) faults.push(`${path} without ${collection}: ${status}`);
    }
    for (const { row } of gone) await rows.put(row);
  }
  expect(faults).toEqual([]);
});
