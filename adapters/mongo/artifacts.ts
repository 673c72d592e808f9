import type { Collection, Document } from 'mongodb';
import type { Artifact, ArtifactKey, ArtifactStore, ReadRequest } from '../../lib/store/artifact-store.js';
import { type ArtifactDocument, artifactOf } from './artifact-document.js';
import { createCommits } from './commits.js';
import { type CounterDocument, createCounters } from './counters.js';
import { createDatabase, type MongoOptions } from './database.js';
import { inTime } from './deadline.js';
import { Decisions } from './decisions.js';
import { ensureIndexes, expiryIndex } from './indexes.js';
import { createLeases, type LeaseDocument } from './leases.js';

/** A document, with the documents of its links. */
type Linked = ArtifactDocument & { readonly f?: readonly ArtifactDocument[] };

/**
 * Creates an artifact store in MongoDB, with a document for each record. A document is found by its key alone, so the collection can be
 * sharded by hashed `_id`.
 * @throws ConfigError
 * @example
 * ```ts
 * import { MongoClient } from 'mongodb';
 * import { createIdentityProvider } from 'tenant-idp';
 * import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
 *
 * const client = new MongoClient('mongodb://localhost:27017', mongoOptions);
 * const db = client.db('login');
 * const stores = { artifacts: mongoArtifacts({ db }), directory: mongoDirectory({ db }) };
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', ...stores });
 * await idp.listen(3000);
 * ```
 */
export function mongoArtifacts(options: MongoOptions): ArtifactStore {
  const database = createDatabase(options);
  const records = database.collection<ArtifactDocument>('artifacts');
  const counters = database.collection<CounterDocument>('counters');
  const leases = database.collection<LeaseDocument>('leases');
  /** Returns the time of this node, until the store is opened with the time that all nodes share. */
  let clock = (): number => Date.now();
  const now = (): number => clock();
  const decisions = new Decisions(records, now);

  /** Completes decided commits before it returns. Undecided commits do not count. */
  async function settled(find: () => Promise<readonly ArtifactDocument[]>): Promise<readonly ArtifactDocument[]> {
    for (;;) {
      const documents = await find();
      if (!(await decisions.complete(documents))) return documents;
    }
  }

  return {
    name: 'mongo',
    ephemeral: false,

    async open(given = clock) {
      clock = given;
      const account = (field: string) => ({ key: { [field]: 1 }, partialFilterExpression: { [field]: { $exists: true } } }) as const;
      await database.check();
      await Promise.all([
        ensureIndexes(records, [
          expiryIndex,
          { name: 'account', ...account('a') },
          // Documents of commits that were decided and not completed.
          { name: 'accountAfter', ...account('p.s.a') },
        ]),
        ensureIndexes(counters, [expiryIndex]),
        ensureIndexes(leases, [expiryIndex]),
      ]);
    },

    async read(requests) {
      const artifacts = new Map<ArtifactKey, Artifact>();
      if (requests.length === 0) return artifacts;
      const documents = await settled(() => load(records, requests));
      const instant = now();
      const byKey = new Map(documents.map((document) => [document._id, artifactOf(document, instant)]));
      const find = (key: ArtifactKey): Artifact | undefined => {
        const artifact = byKey.get(key);
        if (artifact) artifacts.set(key, artifact);
        return artifact;
      };
      for (const { key, follow = [] } of requests) {
        const { links = {} } = find(key) ?? {};
        for (const name of follow) if (Object.hasOwn(links, name)) find(links[name]!);
      }
      return artifacts;
    },

    ...createCommits(records, decisions, now),

    async listByAccount(account) {
      const instant = now();
      const filter = { $or: [{ a: account, e: { $gt: new Date(instant) } }, { 'p.s.a': account }] };
      const documents = await settled(() => inTime((bounds) => records.find(filter, bounds).toArray()));
      return documents.flatMap((document) => (document.a === account ? (artifactOf(document, instant) ?? []) : []));
    },

    ...createCounters(counters, now),
    ...createLeases(leases, now),
    time: database.time,
    health: database.ping,
    async close() {},
  };
}

/** Reads the documents of the requests, and the documents of their links. */
async function load(records: Collection<ArtifactDocument>, requests: readonly ReadRequest[]): Promise<ArtifactDocument[]> {
  const filter = { _id: { $in: requests.map(({ key }) => key as string) } };
  const names = [...new Set(requests.flatMap(({ follow = [] }) => follow))];
  if (names.length === 0) return inTime((bounds) => records.find(filter, bounds).toArray());
  const pipeline = [{ $match: filter }, ...following(names, records.collectionName)];
  const documents = await inTime((bounds) => records.aggregate<Linked>(pipeline, bounds).toArray());
  return documents.flatMap(({ f = [], ...document }) => [document, ...f]);
}

/** Returns stages that add the documents of links with these names. The server looks these documents up after it read the document with the links. */
function following(names: readonly string[], from: string): Document[] {
  const [name, key] = [0, 1].map((index) => ({ $arrayElemAt: ['$$link', index] }));
  const named = { $filter: { input: { $ifNull: ['$l', []] }, as: 'link', cond: { $in: [name, { $literal: names }] } } };
  return [
    { $addFields: { f: { $map: { input: named, as: 'link', in: key } } } },
    { $lookup: { from, localField: 'f', foreignField: '_id', as: 'f' } },
  ];
}
