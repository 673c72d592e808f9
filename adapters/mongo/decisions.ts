import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { ArtifactKey, ArtifactWrite } from '../../lib/store/artifact-store.js';
import { type ArtifactDocument, type Intent, stateAfter } from './artifact-document.js';
import { isDuplicate } from './database.js';
import { inTime } from './deadline.js';

/**
 * Commits that change existing records, without transactions. Each record gets its next state as an intent. Then one document is inserted, the
 * decision, and that is the commit. Then the intents become the records. A reader or writer that meets an intent looks for the decision. If there
 * is one, the commit is done, and whoever finds the decision completes it. If there is none, the record is as it was. A writer that waited in vain
 * inserts the opposite decision under the same id, so that one of the two holds.
 */
export interface Decisions {
  /** @returns false when another write came between: nothing was done. */
  commit(t: string, writes: readonly ArtifactWrite[], documents: ReadonlyMap<string, ArtifactDocument>): Promise<boolean>;
  /** Completes the decided commits that documents have intents of. @returns whether there were any: then the documents are to be read again. */
  complete(documents: readonly ArtifactDocument[]): Promise<boolean>;
  /** Gets intents out of the way of a writer, a step at a time. `met`: when it first met each, to be kept between the steps. */
  clear(documents: readonly ArtifactDocument[], met: Map<string, number>): Promise<void>;
}

interface DecisionDocument {
  readonly _id: string;
  readonly e: Date;
  /** Decided against. */
  readonly x?: true;
}

/** Milliseconds that a writer waits for an undecided commit: many round trips. */
const UNDECIDED_MS = 250;
const PAUSE_MS = 10;
/** Milliseconds that a decision is kept for calls under way, once nothing else needs it. */
const KEPT_MS = 60 * 60_000;

export function createDecisions(records: Collection<ArtifactDocument>, clock: () => number): Decisions {
  const decisions = records as unknown as Collection<DecisionDocument>;
  const write = (operations: AnyBulkWriteOperation<ArtifactDocument>[]) => inTime((bounds) => records.bulkWrite(operations, bounds));
  const kept = () => new Date(clock() + KEPT_MS);

  const prepare = async (operations: AnyBulkWriteOperation<ArtifactDocument>[]): Promise<boolean> => {
    try {
      const { matchedCount, upsertedCount } = await write(operations);
      return matchedCount + upsertedCount === operations.length;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  };

  /** @returns false when the opposite was decided. */
  const decide = async (decision: DecisionDocument): Promise<boolean> => {
    try {
      await inTime((bounds) => decisions.insertOne(decision, { ...bounds }));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  };

  const apply = ({ t, k }: Pick<Intent, 't' | 'k'>) =>
    write([
      {
        updateMany: {
          filter: { _id: { $in: [...k] }, 'p.t': t },
          update: [{ $replaceWith: { $mergeObjects: [{ _id: '$_id', t: '$p.t' }, '$p.s'] } }],
        },
      },
      { updateOne: { filter: { _id: t }, update: { $set: { e: kept() } } } },
    ]);

  const release = ({ t, k }: Pick<Intent, 't' | 'k'>) =>
    write([
      { deleteMany: { filter: { _id: { $in: [...k] }, 'p.t': t, n: { $exists: false }, d: { $exists: false } } } },
      { updateMany: { filter: { _id: { $in: [...k] }, 'p.t': t }, update: [{ $set: { e: '$p.o' } }, { $unset: 'p' }] } },
    ]);

  const intentsOf = (documents: readonly ArtifactDocument[]): Intent[] => [
    ...new Map(documents.flatMap(({ p }) => (p ? [[p.t, p] as const] : []))).values(),
  ];

  const decided = async (intents: readonly Intent[]): Promise<ReadonlyMap<string, DecisionDocument>> => {
    const ids = intents.map(({ t }) => t);
    const found = await inTime((bounds) => decisions.find({ _id: { $in: ids } }, bounds).toArray());
    return new Map(found.map((decision) => [decision._id, decision]));
  };

  return {
    async commit(t, writes, documents) {
      const now = clock();
      const k = writes.map(({ key }) => key).sort();
      const next = new Map(writes.map((item) => [item.key, stateAfter(item, documents.get(item.key), now)]));
      const operations = k.map((key) => intentStatement({ t, k, s: next.get(key)! }, key, documents.get(key)));
      const last = Math.max(...[...next.values()].map(({ e }) => e.getTime()));
      const isDone = (await prepare(operations)) && (await decide({ _id: t, e: new Date(Math.max(last, now) + KEPT_MS) }));
      if (!isDone) await release({ t, k });
      // The commit is done once it is decided, even if another node has to complete it.
      else await apply({ t, k }).catch(() => {});
      return isDone;
    },

    async complete(documents) {
      const intents = intentsOf(documents);
      if (intents.length === 0) return false;
      const found = await decided(intents);
      const done = intents.filter(({ t }) => found.has(t) && !found.get(t)?.x);
      for (const intent of done) await apply(intent);
      return done.length > 0;
    },

    async clear(documents, met) {
      const intents = intentsOf(documents);
      const found = await decided(intents);
      for (const intent of intents) {
        const decision = found.get(intent.t);
        const since = met.get(intent.t) ?? Date.now();
        met.set(intent.t, since);
        if (decision) await (decision.x ? release : apply)(intent);
        else if (Date.now() - since > UNDECIDED_MS) await decide({ _id: intent.t, e: kept(), x: true });
        else await sleep(PAUSE_MS);
      }
    },
  };
}

/** An intent over exactly the document that was read, or where there was none. */
function intentStatement(p: Intent, key: ArtifactKey, document: ArtifactDocument | undefined): AnyBulkWriteOperation<ArtifactDocument> {
  if (!document) return { updateOne: { filter: { _id: key, t: p.t }, update: { $set: { e: p.s.e, p } }, upsert: true } };
  const { e: o, t } = document;
  const e = o > p.s.e ? o : p.s.e;
  return { updateOne: { filter: { _id: key, t, p: { $exists: false } }, update: { $set: { e, p: { ...p, o } } } } };
}
