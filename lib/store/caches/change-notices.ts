/** Notices of the writes of this node, on their way into the log of changes. */
import { v7 } from 'uuid';
import { IdpError } from '../../errors.js';
import type { CheckedCollection } from '../records/checked-directory.js';
import type { ChangeRecord } from '../records/records.js';
import { type Base, type ChangeReader, IN_TIME_MS } from './change-log.js';

/** Milliseconds that remain for the insert of an entry after a look that is recent enough. */
const COMMIT_MS = 1_000;
/**
 * Milliseconds in which a store may still make a write after the call failed. The adapters end a call within 1.5 seconds, and make no write of a
 * call later.
 */
const LATE_WRITE_MS = 3_000;
/** Maximum ids in a notice, for each collection. Above the maximum, the notice concerns all rows of the collection. */
const MAX_IDS = 1_000;

type Writes = ChangeRecord['writes'];

/** The rows that were written, by collection, and the collections in which the writes left background work. */
class Notice {
  readonly #ids = new Map<string, Set<string> | undefined>();
  readonly #work = new Set<string>();

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  /** @param ids of the rows; undefined for all rows of the collection */
  add(collection: string, ids: Iterable<string> | undefined): void {
    const all = ids && this.#ids.has(collection) ? this.#ids.get(collection) : new Set<string>();
    for (const id of ids ?? []) all?.add(id);
    this.#ids.set(collection, ids === undefined || (all && all.size > MAX_IDS) ? undefined : all);
  }

  addWork(collection: string): void {
    if (!this.#ids.has(collection)) this.#ids.set(collection, new Set());
    this.#work.add(collection);
  }

  addAll(other: Notice): void {
    for (const [collection, ids] of other.#ids) this.add(collection, ids);
    for (const collection of other.#work) this.#work.add(collection);
  }

  writes(): Writes {
    return [...this.#ids].map(([collection, ids]) => ({
      collection,
      ...(ids && { ids: [...ids] }),
      ...(this.#work.has(collection) && { work: true }),
    }));
  }
}

export interface ChangeNoticesParts {
  readonly rows: Pick<CheckedCollection<ChangeRecord>, 'insert'>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** The position of this node in the log, above which the ids of its entries are. */
  readonly reader: Pick<ChangeReader, 'look' | 'base' | 'skip'>;
}

/**
 * Sends notices. One insert is under way at a time, and the notices that come during the insert share the next insert. A notice whose insert fails waits
 * for the next insert.
 */
export class ChangeNotices {
  readonly #parts: ChangeNoticesParts;
  #waiting = new Notice();
  #next: Promise<void> | undefined;
  #underWay: Promise<unknown> = Promise.resolve();
  /** Writes of unknown outcome that no notice names yet. */
  #unknown = new Notice();
  /** Writes of unknown outcome that one notice names. A second notice follows when the store cannot make the writes any more. */
  readonly #named: { readonly notice: Notice; readonly finalAt: number }[] = [];

  constructor(parts: ChangeNoticesParts) {
    this.#parts = parts;
  }

  /** Adds a write to the next notice. Call {@link send} afterwards. */
  add(collection: string, id: string): void {
    this.#waiting.add(collection, [id]);
  }

  /** Adds background work to the next notice. Call {@link send} afterwards. */
  addWork(collection: string): void {
    this.#waiting.addWork(collection);
  }

  /** Adds a write of unknown outcome, which the store may still make. {@link takeUnknown} returns the write twice. */
  addUnknown(collection: string, id: string): void {
    this.#unknown.add(collection, [id]);
    this.#unknown.addWork(collection);
  }

  /** Moves writes of unknown outcome that have to be named now to the next notice, and returns them. */
  takeUnknown(): Writes {
    const due = new Notice();
    const time = performance.now();
    for (let first = this.#named[0]; first && first.finalAt <= time; first = this.#named[0]) {
      due.addAll(first.notice);
      this.#named.shift();
    }
    if (!this.#unknown.isEmpty) {
      due.addAll(this.#unknown);
      this.#named.push({ notice: this.#unknown, finalAt: time + LATE_WRITE_MS });
      this.#unknown = new Notice();
    }
    this.#waiting.addAll(due);
    return due.writes();
  }

  /** Sends the notices that wait. @throws the errors of the store; the notices then wait for the next call. */
  send(): Promise<void> {
    this.#next ??= this.#underWay.then(() => this.#sendWaiting());
    return this.#next;
  }

  #sendWaiting(): Promise<void> {
    this.#next = undefined;
    const notice = this.#waiting;
    if (notice.isEmpty) return Promise.resolve();
    this.#waiting = new Notice();
    const sending = this.#write(notice);
    this.#underWay = sending.catch(() => {});
    return sending;
  }

  async #write(notice: Notice): Promise<void> {
    try {
      // A second attempt that takes as long leaves the notice to the next call, so that a slow store is not flooded.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const base = await this.#base();
        const canRead = isRecent(base);
        if (await this.#insert(notice, base)) return;
        if (!canRead) break;
      }
      this.#waiting.addAll(notice);
    } catch (error) {
      this.#waiting.addAll(notice);
      throw error;
    }
  }

  /** Returns the last look, or a new look if the last one is too old. If this node cannot read the log, returns the last look nevertheless. */
  async #base(): Promise<Base | undefined> {
    const { reader } = this.#parts;
    if (!isRecent(reader.base)) await reader.look().catch(() => undefined);
    return reader.base;
  }

  /** @returns whether the entry was committed soon enough for all readers */
  async #insert(notice: Notice, base: Base | undefined): Promise<boolean> {
    const { rows, now, reader } = this.#parts;
    for (;;) {
      const id = v7({ msecs: Math.max(now(), base?.lowestTime ?? 0) });
      reader.skip(id);
      const entry = await rows.insert({ id, writes: notice.writes() }).catch(IdpError.unless('conflict'));
      if (entry) return base !== undefined && base.age() <= IN_TIME_MS;
    }
  }
}

const isRecent = (base: Base | undefined): boolean => base !== undefined && base.age() <= IN_TIME_MS - COMMIT_MS;
