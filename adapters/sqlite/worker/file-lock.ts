import { setTimeout as sleep } from 'node:timers/promises';
import { IdpError } from '../../../lib/errors.js';
import { createFile, Place } from './database.js';
import { connect, isSqliteError, sqliteCodeOf, sqliteCodes } from './node-sqlite.js';

/** Milliseconds that a start waits for another process to end. */
const WAIT_MS = 10_000;
const PAUSE_MS = 100;

export interface FileLock {
  readonly place: Place;
  close(): void;
}

/**
 * Locks the file for this process. The lock is a transaction on a second file, and lasts as long as the worker. When the process ends for any reason, the
 * operating system releases the lock.
 * @param isStopped returns true to end the wait
 * @throws IdpError `store_unfit` while another process has the lock
 */
export async function lockFile(file: string, isStopped: () => boolean): Promise<FileLock> {
  const path = `${file}-lock`;
  createFile(path);
  const place = new Place(path);
  const lock = connect(path);
  for (const end = performance.now() + WAIT_MS; ; ) {
    try {
      // The lock file stays empty, so its transaction needs no journal on the disk.
      lock.exec('pragma journal_mode = memory; begin exclusive');
      return { place, close: () => lock.close() };
    } catch (error) {
      if (!isSqliteError(error) || sqliteCodeOf(error) !== sqliteCodes.busy) throw error;
    }
    if (isStopped()) throw new Error('The store was closed while it waited for the file.');
    if (performance.now() >= end) throw inUse(file);
    await sleep(PAUSE_MS);
  }
}

const inUse = (file: string): IdpError =>
  new IdpError('store_unfit', {
    store: 'sqlite',
    file,
    found: 'another process uses the file',
    expected: 'one process for each file',
    change: 'stop the other process, or use a store that serves several processes',
  });
