import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { HealthProblem } from '../../store/outages/health.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import { KEYS_VERSION, type KeyedCollection, keyedCollections, withEveryKey, withKeys } from '../../store/records/derived-keys.js';
import type { Named } from '../../store/records/records.js';
import type { Collections } from '../context.js';

/** Gives derived members to records from before there were any, in the background, on one node at a time. */
export interface KeyCompletion {
  /** Whether all rows of the collection have them. Until then, lists do without the indexes over them. */
  isKeyed(collection: KeyedCollection): Promise<boolean>;
  /** Users whose names count as the name of another user since the comparison changed. Both can sign in. */
  problems(): readonly HealthProblem[];
  start(): void;
  close(): Promise<void>;
}

export interface KeyCompletionParts {
  readonly collections: Pick<Collections, KeyedCollection | 'upkeep'>;
  /** Takes or renews the right to do it; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly logger: Logger;
}

const PAGE = 100;
/** Maximum duplicates that `health()` names. */
const REMEMBERED = 1_000;
/** Milliseconds, while records lack their keys and another node may have stopped giving them. */
const RETRY_MS = 2_000;
/** Milliseconds between two looks at all records: nodes of a version without the keys may have written some. */
const INTERVAL_MS = 3_600_000;

export function createKeyCompletion({ collections, lease, logger }: KeyCompletionParts): KeyCompletion {
  const { upkeep } = collections;
  const complete = new Set<KeyedCollection>();
  const duplicates = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;

  const rowId = (collection: KeyedCollection): string => `keys of ${collection}`;

  const isKeyed = async (collection: KeyedCollection): Promise<boolean> => {
    if (complete.has(collection)) return true;
    if (((await upkeep.get(rowId(collection)))?.done ?? 0) < KEYS_VERSION) return false;
    complete.add(collection);
    return true;
  };

  /** Returns whether another user has the key of the user name. In this case, the row keeps its former key. */
  async function isDuplicate(rows: CheckedCollection<Named>, collection: KeyedCollection, id: string): Promise<boolean> {
    try {
      await rows.update(id, (row) => withEveryKey(collection, row));
      return false;
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      await rows.update(id, (row) => withKeys(collection, row));
      return true;
    }
  }

  function note(found: ReadonlySet<string>): void {
    for (const id of duplicates) if (!found.has(id)) duplicates.delete(id);
    for (const id of found) {
      if (duplicates.has(id) || duplicates.size >= REMEMBERED) continue;
      duplicates.add(id);
      logger.warn({ person: id }, 'two users of a tenant have names that look the same; both can sign in; rename one of them');
    }
  }

  /** False when it was given up: the lease is another node's, or the service closes. */
  async function complement(collection: KeyedCollection): Promise<boolean> {
    const rows = collections[collection] as unknown as CheckedCollection<Named>;
    const found = new Set<string>();
    for (let after: string | undefined; ; ) {
      if (isClosed || !(await lease())) return false;
      const page = await rows.find({}, { limit: PAGE, ...present({ after }) });
      for (const { id } of page.filter((row) => withEveryKey(collection, row) !== row))
        if (await isDuplicate(rows, collection, id).catch(IdpError.unless('record_unreadable'))) found.add(id);
      after = page.at(-1)?.id;
      if (page.length < PAGE) break;
    }
    if (collection === 'persons') note(found);
    await upkeep.upsert(rowId(collection), (row) =>
      row && row.done >= KEYS_VERSION ? row : { ...row, id: rowId(collection), done: KEYS_VERSION },
    );
    return true;
  }

  async function run(): Promise<boolean> {
    for (const collection of keyedCollections) if (!(await complement(collection))) break;
    for (const collection of keyedCollections) if (!(await isKeyed(collection))) return false;
    return true;
  }

  function next(wait: number): void {
    timer = setTimeout(() => {
      running = run()
        .catch((err: unknown) => {
          if (!isToldAlready(err)) logger.error({ err }, 'records could not get their keys; another attempt follows');
          return false;
        })
        .then((isDone) => {
          if (!isClosed) next(isDone ? INTERVAL_MS : RETRY_MS);
        });
    }, wait).unref();
  }

  return {
    isKeyed,
    problems: () => [...duplicates].map((id) => ({ code: 'user_name_duplicate', collection: 'persons', id })),
    start: () => next(0),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
