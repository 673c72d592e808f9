import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import type { ArtifactStore, ArtifactWrite, Put } from '../../lib/store/artifact-store.js';
import { type ArtifactDocument, holds, reversibleStatement, statementOf, undoStatements } from './artifact-document.js';
import { isDuplicate } from './database.js';
import { inTime, unlessDeadlock } from './deadline.js';
import type { Decisions } from './decisions.js';

/** Maximum attempts if concurrent writes interfere. */
const ATTEMPTS = 100;

/**
 * Commits the usual writes of a request in one round trip. The usual writes are a single record, or new records together with one record that is spent or
 * swapped for them. Records that are put again unchanged may be among the new records. The spent or swapped record is written last. If its condition does
 * not hold, the inserted records are removed again.
 *
 * Records that a crash leaves behind were never disclosed, and expire. A new record may thus exist a little before its commit. Only code that knows the
 * store key of the record, or lists its account, can see this.
 *
 * All other commits, and commits that fail in this way, are made by decision and are seen as a whole.
 */
export function createCommits(
  records: Collection<ArtifactDocument>,
  decisions: Decisions,
  clock: () => number,
): Pick<ArtifactStore, 'commit'> {
  /** @returns false if nothing was written, because a condition did not hold, an intent was in the way, or a statement was undone by a deadlock. */
  async function attempt(writes: readonly ArtifactWrite[]): Promise<boolean> {
    const last = conditionalOf(writes);
    if (last === undefined) return false;
    const t = commitId();
    const now = new Date(clock());
    const first = writes.filter((write): write is Put => write !== last && write.op === 'put');
    const operations = first.map((put) => (put.if === 'absent' ? statementOf(put, t, now) : reversibleStatement(put, t, now)));
    if (last) operations.push(statementOf(last, t, now));
    try {
      const answer = await inTime((bounds) => unlessDeadlock(records.bulkWrite(operations, { ...bounds, ordered: true })));
      if (answer && answer.matchedCount + answer.upsertedCount === operations.length) return true;
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
    const done = first.map(({ key }) => key);
    if (done.length > 0) await inTime((bounds) => records.bulkWrite(undoStatements(done, t), bounds));
    return false;
  }

  async function read(writes: readonly ArtifactWrite[]): Promise<ReadonlyMap<string, ArtifactDocument>> {
    const keys = writes.map(({ key }) => key as string);
    const documents = await inTime((bounds) => records.find({ _id: { $in: keys } }, bounds).toArray());
    return new Map(documents.map((document) => [document._id, document]));
  }

  return {
    async commit(writes) {
      if (new Set(writes.map(({ key }) => key)).size < writes.length)
        throw new TypeError('A key occurs twice in one commit. Write each key once.');
      if (writes.length === 0 || (await attempt(writes))) return { ok: true };
      const met = new Map<string, number>();
      for (let count = 0; count < ATTEMPTS; count += 1) {
        const documents = await read(writes);
        const pending = [...documents.values()].filter(({ p }) => p !== undefined);
        if (pending.length > 0) {
          await decisions.clear(pending, met);
          continue;
        }
        const now = clock();
        const lost = writes.find((write) => !holds(write, documents.get(write.key), now));
        if (lost) return { ok: false, lost: lost.key };
        if (await (writes.length === 1 ? attempt(writes) : decisions.commit(commitId(), writes, documents))) return { ok: true };
        await sleep(Math.random() * Math.min(count, 10));
      }
      throw new Error(`${ATTEMPTS} attempts of a commit met other writes.`);
    },
  };
}

const commitId = (): string => `commit ${randomBytes(15).toString('base64url')}`;

/**
 * Returns the write to make after all other writes, which can be undone: a single write, or the only write that uses or swaps a record. Null if there is no
 * such write, undefined if there are several.
 */
function conditionalOf(writes: readonly ArtifactWrite[]): ArtifactWrite | null | undefined {
  if (writes.length === 1) return writes[0];
  const [change = null, ...more] = writes.filter((write) => write.op === 'remove' || (write.if !== undefined && write.if !== 'absent'));
  return more.length > 0 || change?.op === 'remove' ? undefined : change;
}
