/** Thread that copies the log of a file into the file, so that the copying delays no call. */
import { parentPort, workerData } from 'node:worker_threads';
import { connect, type Statement } from './node-sqlite.js';

const EVERY_MS = 1000;

const connection = connect(workerData as string);
connection.exec('pragma wal_autocheckpoint = 0; pragma synchronous = full; pragma checkpoint_fullfsync = on');
// A passive checkpoint waits neither for a reader nor for a writer.
const checkpoint: Statement = connection.prepare('pragma wal_checkpoint(passive)');

setInterval(() => {
  try {
    // `log` is the number of pages in the log.
    parentPort?.postMessage(Number(checkpoint.get()?.log));
  } catch {
    // The calls of the stores detect the same outage.
  }
}, EVERY_MS);
