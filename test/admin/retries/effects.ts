/**
 * Suite of POSTs with an `Idempotency-Key` whose store made a write and then failed. The retry gets the answer of the first request, and
 * the request takes effect once.
 */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Json } from '../../support/client/agent.js';
import { isWrite, operationsOf, type Post, type Sent, useRetriedPosts } from './retried-posts.js';
import type { GivenStores } from './stores-that-fail-once.js';

/** Collections that background work writes too. */
const behind = ['events', 'deliveries', 'changes', 'upkeep', 'events.positions', 'events.dead-letters'];
/** Members that background work writes too, or that hold a time or a count. */
const changing = ['pendingEvents', 'outbox', 'version', 'updatedAt', 'passwordReset'];
/** Events that deliveries raise. */
const ofDeliveries = ['InvitationSent', 'UserPasswordResetRequested'];

type Retried = ReturnType<typeof useRetriedPosts>;
type Counts = Map<string, number>;
const add = (counts: Counts, name: string, by: number): void => void counts.set(name, (counts.get(name) ?? 0) + by);

/** Returns all values of the rows with their paths, and each event once. */
async function snapshotOf(stores: Retried['stores']): Promise<{ readonly leaves: Counts; readonly events: ReadonlyMap<string, string> }> {
  const leaves: Counts = new Map();
  const events = new Map<string, string>();
  const visit = (path: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) add(leaves, `${path}=${JSON.stringify(value)}`, 1);
    else if (!(value instanceof Date))
      for (const [name, member] of Object.entries(value))
        if (!changing.includes(name)) visit(Array.isArray(value) ? `${path}[]` : `${path}.${name}`, member);
  };
  // The log is read last, because an event is in the log before it leaves its row. So no event is missed on its way.
  const all = stores.names().toSorted((one, other) => Number(one === 'events') - Number(other === 'events'));
  for (const name of all) {
    for (const row of await stores.rows.collection(name).find({})) {
      const { pendingEvents = [], eventId, type } = row as Json;
      for (const event of pendingEvents) events.set(event.id, event.type);
      if (name === 'events') events.set(eventId, type);
      if (!behind.includes(name)) visit(`${name}(${row.id})`, row);
    }
  }
  return { leaves, events };
}

type Snapshot = Awaited<ReturnType<typeof snapshotOf>>;

/** Returns how many values were added and removed, by their paths, and which events were raised. */
function effectOf(before: Snapshot, after: Snapshot): Readonly<Record<string, number>> {
  const effect: Counts = new Map();
  for (const leaf of new Set([...before.leaves.keys(), ...after.leaves.keys()])) {
    const more = (after.leaves.get(leaf) ?? 0) - (before.leaves.get(leaf) ?? 0);
    const path = leaf.replace(/\(.*?\)(?=[.=])/, '').replace(/=.*$/s, '');
    // The status of an invitation follows from the document of its person.
    if (more !== 0 && path !== 'invitations.status') add(effect, `${more > 0 ? '+' : '-'} ${path}`, Math.abs(more));
  }
  for (const [id, type] of after.events) if (!before.events.has(id) && !ofDeliveries.includes(type)) add(effect, `event ${type}`, 1);
  return Object.fromEntries([...effect].sort());
}

/** Returns the status of an answer, and its members by their paths with numbers and flags. */
const formOf = ({ answer: { status, json } }: Sent): unknown => {
  const paths = (value: unknown, path: string): readonly string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, member]) => paths(member, Array.isArray(value) ? `${path}[]` : `${path}.${name}`))
      : [`${path}: ${typeof value === 'string' ? 'a text' : String(value)}`];
  return [status, [...new Set(paths(json, ''))].sort()];
};

