/**
 * A slow sweep over all records, so that `health()` names damaged records which nobody reads:
 * - unreadable records,
 * - records that refer to a record that does not exist,
 * - records that an index misses.
 *
 * One node at a time reads a bounded number of rows a minute. The position and the rows that were found are in the store, so another node or
 * a restart continues there.
 */
import { type Round, type Rounds, rounds, type WorkProblem } from '../../background/rounds.js';
import type { Lease } from '../../background/tenure.js';
import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Row } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import type { CheckedCollection, CheckedDirectory } from './checked-directory.js';
import type { SweptRow, UpkeepRecord } from './records.js';
import { isRemoved } from './removed-rows.js';
import type { UnreadableRow } from './unreadable-rows.js';

export interface RowSweep {
  /** Reads the rows that the sweep of any node found, so that the directory names the rows that are still unreadable. */
  recall(): Promise<void>;
  /** Returns the readable records with a problem, as {@link recall} found them last; and the sweep itself, while it fails. */
  problems(): readonly (RowProblem | WorkProblem)[];
  start(): void;
  close(): Promise<void>;
}

/** The problem of a readable row. */
export interface ProblemOfRow {
  readonly code: 'reference_missing' | 'record_not_indexed';
  /** A JSON Pointer to the reference, or to the indexed member. */
  readonly path: string;
}

export interface RowProblem extends Omit<UnreadableRow, 'code'>, ProblemOfRow {}

export interface RowSweepParts {
  readonly store: Pick<CheckedDirectory, 'collection' | 'recall'>;
  /** Names of all collections. */
  readonly collections: readonly string[];
  /** Returns the problem of a readable row. @default undefined for every row */
  readonly problemOf?: (collection: string, row: Row) => Promise<ProblemOfRow | undefined>;
  readonly lease: Lease;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly logger: Pick<Logger, 'error'>;
  /** Milliseconds between two rounds. @default 12 000 */
  readonly intervalMs?: number;
  /** Milliseconds between the starts of two passes over all records, at least. @default one hour */
  readonly passMs?: number;
}

const ROW_ID = 'sweep of records';
/** Intervals from the start of a node to its first round. A node that starts has other work to do. */
const FIRST_INTERVALS = 3;
const INTERVAL_MS = 12_000;
const PASS_MS = 3_600_000;
/** Rows that one round reads. */
const ROWS = 200;
/** Reads of a round. Most collections are small. */
const READS = 40;
/** Rows of each kind that are remembered. */
const REMEMBERED = 200;
/** Remembered rows that one round reads again, because an operator may have repaired or removed them. */
const READ_AGAIN = 20;

/** Position at which the next round begins. Undefined after the last row. */
type Position = { readonly collection: string; readonly after?: string } | undefined;

interface Swept {
  readonly position: Position;
  readonly unreadable: readonly UnreadableRow[];
  readonly dangling: readonly RowProblem[];
}

const keyOf = ({ collection, id }: SweptRow): string => `${collection}:${id}`;

export const createRowSweep = (parts: RowSweepParts): RowSweep => new Sweep(parts);

class Sweep implements RowSweep {
  readonly #parts: RowSweepParts;
  readonly #names: readonly string[];
  readonly #upkeep: CheckedCollection<UpkeepRecord>;
  readonly #work: Rounds;
  /** Readable rows that had a problem when this node read them last. */
  readonly #wrong = new Map<string, RowProblem>();

