/**
 * A slow sweep over all records: it finds unreadable ones that nobody reads, records that refer to a record that does not exist, and records that an index
 * misses, so that `health()` names them. One node at a time reads a bounded number of rows a
 * minute. The position and the rows that were found are in the store, so another node or a restart continues there.
 */
import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Row } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import type { CheckedDirectory, UnreadableRow } from './checked-directory.js';
import type { SweptRow, UpkeepRecord } from './records.js';
import { isRemoved } from './removed-rows.js';

export interface RowSweep {
  /** Looks at the rows that the sweep of any node found, so that the directory names those that are still unreadable. */
  recall(): Promise<void>;
  /** Readable records with a problem, as {@link recall} found them last. */
  problems(): readonly RowProblem[];
  start(): void;
  close(): Promise<void>;
}

/** What is wrong with a readable row. */
export interface ProblemOfRow {
  readonly code: 'reference_missing' | 'record_not_indexed';
  /** A JSON Pointer to the reference, or to the member that the index is over. */
  readonly path: string;
}

export interface RowProblem extends Omit<UnreadableRow, 'code'>, ProblemOfRow {}

export interface RowSweepParts {
  readonly store: Pick<CheckedDirectory, 'collection' | 'recall'>;
  /** Names of all collections. */
  readonly collections: readonly string[];
  /** Returns what is wrong with a readable row. @default nothing */
  readonly problemOf?: (collection: string, row: Row) => Promise<ProblemOfRow | undefined>;
  /** Takes or renews the right to sweep; false while another node has it. */
  readonly lease: (milliseconds: number) => Promise<boolean>;
  /** The time that all nodes share, in milliseconds since the epoch. */
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
/** Reads of a round: most collections are small. */
const READS = 40;
/** Rows of each kind that are remembered. */
const REMEMBERED = 200;
/** Remembered rows that one round reads again, because somebody may have repaired or removed them. */
const READ_AGAIN = 20;

/** Where the next round begins. Undefined after the last row. */
type Position = { readonly collection: string; readonly after?: string } | undefined;

interface Swept {
  readonly position: Position;
  readonly found: readonly UnreadableRow[];
  readonly dangling: readonly RowProblem[];
}

const keyOf = ({ collection, id }: SweptRow): string => `${collection}:${id}`;

export function createRowSweep({ store, lease, now, logger, ...parts }: RowSweepParts): RowSweep {
  const { intervalMs = INTERVAL_MS, passMs = PASS_MS, problemOf = async () => undefined } = parts;
  const names = [...parts.collections].sort();
  const upkeep = store.collection<UpkeepRecord>('upkeep');
  /** Readable rows that had a problem when this node read them last. */
  const known = new Map<string, RowProblem>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;

  const collectionFrom = (name: string): Position => {
    const collection = names.find((each) => each >= name);
    return collection === undefined ? undefined : { collection };
  };
  const collectionAfter = (name: string): Position => collectionFrom(`${name}\u0000`);

  /** Returns the problem of a readable row, and logs it when it is new. */
  async function problemIn(collection: string, row: Row): Promise<RowProblem | undefined> {
    const found = await problemOf(collection, row);
    const key = keyOf({ collection, id: row.id });
    const before = known.get(key);
    known.delete(key);
    if (found === undefined) return undefined;
    const { code, path } = found;
    const { tid } = row as { readonly tid?: unknown };
    const problem = { code, collection, id: row.id, path, ...(typeof tid === 'string' && tid !== '' && { tid }) };
    if (known.size < REMEMBERED) known.set(key, problem);
    if (before?.code === code && before.path === path) return problem;
    const fields = { collection, id: row.id, path };
    if (code === 'reference_missing')
      logger.error(fields, 'a stored record refers to a record that does not exist: restore that record, or remove this one');
    else
      logger.error(fields, 'lists and look-ups may miss a stored record, because a derived member is wrong: change the record by the API');
    return problem;
  }

  /** Reads the row again. */
  async function lookAgain({ collection, id }: SweptRow): Promise<RowProblem | undefined> {
    const row = names.includes(collection) ? await store.collection(collection).get(id) : undefined;
    if (row) return problemIn(collection, row);
    known.delete(keyOf({ collection, id }));
    return undefined;
  }

  /** Reads rows from a position on, as many as a round may read. */
  async function readFrom(start: Position): Promise<Swept> {
    const found: UnreadableRow[] = [];
    const dangling: RowProblem[] = [];
    let position = start;
    let rows = ROWS;
    for (let reads = 0; position && rows > 0 && reads < READS && !isClosed; reads += 1) {
      const { collection, after } = position;
      const all = store.collection(collection).withUnreadable();
      const page = await all.find({}, { limit: rows, ...(after !== undefined && { after }) }).catch((err: unknown) => {
        if (isToldAlready(err)) throw err;
        logger.error({ err, collection }, 'records of a collection could not be looked through; the next pass tries again');
        return [];
      });
      for (const row of page) {
        const unreadable = all.problemOf(row);
        const problem = unreadable || isRemoved(row) ? undefined : await problemIn(collection, row);
        if (unreadable) found.push(unreadable);
        if (problem) dangling.push(problem);
      }
      const next = page.length < rows ? undefined : positionBehind(page, after);
      position = next === undefined ? collectionAfter(collection) : { collection, after: next };
      rows -= page.length;
    }
    return { position, found, dangling };
  }

  /** Returns the remembered rows that still have the problem, and the rows that were found. Among the remembered rows, the rows that were read again come last. */
  async function still(
    remembered: readonly SweptRow[],
    hasProblem: (row: SweptRow) => Promise<unknown>,
    found: readonly SweptRow[],
  ): Promise<readonly SweptRow[]> {
    const rows = new Map(remembered.slice(READ_AGAIN).map((row) => [keyOf(row), row]));
    for (const row of remembered.slice(0, READ_AGAIN)) if (await hasProblem(row)) rows.set(keyOf(row), row);
    for (const { collection, id } of found) if (rows.size < REMEMBERED) rows.set(keyOf({ collection, id }), { collection, id });
    return [...rows.values()];
  }

  const isUnreadable = async ({ collection, id }: SweptRow) =>
    names.includes(collection) && (await store.collection(collection).unreadable(id)) !== undefined;

  async function round(): Promise<void> {
    if (!(await lease(intervalMs * 1.5))) return;
    const before = await upkeep.get(ROW_ID);
    const { startedAt = new Date(0), collection, after, unreadable = [], dangling = [] } = before?.sweep ?? {};
    const isUnderWay = collection !== undefined;
    const isDue = isUnderWay || Math.abs(now() - startedAt.getTime()) >= passMs;
    const start =
      isUnderWay && names.includes(collection) ? { collection, ...(after !== undefined && { after }) } : collectionFrom(collection ?? '');
    const read: Swept = isDue ? await readFrom(start) : { position: undefined, found: [], dangling: [] };
    if (!isDue && unreadable.length + dangling.length === 0) return;
    const sweep = {
      startedAt: isUnderWay || !isDue ? startedAt : new Date(now()),
      ...read.position,
      unreadable: await still(unreadable, isUnreadable, read.found),
      dangling: await still(dangling, lookAgain, read.dangling),
    };
    // A node that was paused leaves the row to the node that went on.
    await upkeep.upsert(ROW_ID, (row) => (row && row.version !== before?.version ? row : { id: ROW_ID, done: 0, sweep }));
  }

  function next(wait: number): void {
    timer = setTimeout(() => {
      running = round()
        .catch((err: unknown) => {
          if (!isToldAlready(err)) logger.error({ err }, 'records could not be looked through; another attempt follows');
        })
        .then(() => {
          if (!isClosed) next(intervalMs);
        });
    }, wait).unref();
  }

  return {
    async recall() {
      const { sweep } = (await upkeep.get(ROW_ID).catch(IdpError.unless('store_unavailable'))) ?? {};
      await store.recall((sweep?.unreadable ?? []).filter(({ collection }) => names.includes(collection)));
      const own = [...known.values()].slice(0, READ_AGAIN);
      const ofOthers = (sweep?.dangling ?? []).filter((row) => !known.has(keyOf(row)));
      for (const row of [...own, ...ofOthers]) await lookAgain(row);
    },
    problems: () => [...known.values()],
    start: () => next(intervalMs * FIRST_INTERVALS),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
