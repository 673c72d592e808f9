/** Members of `node:sqlite` that this service uses. The types are declared here, because `@types/node` 20 does not have them. */

export type Value = string | number | null;
/** Row of an answer, by the names of its columns. */
export type Columns = Readonly<Record<string, Value>>;

export interface Statement {
  run(...values: readonly Value[]): { readonly changes: number | bigint };
  get(...values: readonly Value[]): Columns | undefined;
  all(...values: readonly Value[]): Columns[];
}

export interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface NodeSqlite {
  /** Name of `DatabaseSync` from Node.js 26. */
  readonly Database?: new (
    path: string,
  ) => Connection;
  readonly DatabaseSync: new (path: string) => Connection;
}

/** Opens a file by `node:sqlite`, without the warning that `node:sqlite` is experimental. All other warnings of the thread are printed. */
export function connect(path: string): Connection {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    const { Database, DatabaseSync } = process.getBuiltinModule('node:sqlite') as NodeSqlite;
    return Database === undefined ? new DatabaseSync(path) : new Database(path);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** An error of SQLite. @see https://sqlite.org/rescode.html */
export interface SqliteError extends Error {
  readonly errcode: number;
}

export const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && typeof (error as Partial<SqliteError>).errcode === 'number';

/** Codes of the errors of SQLite that the worker distinguishes, without the details in their upper bits. */
export const sqliteCodes = { busy: 5, readOnly: 8, inputOutput: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

export const sqliteCodeOf = (error: SqliteError): number => error.errcode & 0xff;

/**
 * Returns whether a checkpoint and a commit of two connections are safe at the same time. Before version 3.51.3, a checkpoint and a commit at the same time
 * could damage the file.
 * @see https://sqlite.org/wal.html#walresetbug
 */
export function hasSafeCheckpoints(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor * 1000 + patch >= 3_051_003;
}