/** Returns the writes of a clean run that the store reports as failed: with `PROVE` all, otherwise the first and the last of each kind. */
export const chosen = (calls: readonly string[]): readonly (readonly [nth: number, name: string])[] =>
  [...calls.entries()].flatMap(([index, name]) => {
    const isEnd = calls.indexOf(name) === index || calls.lastIndexOf(name) === index;
    if (!isWrite(name) || !(process.env.PROVE || isEnd)) return [];
    return [[calls.slice(0, index + 1).filter((call) => call === name).length, name] as const];
  });

interface Trial {
  readonly name: string;
  /** Call of a store that failed. Absent if no call failed. */
  readonly call?: string;
  readonly post: Post;
}

/** The POSTs and writes that a test tries. */
export interface Part {
  /** Whether the POST is tried. */
  readonly isPart?: (name: string, index: number) => boolean;
  /** Returns the writes of a POST that the store reports as failed. */
  readonly chosenCalls?: typeof chosen;
}

/** Registers the test. @param given stores that work underneath: in memory by default */
export function testEffects(given?: GivenStores, { isPart = () => true, chosenCalls = chosen }: Part = {}): void {
  const { stores, mail, receiver, posts, names, request } = useRetriedPosts(given);

  test('the store makes a write and says that it failed: one effect, and the answer of the first attempt, of every POST', async () => {
    expect((await posts()).filter((operation) => !operationsOf(names()).has(operation))).toEqual([]);
    const wrong: unknown[] = [];
    const trials: Trial[] = [];
    for (const name of names().filter(isPart)) {
      const clean = await request(name);
      const start = await snapshotOf(stores);
      const first = await clean.send();
      expect([name, first.answer.status < 300, first.answer.text]).toEqual([name, true, first.answer.text]);
      const expected = effectOf(start, await snapshotOf(stores));
      trials.push({ name, post: clean.post });
      for (const [nth, call] of chosenCalls(first.calls)) {
        const { post, send } = await request(name);
        const before = await snapshotOf(stores);
        const failed = await send({ call: nth, name: call, way: 'after' });
        const retried = failed.answer.status === 503 ? await send() : failed;
        const after = await snapshotOf(stores);
        const again = await send();
        // A request that succeeds nevertheless had a delivery that failed. Deliveries are made at least once.
        if (failed.answer.status === 503) trials.push({ name, call, post });
        const report = { form: formOf(retried), effect: effectOf(before, after), again: again.answer.text };
        const meant = { form: formOf(first), effect: expected, again: retried.answer.text };
        try {
          expect(report).toEqual(meant);
          const { secret } = retried.answer.json ?? {};
          const isKept = [...after.leaves.keys()].some((leaf) => leaf.includes(`sha256:${hash('sha256', String(secret), 'hex')}`));
          if (secret !== undefined && !name.includes('webhooks')) expect(isKept).toBe(true);
        } catch (error) {
          wrong.push([name, nth, call, failed.answer.status, retried.answer.text.slice(0, 300), (error as Error).message]);
        }
      }
    }
    expect(wrong).toEqual([]);
    // Deliveries of failed attempts are held for two seconds.
    await sleep(4_000);
    const mailsOf = ({ post: { to: address } }: Trial): number => mail.mails.filter(({ to }) => to === address).length;
    const mailed = trials.filter(({ post }) => post.to !== undefined);
    const meant = new Map(mailed.filter(({ call }) => call === undefined).map((trial) => [trial.name, mailsOf(trial)]));
    expect(Math.min(...meant.values())).toBeGreaterThan(0);
    const others = mailed.filter((trial) => mailsOf(trial) !== meant.get(trial.name));
    expect(others.map((trial) => [trial.name, trial.call, mailsOf(trial)])).toEqual([]);
    const letters = await stores.rows.collection('events.dead-letters').find({});
    const replayed = trials.flatMap(({ post: { letter = [] } }) => letter);
    expect(letters.filter(({ id }) => replayed.includes(id))).toEqual([]);
    const hooks = receiver().hooks.map(({ event }) => event.id);
    expect(replayed.filter((letter) => !hooks.includes(letter))).toEqual([]);
  });
}