  constructor(parts: RowSweepParts) {
    const { store, collections, lease, logger, intervalMs: every = INTERVAL_MS } = parts;
    this.#parts = parts;
    this.#names = [...collections].sort();
    this.#upkeep = store.collection<UpkeepRecord>('upkeep');
    this.#work = rounds({
      name: ROW_ID,
      every,
      first: every * FIRST_INTERVALS,
      lease,
      run: (round) => this.#round(round),
      logger,
      messages: { round: 'the sweep of records failed, and is retried' },
    });
  }

  async recall(): Promise<void> {
    const { sweep } = (await this.#upkeep.get(ROW_ID).catch(IdpError.unless('store_unavailable'))) ?? {};
    await this.#parts.store.recall((sweep?.unreadable ?? []).filter(({ collection }) => this.#names.includes(collection)));
    const own = [...this.#wrong.values()].slice(0, READ_AGAIN);
    const ofOthers = (sweep?.dangling ?? []).filter((row) => !this.#wrong.has(keyOf(row)));
    for (const row of [...own, ...ofOthers]) await this.#lookAgain(row);
  }

  problems(): readonly (RowProblem | WorkProblem)[] {
    return [...this.#wrong.values(), ...this.#work.problems()];
  }

  start(): void {
    this.#work.start();
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  async #round({ signal }: Round): Promise<undefined> {
    const { now, passMs = PASS_MS } = this.#parts;
    const before = await this.#upkeep.get(ROW_ID);
    const { startedAt = new Date(0), collection, after, unreadable = [], dangling = [] } = before?.sweep ?? {};
    const isUnderWay = collection !== undefined;
    const isDue = isUnderWay || Math.abs(now() - startedAt.getTime()) >= passMs;
    const start = isUnderWay && this.#names.includes(collection) ? present({ collection, after }) : this.#collectionFrom(collection ?? '');
    const read: Swept = isDue ? await this.#readFrom(start, signal) : { position: undefined, unreadable: [], dangling: [] };
    if (!isDue && unreadable.length + dangling.length === 0) return;
    const sweep = {
      startedAt: isUnderWay || !isDue ? startedAt : new Date(now()),
      ...read.position,
      unreadable: await still(unreadable, (row) => this.#isUnreadable(row), read.unreadable),
      dangling: await still(dangling, (row) => this.#lookAgain(row), read.dangling),
    };
    // A node that was paused leaves the row to the node that took over.
    await this.#upkeep.upsert(ROW_ID, (row) => (row && row.version !== before?.version ? row : { id: ROW_ID, done: 0, sweep }));
  }

  /** Reads rows from a position on, as many as a round may read. */
  async #readFrom(start: Position, signal: AbortSignal): Promise<Swept> {
    const { store, logger } = this.#parts;
    const unreadable: UnreadableRow[] = [];
    const dangling: RowProblem[] = [];
    let position = start;
    let rows = ROWS;
    for (let reads = 0; position && rows > 0 && reads < READS && !signal.aborted; reads += 1) {
      const { collection, after } = position;
      const all = store.collection(collection).withUnreadable();
      const page = await all.find({}, present({ limit: rows, after })).catch((err: unknown) => {
        if (isToldAlready(err)) throw err;
        logger.error({ err, collection }, 'the sweep could not read the records of a collection, and retries in its next pass');
        return [];
      });
      for (const row of page) {
        const malformed = all.problemOf(row);
        const problem = malformed || isRemoved(row) ? undefined : await this.#problemIn(collection, row);
        if (malformed) unreadable.push(malformed);
        if (problem) dangling.push(problem);
      }
      const next = page.length < rows ? undefined : positionBehind(page, after);
      position = next === undefined ? this.#collectionFrom(`${collection}\u0000`) : { collection, after: next };
      rows -= page.length;
    }
    return { position, unreadable, dangling };
  }

  #collectionFrom(name: string): Position {
    const collection = this.#names.find((each) => each >= name);
    return collection === undefined ? undefined : { collection };
  }

  /** Reads the row again. */
  async #lookAgain({ collection, id }: SweptRow): Promise<RowProblem | undefined> {
    const row = this.#names.includes(collection) ? await this.#parts.store.collection(collection).get(id) : undefined;
    if (row) return this.#problemIn(collection, row);
    this.#wrong.delete(keyOf({ collection, id }));
    return undefined;
  }

  async #isUnreadable({ collection, id }: SweptRow): Promise<boolean> {
    return this.#names.includes(collection) && (await this.#parts.store.collection(collection).unreadable(id)) !== undefined;
  }

  /** Returns the problem of a readable row, and logs it when it is new. */
  async #problemIn(collection: string, row: Row): Promise<RowProblem | undefined> {
    const wrong = await this.#parts.problemOf?.(collection, row);
    const key = keyOf({ collection, id: row.id });
    const before = this.#wrong.get(key);
    this.#wrong.delete(key);
    if (wrong === undefined) return undefined;
    const { code, path } = wrong;
    const { tid } = row as { readonly tid?: unknown };
    const problem = { code, collection, id: row.id, path, ...(typeof tid === 'string' && tid !== '' && { tid }) };
    if (this.#wrong.size < REMEMBERED) this.#wrong.set(key, problem);
    if (before?.code === code && before.path === path) return problem;
    this.#parts.logger.error(
      { collection, id: row.id, path },
      code === 'reference_missing'
        ? 'a stored record refers to a record that does not exist'
        : 'lists and look-ups may miss a stored record, because a derived member is missing or differs',
    );
    return problem;
  }
}

/** Returns the remembered rows that still have the problem, and the rows that were found. Among the remembered rows, the rows that were read again come last. */
async function still(
  remembered: readonly SweptRow[],
  hasProblem: (row: SweptRow) => Promise<unknown>,
  newRows: readonly SweptRow[],
): Promise<readonly SweptRow[]> {
  const rows = new Map(remembered.slice(READ_AGAIN).map((row) => [keyOf(row), row]));
  for (const row of remembered.slice(0, READ_AGAIN)) if (await hasProblem(row)) rows.set(keyOf(row), row);
  for (const { collection, id } of newRows) if (rows.size < REMEMBERED) rows.set(keyOf({ collection, id }), { collection, id });
  return [...rows.values()];
}
