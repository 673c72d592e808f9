/** A node in a separate process: commits some writes to MongoDB, and is killed before one of the statements. */
import { MongoClient } from 'mongodb';
import { mongoArtifacts } from 'tenant-idp/adapters/mongo';
import type { ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { oneByOne } from './one-by-one.js';

export interface MongoNodeTask {
  readonly url: string;
  readonly database: string;
  readonly prefix: string;
  readonly writes: readonly ArtifactWrite[];
  /** Number of the statement before which the node is killed, from 1. */
  readonly killedBefore: number;
}

const { url, database, prefix, writes, killedBefore } = JSON.parse(process.argv[2] ?? '') as MongoNodeTask;
let statements = 0;
const db = oneByOne(new MongoClient(url).db(database), () => {
  statements += 1;
  if (statements === killedBefore) process.kill(process.pid, 'SIGKILL');
});
await mongoArtifacts({ db, prefix }).commit(writes);
process.exit();
