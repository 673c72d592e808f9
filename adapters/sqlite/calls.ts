/** Calls that the stores send to the worker of their file. The worker answers each call once. The answers may come in another order than the calls. */
import type { ErrorCode } from '../../lib/errors.js';
import type { Artifact, ArtifactKey, ArtifactWrite, CommitResult, Counter, ReadRequest } from '../../lib/store/artifact-store.js';
import type { CollectionSpec } from '../../lib/store/directory-store.js';
import type { KeyRange } from '../sql/row-index.js';

/** Returns the milliseconds of a monotonic clock that all threads of this process share. */
export function threadTime(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1_000_000;
}

/** Row as the file stores the row. `id` is the escaped id. */
export interface StoredRow {
  readonly id: string;
  readonly version: number;
  readonly row: string;
}

/** Page of rows in the order of their ids. If `index` is set, the page has only the rows with this index key. */
export interface RowPage {
  readonly index?: { readonly name: string; readonly key: string };
  /** Escaped id of the last row of the previous page. */
  readonly after: string;
  readonly limit: number;
}

/** Page of rows in the order of an index. */
export interface RowRange extends KeyRange {
  readonly index: string;
  readonly isDescending: boolean;
  readonly limit: number;
}

/** Calls that change nothing. */
export interface Reads {
  readArtifacts(requests: readonly ReadRequest[]): readonly Artifact[];
  listByAccount(account: string): readonly Artifact[];
  getRow(collection: string, id: string): StoredRow | undefined;
  findRows(collection: string, page: RowPage): readonly StoredRow[];
  rangeOfRows(collection: string, range: RowRange): readonly StoredRow[];
}

/** Calls that change the file. */
export interface Writes {
  commitArtifacts(writes: readonly ArtifactWrite[]): CommitResult;
  hit(counter: ArtifactKey, window: number, by: number): Counter;
  lease(name: string, holder: string, ttl: number): boolean;
  /** Inserts a row. @throws IdpError `conflict` */
  insertRow(collection: string, id: string, row: string): void;
  /** Inserts or replaces a row, and returns the version of the written row. @throws IdpError `conflict` */
  putRow(collection: string, id: string, row: string): number;
  /** Replaces a row. Returns false if the row has another version now. @throws IdpError `conflict` */
  replaceRow(collection: string, id: string, row: string, version: number): boolean;
  removeRow(collection: string, id: string, version?: number): boolean;
}

/** Calls about the file as a whole. */
export interface Service {
  /** Registers the indexes of the collections, and adds missing entries. @throws IdpError `store_unfit`, `conflict` */
  open(specs: readonly CollectionSpec[]): void;
  health(): void;
  /** Ends the worker after all earlier calls. */
  close(): void;
}

export type Calls = Reads & Writes & Service;
type CallOf<Of, Name extends keyof Of> = {
  readonly id: number;
  /** Time of the call, by {@link threadTime}. */
  readonly at: number;
  readonly name: Name;
  readonly args: Of[Name] extends (...args: infer Args) => unknown ? Args : never;
};
export type CallsOf<Of> = { [Name in keyof Of]: CallOf<Of, Name> }[keyof Of];
export type Call = CallsOf<Calls>;

/** Error as plain data, because a message between threads loses the class of an error. */
export interface Failure {
  readonly message: string;
  readonly isTypeError?: boolean;
  /** Code and details of an IdpError. Absent for another error. */
  readonly idp?: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };
}

export type Answer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly failure: Failure };

/** Message of the worker: answers, the notice that the file is open, or the reason why the file cannot be opened. After a `failure`, the worker ends. */
export type Message = { readonly answers: readonly Answer[] } | { readonly isOpen: true } | { readonly failure: Failure };

/** Data that the worker starts with. */
export interface WorkerData {
  readonly file: string;
  /** Whether this process has opened the file before. If so, the worker must not create the file. */
  readonly isReopened: boolean;
}
