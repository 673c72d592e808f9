/**
 * The contract of the store for durable records: tenants, persons, clients, signing keys, events. `adapters/conformance` is the executable form of the contract.
 */

/** The members of every durable record. Rows that a store returns are frozen; instants are `Date`s. */
export interface Row {
  readonly id: string;
  /** Version of the row, set by the store: 1 after insert, one more with each write. */
  readonly version: number;
}

/** A row as callers give it to the store, which sets the version itself. */
export type Unsaved<R extends Row> = Omit<R, 'version'> & { readonly version?: number };

/**
 * An index over one or more fields. A field is a path (`user.userNameKey`). A row without one of the fields is not in the index. If a field
 * is an array, each element is in the index. At most one field of an index may be an array.
 */
export interface IndexSpec {
  readonly fields: readonly string[];
  readonly unique?: boolean;
  /**
   * The kind of value in the last field, for an index whose rows are read in its order. The field is not an array in this case, and a row
   * with a value of another kind is not in the index. @default none, because the index is for look-ups alone
   */
  readonly order?: Order;
}

export type Order = 'text' | 'instant' | 'number';
/** A value in an ordered index. Texts are in the order of their code points; instants and numbers ascend. */
export type Ordered = string | Date | number;

export interface CollectionSpec {
  readonly name: string;
  readonly indexes: Readonly<Record<string, IndexSpec>>;
}

/** An index by name, with the values of all its fields: `{ byUserName: [tid, 'alice'] }`. Empty: all rows. */
export type Where = Readonly<Record<string, readonly string[]>>;

/** A page of rows in the order of their ids. `after` is the last id of the previous page. */
export interface Page {
  readonly limit: number;
  readonly after?: string;
}

/** Position of a row in an index: behind all rows with a lower value, and behind rows with the same value and a lower id. */
export interface Position {
  readonly value: Ordered;
  readonly id: string;
}

/**
 * A range of an index that has an order. Rows are in the order of their value in the last field; rows with the same value are in the order
 * of their ids.
 */
export interface Range {
  readonly index: string;
  /** Values of all fields but the last. */
  readonly within: readonly string[];
  /** The lowest value. @default no bound */
  readonly from?: Ordered;
  /** A value above all others. @default no bound */
  readonly below?: Ordered;
  /** The beginning of each value, for an index of texts. @default any */
  readonly prefix?: string;
  /** @default false */
  readonly descending?: boolean;
  /** The last position that was read. The row at this position may have moved or been removed. */
  readonly after?: Position;
  /** Maximum number of rows. */
  readonly limit: number;
}

export interface Collection<R extends Row> {
  get(id: string): Promise<R | undefined>;
  /** Returns rows of one declared index, ordered by id; all of them without a page. Refuses any other query. */
  find(where: Where, page?: Page): Promise<readonly R[]>;
  /** Returns rows of one range of a declared index that has an order, in that order. Refuses any other query. */
  range(range: Range): Promise<readonly R[]>;
  /** Creates a row. @throws IdpError `conflict` when another row has the id or a unique value. The error does not state which. */
  insert(row: Unsaved<R>): Promise<R>;
  /** Creates or replaces a row by id. @throws IdpError `conflict` when another row has a unique value of the given row. */
  put(row: Unsaved<R>): Promise<R>;
  /**
   * Updates a row by compare-and-swap: `change` gets the current row and returns the next one. `change` may run again when another write
   * came between, so it must have no side effects. Errors of `change` are thrown to the caller. If `change` returns its argument, nothing is
   * written.
   * @returns the row after the call; undefined when there is none.
   * @throws IdpError `conflict` when another row has a unique value of the next row.
   */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined>;
  /** Removes a row. Returns true when there was one. @param version the row is removed only if it still has this version */
  remove(id: string, version?: number): Promise<boolean>;
}

export interface DirectoryStore {
  /** Name of the store, for `health()` and messages: `memory`, `mongo`, … */
  readonly name: string;
  /** Whether records are lost when the process ends; refused in production. */
  readonly ephemeral: boolean;
  /** Set for a store that serves one process alone, which production logs. @default the store serves any number of nodes */
  readonly nodes?: 1;
  /**
   * Makes the collections and their indexes ready. The service calls no other method except `health` before this method. Many nodes may call this method,
   * repeatedly and at the same time.
   */
  open(specs: readonly CollectionSpec[]): Promise<void>;
  /** Returns a collection that was opened. */
  collection<R extends Row>(name: string): Collection<R>;
  /** Rejects when the store cannot be reached. A resolved call does not mean that the store takes writes, because only a write finds that out. */
  health(): Promise<void>;
  close(): Promise<void>;
}
