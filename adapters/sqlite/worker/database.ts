/**
 * Worker thread of a file: the connection to the file, the tables, and the calls of the stores.
 *
 * `worker` is the entry of the thread. `database` opens the file, and `file-lock` prevents other processes from using the file.
 * `batches` runs the waiting writes in one transaction. `checkpointer` is a second thread, which copies the log into the file.
 * `artifact-table`, `counters`, `registry` and `row-table` have the tables.
 */
import { closeSync, openSync, statSync } from 'node:fs';
import { IdpError } from '../../../lib/errors.js';
import { type Connection, connect, hasSafeCheckpoints, type Statement } from './node-sqlite.js';

/** Milliseconds that a statement waits for another program that writes the file. */
const BUSY_MS = 500;
/** Maximum bytes of the log after all pages of the log were copied into the file. */
const LOG_LIMIT = 64 * 1024 * 1024;

/** Settings that are read back, because a file system may refuse them. @see https://sqlite.org/pragma.html */
const settings = [
  ['journal_mode', 'wal', 'keep the file on a disk of this machine'],
  // 2 is FULL: each commit is on the disk before its answer.
  ['synchronous', 2, 'keep the file on a disk of this machine'],
  ['encoding', 'UTF-8', 'name a new file'],
] as const;

/**
 * Creates a missing file that only its owner may read. An existing file is not opened here, because closing the file would release the locks of this
 * process.
 */
export function createFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Refuses an empty file before SQLite opens the file, because SQLite removes the log of an empty file. The log may have acknowledged writes of a file that
 * was moved.
 */
function checkLog(file: string, isReopened: boolean): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (statSync(file).size > 0 || (log === 0 && !isReopened)) return;
  throw new IdpError('store_unfit', {
    store: 'sqlite',
    file,
    found: 'an empty file, in the place of a file that was used before',
    expected: 'the file that belongs to the log',
    change: `put the file back, or remove ${file}-wal`,
  });
}

/** Path, with the file that the path named when this object was created. */
export class Place {
  readonly #path: string;
  readonly #inode: number;

  /**
   * @throws IdpError `store_unfit` if the file has a second name, because a process would use another log and another lock under that name; Error if there
   * is no file
   */
  constructor(path: string) {
    const stats = statSync(path);
    this.#path = path;
    this.#inode = stats.ino;
    if (stats.isFile() && stats.nlink > 1) {
      throw new IdpError('store_unfit', {
        store: 'sqlite',
        file: path,
        found: `${stats.nlink} hard links`,
        expected: 'a file with one name',
        change: 'stop the service, copy the file to a new name, and name the copy',
      });
    }
  }

  /**
   * Checks that the path still names the same file. Otherwise writes to the first file could be lost, and the lock would not stop another process.
   * @throws Error if the path names another file
   */
  check(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#inode) return;
    throw new Error(`The file ${this.#path} was moved or removed while the service runs. Put the file back, or restart the service.`);
  }
}

/** Error that has ended the transaction of several calls. The cause is the error of SQLite. */
export class LostTransaction extends Error {
  constructor(cause: unknown) {
    super('The transaction was undone.', { cause });
  }
}

/** Connection to the file. */
export class Database {
  readonly file: string;
  readonly #connection: Connection;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #savepoint: Statement;
  readonly #release: Statement;
  readonly #read: Statement;
  readonly place: Place;

  /**
   * @param isReopened whether the file must have the tables of the stores
   * @throws IdpError `store_unfit` for a setting that SQLite does not apply; Error if the file cannot be opened.
   */
  constructor(file: string, isReopened: boolean) {
    this.file = file;
    this.place = new Place(file);
    checkLog(file, isReopened);
    this.#connection = connect(file);
    if (isReopened) this.#checkTables();
    this.#connection.exec(`pragma busy_timeout = ${BUSY_MS}`);
    this.#connection.exec('pragma journal_mode = wal');
    this.#connection.exec('pragma synchronous = full');
    // On macOS, an ordinary fsync does not reach the disk.
    this.#connection.exec('pragma fullfsync = on; pragma checkpoint_fullfsync = on');
    this.#connection.exec(`pragma wal_autocheckpoint = 0; pragma journal_size_limit = ${LOG_LIMIT}; pragma trusted_schema = off`);
    for (const [setting, expected, change] of settings) this.#check(setting, expected, change);
    this.#begin = this.prepare('begin immediate');
    this.#commit = this.prepare('commit');
    this.#savepoint = this.prepare('savepoint one_call');
    this.#release = this.prepare('release one_call');
    this.#read = this.prepare('select count(*) from sqlite_schema');
  }

  prepare(sql: string): Statement {
    return this.#connection.prepare(sql);
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs a function in a transaction. The transaction is on the disk when this method returns. If the function or the commit fails, nothing is written. */
  inTransaction<T>(work: () => T): T {
    this.#begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      this.#undo('rollback');
      throw error;
    }
  }

  /**
   * Runs a function in a savepoint of a transaction. If the function throws, only its own writes are undone.
   * @throws LostTransaction if SQLite has undone the whole transaction. No later savepoint may run, because its writes would be committed alone.
   */
  inSavepoint<T>(work: () => T): T {
    this.#savepoint.run();
    try {
      const result = work();
      this.#release.run();
      return result;
    } catch (error) {
      if (!this.#undo('rollback to one_call; release one_call')) throw new LostTransaction(error);
      throw error;
    }
  }

  /** Returns whether another connection may copy the log into the file while this connection writes. */
  maySplitCheckpoints(): boolean {
    return hasSafeCheckpoints(String(this.prepare('select sqlite_version() as version').get()?.version));
  }

  /** Copies the pages of the log that no reader needs into the file, so that SQLite can write the log from its start again. Never waits for a reader. */
  checkpoint(): void {
    this.#connection.exec('pragma wal_checkpoint(passive)');
  }

  /** Checks that the file can be read. @throws Error if the file cannot be read */
  checkReadable(): void {
    this.#read.get();
  }

  close(): void {
    this.#connection.close();
  }

  /** Undoes a transaction or a savepoint. @returns false if SQLite has undone the transaction itself, as after some errors of the disk. */
  #undo(sql: string): boolean {
    try {
      this.#connection.exec(sql);
      return true;
    } catch {
      return false;
    }
  }

  /** Refuses a file without tables in the place of the service's file, because every user would be missing. */
  #checkTables(): void {
    if (this.prepare("select 1 from sqlite_schema where name = 'idp_rows'").get() !== undefined) return;
    this.#connection.close();
    throw new Error('another file is in the place of the file');
  }

  #check(setting: string, expected: string | number, change: string): void {
    const found = Object.values(this.prepare(`pragma ${setting}`).get() ?? {})[0];
    if (found === expected) return;
    this.#connection.close();
    throw new IdpError('store_unfit', { store: 'sqlite', file: this.file, setting, found, expected, change });
  }
}
