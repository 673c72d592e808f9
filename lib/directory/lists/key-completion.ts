import { type Round, type Rounds, rounds } from '../../background/rounds.js';
import { LEASE_MS, type Lease } from '../../background/tenure.js';
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { HealthProblem } from '../../store/outages/health.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import { KEYS_VERSION, type KeyedCollection, keyedCollections, withEveryKey, withKeys } from '../../store/records/derived-keys.js';
import type { Named } from '../../store/records/records.js';
import type { Collections } from '../context.js';

/** Adds derived members to older records that do not have them, in the background, on one node at a time. */
export interface KeyCompletion {
  /** Returns whether all rows of the collection have their derived members. Until then, lists do not use the indexes over these members. */
  isKeyed(collection: KeyedCollection): Promise<boolean>;
  /** Returns failures, and users whose names equal the name of another user since the comparison changed. Both users can sign in. */
  problems(): readonly HealthProblem[];
  start(): void;
  close(): Promise<void>;
}

export interface KeyCompletionParts {
  readonly collections: Pick<Collections, KeyedCollection | 'upkeep'>;
  readonly lease: Lease;
  readonly logger: Logger;
}

const PAGE = 100;
/** Maximum number of duplicates that `health()` names. */
const REMEMBERED = 1_000;
/** Milliseconds until a retry, while records do not have their derived members and another node may have stopped adding them. */
const RETRY_MS = 2_000;
/** Milliseconds between two checks of all records, because nodes of a version without the derived members may have written some. */
const INTERVAL_MS = 3_600_000;

export const createKeyCompletion = (parts: KeyCompletionParts): KeyCompletion => new Completion(parts);

class Completion implements KeyCompletion {
  readonly #collections: KeyCompletionParts['collections'];
  readonly #logger: Logger;
  readonly #work: Rounds;
  readonly #complete = new Set<KeyedCollection>();
  readonly #duplicates = new Set<string>();

  constructor({ collections, lease, logger }: KeyCompletionParts) {
    this.#collections = collections;
    this.#logger = logger;
    this.#work = rounds({
      name: 'keys of records',
      every: INTERVAL_MS,
      lease,
      // Short, because another node continues the work of a node that died.
      leaseMs: LEASE_MS,
      run: (round) => this.#round(round),
      logger,
      messages: { round: 'the service could not add derived members to records, and retries' },
    });
  }

  async isKeyed(collection: KeyedCollection): Promise<boolean> {
    if (this.#complete.has(collection)) return true;
    if (((await this.#collections.upkeep.get(rowId(collection)))?.done ?? 0) < KEYS_VERSION) return false;
    this.#complete.add(collection);
    return true;
  }

  problems(): readonly HealthProblem[] {
    const duplicates = [...this.#duplicates].map((id) => ({ code: 'user_name_duplicate', collection: 'persons', id }));
    return [...duplicates, ...this.#work.problems()];
  }

  start(): void {
    this.#work.start();
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  async #round(round: Round): Promise<number> {
    for (const collection of keyedCollections) if (!(await this.#complement(collection, round))) return RETRY_MS;
    return INTERVAL_MS;
  }

  /** Adds the derived members to rows of a collection. Returns false if the round has to end first. */
  async #complement(collection: KeyedCollection, round: Round): Promise<boolean> {
    const rows = this.#collections[collection] as unknown as CheckedCollection<Named>;
    const duplicates = new Set<string>();
    for (let after: string | undefined; ; ) {
      if (!(await round.goesOn())) return false;
      const page = await rows.find({}, present({ limit: PAGE, after }));
      for (const { id } of page.filter((row) => withEveryKey(collection, row) !== row))
        if (await isDuplicate(rows, collection, id).catch(IdpError.unless('record_unreadable'))) duplicates.add(id);
      after = page.at(-1)?.id;
      if (page.length < PAGE) break;
    }
    if (collection === 'persons') this.#note(duplicates);
    const id = rowId(collection);
    await this.#collections.upkeep.upsert(id, (row) => (row && row.done >= KEYS_VERSION ? row : { ...row, id, done: KEYS_VERSION }));
    return true;
  }

  #note(duplicates: ReadonlySet<string>): void {
    for (const id of this.#duplicates) if (!duplicates.has(id)) this.#duplicates.delete(id);
    for (const id of duplicates) {
      if (this.#duplicates.has(id) || this.#duplicates.size >= REMEMBERED) continue;
      this.#duplicates.add(id);
      this.#logger.warn({ person: id }, 'two users of a tenant have user names that look the same');
    }
  }
}

const rowId = (collection: KeyedCollection): string => `keys of ${collection}`;

/** Returns whether another user has the same compared form of the user name. In this case, the row keeps its former compared form. */
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
