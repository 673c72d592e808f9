/**
 * The log of changes, as one node reads it and removes its old entries.
 *
 * No clock orders the log. The id of an entry is above each id that its writer found at its last look. A reader reads the entries of the last {@link
 * OVERLAP_MS} again. Writers and readers count durations by their own steady clocks.
 */
import type { Collection } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import type { CheckedCollection } from '../records/checked-directory.js';
import { leftOutOf } from '../records/left-out.js';
import type { ChangeRecord } from '../records/records.js';

/**
 * Milliseconds from the beginning of a writer's look to the commit of an entry whose id is above all ids that the look found. A notice whose entry took
 * longer is sent again, because nodes may have read the log beyond the id already.
 */
export const IN_TIME_MS = 5_000;
/**
 * Milliseconds for which a reader reads entries again, so that it finds entries that were committed after entries with higher ids. Longer than
 * {@link IN_TIME_MS}, because the steady clocks of two machines do not run equally fast.
 */
const OVERLAP_MS = IN_TIME_MS + 500;
/** Milliseconds that entries are kept. */
const KEPT_MS = 120_000;
/** Milliseconds since its last look after which a node does not trust what the log still holds. */
const LATE_MS = KEPT_MS / 2;
const PAGE = 1_000;
const REMOVED_AT_ONCE = 8;

/** Returns whether a row has the id of an entry. A higher time than `7fff…` would leave no ids above it. @see RFC 9562 §5.7 */
const isEntryId = (id: string): boolean => /^[0-7][\da-f]{7}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/.test(id);

/** Returns the time in the id of an entry, in milliseconds since the epoch. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

export interface ChangeLogParts {
  readonly rows: Pick<CheckedCollection<ChangeRecord>, 'find'>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. Only pauses of this process are measured with this time. */
  readonly now: () => number;
  /** Handles an entry of another node. */
  readonly onEntry: (entry: ChangeRecord) => void;
  /** Handles entries that this node cannot read, because they were removed or are malformed. */
  readonly onGap: () => void;
}

/** An instant, by the time that all nodes share and by the steady clock of this process, which may stand still while the machine is paused. */
interface Instant {
  readonly shared: number;
  readonly steady: number;
}

/** A look of the writer of an entry. */
export interface Base {
  /** The lowest time of an id that is above all ids that the look found, in milliseconds since the epoch. */
  readonly lowestTime: number;
  /** Returns the milliseconds since the look began. The longer of two clocks counts. */
  age(): number;
}

/**
 * The position of a node in the log. A look reads from the position on, and handles each entry once.
 *
 * The position is the newest entry that the node had found before the overlap. The removal of old entries keeps that entry, so a node that does
 * not find the entry of its position knows that entries behind it may be missing too.
 */
export class ChangeReader {
  readonly #parts: ChangeLogParts;
  /** Id of the entry at the position; undefined if no entry was found before the overlap. */
  #position: string | undefined;
  /** Ids behind the position whose entries were handled. */
  #seen = new Set<string>();
  /** The newest entries that looks have found, each with the end of the look, by the steady clock. */
  #newest: readonly { readonly id: string; readonly at: number }[] = [];
  #lookedAt: Instant;
  #hasLooked = false;
  #underWay: Promise<void> | undefined;

  constructor(parts: ChangeLogParts) {
    this.#parts = parts;
    // Nothing is cached yet, so this counts as a look.
    this.#lookedAt = this.#time();
  }

  /** Returns the time of the last look, by the steady clock of this process. */
  get lookedAt(): number {
    return this.#lookedAt.steady;
  }

  /** Returns the id below which entries are old: the newest entry that this node had found when entries began to be kept. */
  get oldBelow(): string | undefined {
    return this.#newestAt(performance.now() - KEPT_MS);
  }

  /** Returns the id of the newest entry that a look has found. */
  get newest(): string | undefined {
    return this.#newest.at(-1)?.id;
  }

