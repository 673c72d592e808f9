import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { ArtifactKey, ArtifactWrite } from '../../lib/store/artifact-store.js';
import { type ArtifactDocument, type Intent, stateAfter } from './artifact-document.js';
import { isDuplicate } from './database.js';
import { inTime, unlessDeadlock } from './deadline.js';

interface DecisionDocument {
  readonly _id: string;
  readonly e: Date;
  /** Whether the decision is against the commit. */
  readonly x?: true;
}

/** Milliseconds that a writer waits for an undecided commit. Many round trips fit into this time. */
const UNDECIDED_MS = 250;
const PAUSE_MS = 10;
/** Milliseconds for which a decision stays for running calls, after no record needs the decision. */
const KEPT_MS = 60 * 60_000;

/**
 * Commits that change existing records, without transactions:
 * - Each record gets its next state as an intent.
 * - Then one document, the decision, is inserted. The insertion is the commit.
 * - Then the intents become the records.
 *
 * A reader or writer that meets an intent looks for the decision. If there is a decision, the commit is done, and the reader or writer completes the
 * commit. If there is no decision, the record has its former state. A writer that waited in vain inserts the opposite decision under the same id, so that
 * only one of the two decisions holds.
 */
export class Decisions {
  readonly #records: Collection<ArtifactDocument>;
  readonly #decisions: Collection<DecisionDocument>;
  readonly #clock: () => number;

  constructor(records: Collection<ArtifactDocument>, clock: () => number) {
    this.#records = records;
    this.#decisions = records as unknown as Collection<DecisionDocument>;
    this.#clock = clock;
  }

  /** @returns false if a concurrent write interfered. No record was then written. */
  async commit(t: string, writes: readonly ArtifactWrite[], documents: ReadonlyMap<string, ArtifactDocument>): Promise<boolean> {
    const now = this.#clock();
    const k = writes.map(({ key }) => key).sort();
    const next = new Map(writes.map((item) => [item.key, stateAfter(item, documents.get(item.key), now)]));
    const operations = k.map((key) => intentStatement({ t, k, s: next.get(key)! }, key, documents.get(key)));
    const last = Math.max(...[...next.values()].map(({ e }) => e.getTime()));
    const isDone = (await this.#prepare(operations)) && (await this.#decide({ _id: t, e: new Date(Math.max(last, now) + KEPT_MS) }));
    if (!isDone) await this.#release({ t, k });
    // A decided commit is complete, even if another node has to apply it.
    else await this.#apply({ t, k }).catch(() => {});
    return isDone;
  }

  /** Applies the decided commits whose intents the documents have. @returns whether there were such commits. If so, the documents have to be read again. */
  async complete(documents: readonly ArtifactDocument[]): Promise<boolean> {
    const intents = intentsOf(documents);
    if (intents.length === 0) return false;
    const decisions = await this.#decisionsOf(intents);
    const done = intents.filter(({ t }) => decisions.has(t) && !decisions.get(t)?.x);
    for (const intent of done) await this.#apply(intent);
    return done.length > 0;
  }

  /**
   * Removes intents that are in the way of a writer, one step at a time. `met` records when the writer first met each intent, and is kept between the
   * steps.
   */
  async clear(documents: readonly ArtifactDocument[], met: Map<string, number>): Promise<void> {
    const intents = intentsOf(documents);
    const decisions = await this.#decisionsOf(intents);
    for (const intent of intents) {
      const decision = decisions.get(intent.t);
      const since = met.get(intent.t) ?? Date.now();
      met.set(intent.t, since);
      if (decision) await (decision.x ? this.#release(intent) : this.#apply(intent));
      else if (Date.now() - since > UNDECIDED_MS) await this.#decide({ _id: intent.t, e: this.#keptUntil(), x: true });
      else await sleep(PAUSE_MS);
    }
  }

  /** Sends statements that may be repeated. */
  #write(operations: AnyBulkWriteOperation<ArtifactDocument>[]) {
    return inTime((bounds) => this.#records.bulkWrite(operations, bounds));
  }

  #keptUntil(): Date {
    return new Date(this.#clock() + KEPT_MS);
  }

  /** Writes the intents. @returns false if one of the records has another state now, or after a deadlock */
  async #prepare(operations: AnyBulkWriteOperation<ArtifactDocument>[]): Promise<boolean> {
    try {
      const answer = await inTime((bounds) => unlessDeadlock(this.#records.bulkWrite(operations, bounds)));
      return answer !== undefined && answer.matchedCount + answer.upsertedCount === operations.length;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** @returns false if the opposite decision was inserted before. */
  async #decide(decision: DecisionDocument): Promise<boolean> {
    try {
      await inTime((bounds) => this.#decisions.insertOne(decision, { ...bounds }));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Replaces records by the intents of a commit. */
  #apply({ t, k }: Pick<Intent, 't' | 'k'>) {
    return this.#write([
      {
        updateMany: {
          filter: { _id: { $in: [...k] }, 'p.t': t },
          update: [{ $replaceWith: { $mergeObjects: [{ _id: '$_id', t: '$p.t' }, '$p.s'] } }],
        },
      },
      { updateOne: { filter: { _id: t }, update: { $set: { e: this.#keptUntil() } } } },
    ]);
  }

  /** Removes the intents of a commit. */
  #release({ t, k }: Pick<Intent, 't' | 'k'>) {
    return this.#write([
      { deleteMany: { filter: { _id: { $in: [...k] }, 'p.t': t, n: { $exists: false }, d: { $exists: false } } } },
      { updateMany: { filter: { _id: { $in: [...k] }, 'p.t': t }, update: [{ $set: { e: '$p.o' } }, { $unset: 'p' }] } },
    ]);
  }

  async #decisionsOf(intents: readonly Intent[]): Promise<ReadonlyMap<string, DecisionDocument>> {
    const ids = intents.map(({ t }) => t);
    const decisions = await inTime((bounds) => this.#decisions.find({ _id: { $in: ids } }, bounds).toArray());
    return new Map(decisions.map((decision) => [decision._id, decision]));
  }
}

const intentsOf = (documents: readonly ArtifactDocument[]): Intent[] => [
  ...new Map(documents.flatMap(({ p }) => (p ? [[p.t, p] as const] : []))).values(),
];

/** Returns a statement that writes an intent. The document must be unchanged since it was read, or still absent. */
function intentStatement(p: Intent, key: ArtifactKey, document: ArtifactDocument | undefined): AnyBulkWriteOperation<ArtifactDocument> {
  if (!document) return { updateOne: { filter: { _id: key, t: p.t }, update: { $set: { e: p.s.e, p } }, upsert: true } };
  const { e: o, t } = document;
  const e = o > p.s.e ? o : p.s.e;
  return { updateOne: { filter: { _id: key, t, p: { $exists: false } }, update: { $set: { e, p: { ...p, o } } } } };
}
