/**
 * POSTs with an `Idempotency-Key` whose store does a write of the first attempt after the retry was answered: the late write changes
 * nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Json } from '../../support/client/agent.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { until } from '../../support/time/until.js';
import { isWrite, operationsOf, useRetriedPosts } from './retried-posts.js';

const { service, stores, posts, names, request } = useRetriedPosts();

/** Collections that background work writes too. */
const behind = ['events', 'deliveries', 'changes', 'upkeep', 'events.positions', 'events.dead-letters'];
/** Members that background work writes too, or that hold a time. */
const changing = ['pendingEvents', 'outbox', 'version', 'updatedAt', 'passwordReset', 'readAt', 'refreshAt'];

/** Returns all rows, without the parts that background work changes. */
async function snapshot(): Promise<Readonly<Record<string, Json>>> {
  const rows: Record<string, Json> = {};
  for (const name of stores.names().filter((one) => !behind.includes(one)))
    for (const row of await stores.rows.collection(name).find({}))
      rows[`${name} ${row.id}`] = JSON.parse(JSON.stringify(row, (member, value) => (changing.includes(member) ? undefined : value)));
  return rows;
}

/** Returns the members of rows that differ. */
const changesOf = (before: Readonly<Record<string, Json>>, after: Readonly<Record<string, Json>>): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((row) =>
    [...new Set([...Object.keys(before[row] ?? {}), ...Object.keys(after[row] ?? {})])]
      .filter((member) => JSON.stringify(before[row]?.[member]) !== JSON.stringify(after[row]?.[member]))
      .map((member) => `${row}: ${member}`),
  );

const isWaiting = async (name: string): Promise<boolean> =>
  ((await stores.rows.collection(name).find({})) as unknown as Json[]).some(({ pendingEvents = [] }) => pendingEvents.length > 0);

/** Waits until the log of events has the marks of all writes. */
const marksLogged = () => until(async () => (await Promise.all(stores.names().map(isWaiting))).every((isHere) => !isHere));

/** Returns the first write of the request to each collection. */
const chosen = (calls: readonly string[]): readonly string[] => {
  const isMeant = (call: string): boolean => isWrite(call) && !['artifacts', ...behind].includes(call.replace(/\.[^.]*$/, ''));
  return [...new Set(calls.filter(isMeant))];
};

/** Sends a request whose store holds the write back, and retries the request. `release` makes the store do the write. */
async function retried(operation: string, write: string) {
  const { post, send } = await request(operation);
  const first = await send({ call: 1, name: write, way: 'late' });
  const last = await send();
  return { post, release: first.release, statuses: [first.answer.status, last.answer.status] as const };
}

test('a late write after the mark has left the row: every POST, at each collection that it writes', async () => {
  const tried = names();
  expect((await posts()).filter((operation) => !operationsOf(tried).has(operation))).toEqual([]);
  const late: (() => void)[] = [];
  const wrong: unknown[] = [];
  const attempt = async (operation: string) => {
    const { answer, calls } = await (await request(operation)).send();
    expect([operation, answer.status < 300]).toEqual([operation, true]);
    for (const write of chosen(calls)) {
      const { release, statuses } = await retried(operation, write);
      late.push(release);
      if (statuses[1] >= 300) wrong.push([operation, write, statuses]);
    }
  };
  // All SAML signing keys are in one row, which has only one next key at a time.
  const isOfKeys = (operation: string): boolean => operation.startsWith('POST /saml-signing-keys');
  const left = [...tried.filter((operation) => !isOfKeys(operation)).map((operation) => [operation]), tried.filter(isOfKeys)];
  const worker = async () => {
    for (let operations = left.pop(); operations !== undefined; operations = left.pop())
      for (const operation of operations) await attempt(operation);
  };
  // Most of the time of an attempt is waiting.
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(wrong).toEqual([]);
  await marksLogged();
  const before = await snapshot();
  for (const release of late) release();
  await sleep(1_000);
  expect(changesOf(before, await snapshot())).toEqual([]);
  expect(late.length).toBeGreaterThan(tried.length);
});

test('a user who was disabled by a retry and then enabled stays enabled', async () => {
  const operation = names().find((name) => name.endsWith('/users/{id}/disable')) as string;
  const { post, release, statuses } = await retried(operation, 'persons.update');
  expect(statuses).toEqual([503, 200]);
  await marksLogged();
  const root = await asAdministrator(service.issuer, 'root');
  const { json } = await root('/tenants');
  const tid = json.items.find(({ name }: Json) => name === 'Acme').id;
  const url = `/tenants/${tid}/users/${post.params?.id}`;
  const { status } = (await root.post(`${url}/enable`)).json;
  expect(status).not.toBe('disabled');
  release();
  await sleep(200);
  expect((await root(url)).json.status).toBe(status);
});
