import { type Answer, type CallsOf, type Reads, threadTime, type Writes } from '../calls.js';
import { type Database, LostTransaction } from './database.js';
import { failureOf } from './failures.js';
import { isSqliteError, sqliteCodeOf, sqliteCodes } from './node-sqlite.js';

/** Maximum calls of one transaction, so that no call waits long for earlier calls. */
const MAX_CALLS = 200;
/** Milliseconds after which the service no longer waits for a call. */
const PATIENCE_MS = 1500;

type DataCall = CallsOf<Reads> | CallsOf<Writes>;
type AnyCall = (...args: readonly unknown[]) => unknown;

/**
 * Batches of waiting calls. Reads run first, and are answered immediately. Writes then share one transaction, and are answered when the transaction is on
 * the disk. If a write is refused, only the changes of this write are undone.
 */
export class Batches {
  readonly #database: Database;
  readonly #reads: Reads;
  readonly #writes: Writes;
  readonly #post: (answers: readonly Answer[]) => void;

  constructor(database: Database, reads: Reads, writes: Writes, post: (answers: readonly Answer[]) => void) {
    this.#database = database;
    this.#reads = reads;
    this.#writes = writes;
    this.#post = post;
  }

  run(calls: readonly DataCall[]): void {
    for (let start = 0; start < calls.length; start += MAX_CALLS) this.#runSome(calls.slice(start, start + MAX_CALLS));
  }

  #runSome(calls: readonly DataCall[]): void {
    const now = threadTime();
    const awaited = calls.filter(({ at }) => now - at < PATIENCE_MS);
    const late = calls.filter(({ at }) => now - at >= PATIENCE_MS);
    if (late.length > 0) this.#post(late.map(({ id }) => ({ id, failure: { message: 'The call waited too long and was not made.' } })));
    const reads = awaited.filter(({ name }) => Object.hasOwn(this.#reads, name));
    const writes = awaited.filter(({ name }) => !Object.hasOwn(this.#reads, name));
    if (reads.length > 0) this.#post(reads.map((call) => this.#answer(call, this.#reads)));
    if (writes.length > 0) this.#post(this.#answersOf(writes));
  }

  #answersOf(writes: readonly DataCall[]): readonly Answer[] {
    try {
      return this.#database.inTransaction(() => writes.map((call) => this.#answerAlone(call)));
    } catch (thrown) {
      const error = thrown instanceof LostTransaction ? thrown.cause : thrown;
      const failure = failureOf(error, this.#database.file);
      // After an error of the disk, only a new connection, which reads the log again, returns what is on the disk.
      if (isSqliteError(error) && sqliteCodeOf(error) === sqliteCodes.inputOutput) throw new Error(failure.message, { cause: error });
      return writes.map(({ id }) => ({ id, failure }));
    }
  }

  /** Runs one write of a transaction in a savepoint. @throws LostTransaction */
  #answerAlone(call: DataCall): Answer {
    try {
      return { id: call.id, value: this.#database.inSavepoint(() => this.#call(call, this.#writes)) };
    } catch (error) {
      if (error instanceof LostTransaction) throw error;
      return { id: call.id, failure: failureOf(error, this.#database.file) };
    }
  }

  #answer(call: DataCall, handlers: Reads | Writes): Answer {
    try {
      return { id: call.id, value: this.#call(call, handlers) };
    } catch (error) {
      return { id: call.id, failure: failureOf(error, this.#database.file) };
    }
  }

  #call({ name, args }: DataCall, handlers: Reads | Writes): unknown {
    return (handlers as unknown as Readonly<Record<string, AnyCall>>)[name]?.(...args);
  }
}
