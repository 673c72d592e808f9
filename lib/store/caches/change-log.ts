/** The log of changes, as one node reads it and removes its old entries. */
import type { Collection } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import type { CheckedCollection } from '../records/checked-directory.js';
import { leftOutOf } from '../records/left-out.js';
import type { ChangeRecord } from '../records/records.js';
import { COMMIT_MS } from './change-notices.js';

/**
 * Maximum error of one node's estimate of the time that all nodes share, in milliseconds. `store/times/clock` ignores less than a second of difference,
 * and less than a second by which a clock moves later. A measurement that counts is off by 750 ms at most.
 */
const CLOCK_ERROR_MS = 2_750;
/**
 * Milliseconds before the last look in which a look reads the log again. An entry may be committed after entries with higher ids: its writer
 * had time to commit it, and the clocks of its writer and of this node may differ.
 */
const OVERLAP_MS = COMMIT_MS + 2 * CLOCK_ERROR_MS;
/** Milliseconds that entries are kept. */
const KEPT_MS = 120_000;
/** Milliseconds since its last look after which a node does not trust what the log still holds. */
const LATE_MS = KEPT_MS / 2;
/** Milliseconds by which no clock is ahead. Rows with a later id are no entries, or entries of a clock that was wrong. */
const FUTURE_MS = 600_000;
const PAGE = 1_000;
const REMOVED_AT_ONCE = 8;

/** Returns a text below each id that has this time, and above each id that has an earlier time. @see RFC 9562 §5.7 */
function lowestIdAt(time: number): string {
  const hex = Math.max(time, 0).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

export interface ChangeLogParts {
  readonly rows: Pick<CheckedCollection<ChangeRecord>, 'find'>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Handles an entry of another node. */
  readonly onEntry: (entry: ChangeRecord) => void;
  /** Handles entries that this node cannot read, because they were removed or are malformed. */
  readonly onGap: () => void;
}

/**
 * The position of a node in the log. A look reads from the position on, and handles each entry once.
 *
 * The position is the last entry before the overlap. The removal of old entries keeps the newest of them, so a node that does not find the
 * entry of its position knows that entries behind it may be missing too.
 */
export class ChangeReader {
  readonly #parts: ChangeLogParts;
  /** Id of the entry at the position; undefined if there was no entry before the overlap. */
  #position: string | undefined;
  /** Ids behind the position whose entries were handled. */
  #seen = new Set<string>();
  #lookedAt: { readonly shared: number; readonly steady: number };

  constructor(parts: ChangeLogParts) {
    this.#parts = parts;
    // Nothing is cached yet, so this counts as a look.
    this.#lookedAt = this.#time();
  }

  /** Returns the time of the last look, by the steady clock of this process. */
  get lookedAt(): number {
    return this.#lookedAt.steady;
  }

  /** Skips the entry with this id, because this node writes the entry itself. */
  skip(id: string): void {
    this.#seen.add(id);
  }

  async look(): Promise<void> {
    const { onGap } = this.#parts;
    const begunAt = this.#time();
    const overlap = lowestIdAt(begunAt.shared - OVERLAP_MS);
    const seen = new Set<string>();
    let position: string | undefined;
    let isGap = Math.max(begunAt.shared - this.#lookedAt.shared, begunAt.steady - this.#lookedAt.steady) > LATE_MS;
    let isPositionFound = this.#position === undefined;
    for await (const { entries, malformed } of this.#pages()) {
      for (const entry of entries) {
        if (entry.id === this.#position) isPositionFound = true;
        else if (!this.#seen.has(entry.id)) this.#parts.onEntry(entry);
        if (entry.id < overlap) position = entry.id;
        else seen.add(entry.id);
      }
      isGap ||= malformed.some((id) => !this.#seen.has(id));
      for (const id of malformed) seen.add(id);
    }
    if (isGap || !isPositionFound) onGap();
    // Entries that this node writes during the look are not in the pages.
    for (const id of this.#seen) if (id >= overlap) seen.add(id);
    this.#seen = seen;
    this.#position = position;
    this.#lookedAt = begunAt;
  }

  async *#pages(): AsyncGenerator<{ readonly entries: readonly ChangeRecord[]; readonly malformed: readonly string[] }> {
    // The text without its last character is below the id.
    let after: string | undefined = this.#position?.slice(0, -1) ?? lowestIdAt(this.#lookedAt.shared - OVERLAP_MS);
    while (after !== undefined) {
      const entries: readonly ChangeRecord[] = await this.#parts.rows.find({}, { limit: PAGE, after });
      yield { entries, malformed: leftOutOf(entries).map(({ id }) => id) };
      after = entries.length < PAGE ? undefined : positionBehind(entries, after);
    }
  }

  #time() {
    return { shared: this.#parts.now(), steady: performance.now() };
  }
}

/**
 * Removes old entries, except the newest of them, which is the position of nodes while nothing changes. Removes rows with an id of the
 * future too, because each look would read them.
 */
export async function removeOldChanges(
  rows: Pick<Collection<ChangeRecord>, 'find' | 'remove'>,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const end = lowestIdAt(now - KEPT_MS);
  while (!signal.aborted) {
    const page = await rows.find({}, { limit: PAGE });
    const old = page.filter(({ id }) => typeof id === 'string' && id < end).slice(0, -1);
    await removeAll(rows, old, signal);
    if (old.length < PAGE - 1) break;
  }
  await removeAll(rows, await rows.find({}, { limit: PAGE, after: lowestIdAt(now + FUTURE_MS) }), signal);
}

async function removeAll(
  rows: Pick<Collection<ChangeRecord>, 'remove'>,
  entries: readonly ChangeRecord[],
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start < entries.length && !signal.aborted; start += REMOVED_AT_ONCE)
    await Promise.all(entries.slice(start, start + REMOVED_AT_ONCE).map(({ id }) => rows.remove(id)));
}
