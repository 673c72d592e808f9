/** Unreadable rows: malformed rows of the store. Each row is logged once, and remembered for `health()` until an operator repairs it. */
import { inspect } from 'node:util';
import type { Logger } from '../../logger.js';
import type { DirectoryStore, Row } from '../directory-store.js';
import { hasOutbox } from './collections.js';
import type { LeftOutRow } from './left-out.js';
import type { SweptRow } from './records.js';
import { isRemoved } from './removed-rows.js';
import { hasRowChecks, isRemainder, wrongPath as wrongPathOf } from './row-checks.js';

export interface UnreadableRow {
  readonly code: 'record_unreadable';
  readonly collection: string;
  readonly id: string;
  /** A JSON Pointer to the first malformed part. */
  readonly path: string;
  /** The tenant that the row names. */
  readonly tid?: string;
}

/** Maximum unreadable rows that are remembered, so that each is logged once. */
const REMEMBERED = 10_000;
/** Remembered rows that one call of `recheck` reads again. */
const LOOKED_AT_AGAIN = 20;

/** Returns a JSON Pointer to the first malformed part of a row; undefined for a sound row. */
export type WrongPath = (collection: string, row: object) => string | undefined;

export interface UnreadableRowsParts {
  readonly store: DirectoryStore;
  readonly logger: Pick<Logger, 'error'>;
  /** The check of collections of extensions. */
  readonly wrongPathOfExtension: WrongPath;
}

export class UnreadableRows {
  readonly #store: DirectoryStore;
  readonly #logger: UnreadableRowsParts['logger'];
  readonly #wrongPathOfExtension: WrongPath;
  /** Unreadable rows, by collection and id. */
  readonly #unreadable = new Map<string, UnreadableRow>();
  // A store in this process returns the same object at each read, so the check of a row runs once.
  readonly #sound = new WeakSet<Row>();

  constructor({ store, logger, wrongPathOfExtension }: UnreadableRowsParts) {
    this.#store = store;
    this.#logger = logger;
    this.#wrongPathOfExtension = wrongPathOfExtension;
  }

  /** Returns a JSON Pointer to the first malformed part of a row; undefined for a sound row. Nothing is remembered. */
  wrongPath(collection: string, row: object): string | undefined {
    if (hasOutbox(collection) && isRemoved(row)) return isRemainder(row) ? undefined : '/pendingEvents';
    return hasRowChecks(collection) ? wrongPathOf(collection, row) : this.#wrongPathOfExtension(collection, row);
  }

  /** Returns the problem of a row, and remembers it; undefined for a sound row. */
  problemOf(collection: string, row: Row): UnreadableRow | undefined {
    if (this.#sound.has(row)) return undefined;
    const path = this.wrongPath(collection, row);
    const id = idTextOf(row).slice(0, 200);
    if (path === undefined) {
      this.#sound.add(row);
      this.forget(collection, id);
      return undefined;
    }
    const key = keyOf(collection, id);
    const remembered = this.#unreadable.get(key);
    if (remembered?.path === path) return remembered;
    const problem: UnreadableRow = { code: 'record_unreadable', collection, id, path, ...tidOf(row) };
    if (remembered || this.#unreadable.size < REMEMBERED) {
      this.#unreadable.set(key, problem);
      this.#logger.error({ collection, id, path }, 'a stored record is malformed, so the service ignores it');
    }
    return problem;
  }

  isSound(collection: string, row: Row): boolean {
    return this.problemOf(collection, row) === undefined;
  }

  /** Remembers that a row is sound, because it was checked when it was written. */
  acceptWritten(collection: string, row: Row): void {
    this.#sound.add(row);
    this.forget(collection, row.id);
  }

  forget(collection: string, id: string): void {
    // Every read calls this method, and most stores have no unreadable row.
    if (this.#unreadable.size > 0) this.#unreadable.delete(keyOf(collection, id));
  }

  /** Reads rows that another node found unreadable, and that this node does not remember yet. */
  async recall(rows: readonly SweptRow[]): Promise<void> {
    const unknown = rows.filter(({ collection, id }) => !this.#unreadable.has(keyOf(collection, id)));
    await Promise.all(
      unknown.map(async ({ collection, id }) => {
        const row = await this.#store.collection(collection).get(id);
        if (row) this.problemOf(collection, row);
      }),
    );
  }

  /** Returns the remembered rows, after some of them were read again. */
  async recheck(): Promise<readonly UnreadableRow[]> {
    for (const [key, problem] of [...this.#unreadable].slice(0, LOOKED_AT_AGAIN)) {
      const row = await this.#store.collection(problem.collection).get(problem.id);
      const isRepaired = row === undefined || this.wrongPath(problem.collection, row) === undefined;
      this.#unreadable.delete(key);
      // The row moves to the end, so that the next call reads other rows.
      if (!isRepaired) this.#unreadable.set(key, problem);
    }
    return [...this.#unreadable.values()];
  }
}

const keyOf = (collection: string, id: string): string => `${collection}:${id}`;

/** Returns the id as a text. Another program may have written an id of another type. */
export const idTextOf = ({ id }: { readonly id: unknown }): string =>
  typeof id === 'string' ? id : inspect(id, { breakLength: Number.POSITIVE_INFINITY });

export const leftOutRowOf = (row: Row, { path }: UnreadableRow): LeftOutRow => ({
  id: idTextOf(row),
  tid: (row as { readonly tid?: unknown }).tid,
  path,
});

const tidOf = (row: object): { readonly tid?: string } => {
  const { tid } = row as { readonly tid?: unknown };
  return typeof tid === 'string' && tid !== '' ? { tid: tid.slice(0, 200) } : {};
};
