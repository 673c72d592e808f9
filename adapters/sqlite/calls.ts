/** Calls that the stores send to the worker of their file. The worker answers each call once, in its own time. */
import type { ErrorCode } from '../../lib/errors.js';
import type { Artifact, ArtifactKey, ArtifactWrite, CommitResult, Counter, ReadRequest } from '../../lib/store/artifact-store.js';
import type { CollectionSpec } from '../../lib/store/directory-store.js';
import type { KeyRange } from '../sql/row-index.js';

/** Returns milliseconds of a steady clock that all threads of this process share. */
export function threadTime(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1_000_000;
}

/** A row as the file has it. `id` is the escaped id. */
export interface StoredRow {
  readonly id: string;
  readonly version: number;
  readonly row: string;
}

/** A page of rows in the order of their ids: all rows, or the rows of one key of an index. */
export interface RowPage {
  readonly index?: { readonly name: string; readonly key: string };
  /** Escaped id of the last row of the previous page. */
  readonly after: string;
  readonly limit: number;
}

/** A page of rows in the order of an index. */
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
  /** @throws IdpError `conflict` */
  insertRow(collection: string, id: string, row: string): void;
  /** Returns the version of the written row. @throws IdpError `conflict` */
  putRow(collection: string, id: string, row: string): number;
  /** Returns false if the row has another version now. @throws IdpError `conflict` */
  replaceRow(collection: string, id: string, row: string, version: number): boolean;
  removeRow(collection: string, id: string, version?: number): boolean;
}

/** Calls about the file as a whole. */
export interface Service {
  /** Makes the collections and their indexes ready. @throws IdpError `store_unfit`, `conflict` */
  open(specs: readonly CollectionSpec[]): void;
  health(): void;
  /** Ends the worker after all calls before it. */
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

/** An error that crosses the border between threads, where classes get lost. */
export interface Failure {
  readonly message: string;
  readonly isTypeError?: boolean;
  /** Set for an IdpError. */
  readonly idp?: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };
}

export type Answer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly failure: Failure };

/** A message of the worker: answers, the news that the file is open, or the reason why it cannot be opened, after which the worker ends. */
export type Message = { readonly answers: readonly Answer[] } | { readonly isOpen: true } | { readonly failure: Failure };

/** Data that the worker starts with. */
export interface WorkerData {
  readonly file: string;
  /** Whether this process has used the file before, so that the worker must not create it. */
  readonly isReopened: boolean;
}