  /** Returns the last look as the base of the id of an entry; undefined before the first look. */
  get base(): Base | undefined {
    const [since, newest] = [this.#lookedAt, this.newest];
    if (!this.#hasLooked) return undefined;
    return { lowestTime: newest === undefined ? 0 : timeOf(newest) + 1, age: () => elapsed(since, this.#time()) };
  }

  /** Skips the entry with this id, because this node writes the entry itself. */
  skip(id: string): void {
    this.#seen.add(id);
  }

  /** Reads the log from the position on. Callers share a look that is under way. */
  look(): Promise<void> {
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #look(): Promise<void> {
    const begunAt = this.#time();
    const seen = new Set<string>();
    let newest = this.newest;
    let isGap = elapsed(this.#lookedAt, begunAt) > LATE_MS;
    let isPositionFound = this.#position === undefined;
    for await (const { entries, malformed } of this.#pages()) {
      for (const entry of entries) {
        if (entry.id === this.#position) isPositionFound = true;
        else if (!this.#seen.has(entry.id)) this.#parts.onEntry(entry);
        seen.add(entry.id);
        if (isEntryId(entry.id) && (newest === undefined || entry.id > newest)) newest = entry.id;
      }
      isGap ||= malformed.some((id) => !this.#seen.has(id));
      for (const id of malformed) seen.add(id);
    }
    if (isGap || !isPositionFound) this.#parts.onGap();
    if (newest !== undefined && newest !== this.newest) this.#newest = [...this.#newest, { id: newest, at: performance.now() }];
    this.#position = this.#newestAt(begunAt.steady - OVERLAP_MS);
    // Entries that this node writes during the look are not in the pages.
    this.#seen = new Set([...this.#seen, ...seen].filter((id) => this.#position === undefined || id > this.#position));
    this.#forgetBefore(begunAt.steady - KEPT_MS);
    this.#lookedAt = begunAt;
    this.#hasLooked = true;
  }

  async *#pages(): AsyncGenerator<{ readonly entries: readonly ChangeRecord[]; readonly malformed: readonly string[] }> {
    // The text without its last character is below the id.
    let after: string | undefined = this.#position?.slice(0, -1) ?? '';
    while (after !== undefined) {
      const entries: readonly ChangeRecord[] = await this.#parts.rows.find({}, { limit: PAGE, after });
      yield { entries, malformed: leftOutOf(entries).map(({ id }) => id) };
      after = entries.length < PAGE ? undefined : positionBehind(entries, after);
    }
  }

  #newestAt(steady: number): string | undefined {
    return this.#newest.findLast(({ at }) => at <= steady)?.id;
  }

  #forgetBefore(steady: number): void {
    const first = this.#newest.findLastIndex(({ at }) => at <= steady);
    if (first > 0) this.#newest = this.#newest.slice(first);
  }

  #time(): Instant {
    return { shared: this.#parts.now(), steady: performance.now() };
  }
}

const elapsed = (since: Instant, until: Instant): number => Math.max(until.shared - since.shared, until.steady - since.steady);

/**
 * Removes entries below an id, and rows behind the newest entry that are no entries, because each look would read them.
 * @param reader names the ids as a node found them, so that no clock decides which entries are old
 */
export async function removeOldChanges(
  rows: Pick<Collection<ChangeRecord>, 'find' | 'remove'>,
  { oldBelow, newest }: Pick<ChangeReader, 'oldBelow' | 'newest'>,
  signal: AbortSignal,
): Promise<void> {
  while (oldBelow !== undefined && !signal.aborted) {
    const page = await rows.find({}, { limit: PAGE });
    const old = page.filter(({ id }) => typeof id === 'string' && id < oldBelow);
    await removeAll(rows, old, signal);
    if (old.length < PAGE) break;
  }
  if (newest === undefined) return;
  const behind = await rows.find({}, { limit: PAGE, after: newest });
  await removeAll(
    rows,
    behind.filter(({ id }) => !isEntryId(id)),
    signal,
  );
}

async function removeAll(
  rows: Pick<Collection<ChangeRecord>, 'remove'>,
  entries: readonly ChangeRecord[],
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start < entries.length && !signal.aborted; start += REMOVED_AT_ONCE)
    await Promise.all(entries.slice(start, start + REMOVED_AT_ONCE).map(({ id }) => rows.remove(id)));
}
