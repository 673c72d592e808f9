import { IdpError } from '../../lib/errors.js';
import { type Connection, codeOf } from './connection.js';
import type { PostgresOptions } from './pool.js';

/** Table of a store. Columns of text have `collate "C"`, so that texts are sorted by their bytes. */
export interface Table {
  readonly name: string;
  /** Definitions of columns and constraints. */
  readonly columns: string;
  /** Storage parameters. A table whose rows are often replaced needs an early vacuum of dead rows. */
  readonly storage?: string;
  /** Indexes by name. A value is the end of the statement, after `create index … on <table>`. A name with the prefix `unique ` makes a unique index. */
  readonly indexes?: Readonly<Record<string, string>>;
}

/** Maximum milliseconds of one step of opening a store. */
export const OPEN_DEADLINE_MS = 30_000;

/** Storage parameters of a table whose rows are often replaced. */
export const CHURN = 'fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.05';

/** Names of tables, quoted for statements. */
export class TableNames {
  readonly #prefix: string;
  readonly #schema: string | undefined;

  constructor({ schema, prefix = 'idp_' }: Pick<PostgresOptions, 'schema' | 'prefix'>) {
    this.#schema = schema;
    this.#prefix = prefix;
  }

  /** Returns the name of a table, with its schema. */
  at(name: string): string {
    return this.#schema === undefined ? this.own(name) : `"${this.#schema}".${this.own(name)}`;
  }

  /** Returns the name of a table or index within its schema. */
  own(name: string): string {
    return `"${this.#prefix}${name}"`;
  }

  /** Returns an expression for the number of the advisory lock under which the tables are made. */
  get lock(): string {
    const schema = this.#schema === undefined ? 'current_schema()' : `'${this.#schema}'`;
    return `hashtextextended('tenant-idp ' || coalesce(${schema}, '') || '.${this.#prefix}', 0)`;
  }
}

/** Remedies for an operator, by the SQLSTATE with which the server refuses to make a table. @see PostgreSQL, Appendix A */
const refusals = new Map([
  ['42501', 'grant usage and create on the schema to the role of the service, or make the tables by a role that may'],
  ['3F000', 'create the schema, and grant usage and create on it to the role of the service'],
]);

/**
 * Makes missing tables. The role needs the right to create tables only if a table is missing. The role must be able to read and write all tables.
 * @throws IdpError `store_unfit`
 */
export async function makeTables(connection: Connection, names: TableNames, tables: readonly Table[]): Promise<void> {
  const missing = tables.map(({ name }) => `to_regclass('${names.at(name)}') is null`).join(' or ');
  const granted = tables.flatMap(({ name }) =>
    ['select', 'insert', 'update', 'delete'].map((right) => `has_table_privilege(to_regclass('${names.at(name)}'), '${right}')`),
  );
  try {
    const isGranted = await connection.run(async (call) => {
      const [row] = await call.read(`select (${missing})::text as missing, (${granted.join(' and ')})::text as granted`);
      if (row?.missing !== 'false') await call.read(blockOf(names, tables));
      return row?.granted !== 'false';
    }, OPEN_DEADLINE_MS);
    if (!isGranted)
      throw unfit('tables that the role may use', 'grant select, insert, update and delete on the tables to the role of the service');
  } catch (cause) {
    const change = refusals.get(codeOf(cause) ?? '');
    throw change === undefined ? cause : unfit('tables, or the right to create them', change, cause);
  }
}

const unfit = (expected: string, change: string, cause?: unknown): IdpError =>
  new IdpError('store_unfit', { store: 'postgres', setting: 'privileges', expected, change }, { cause });

/**
 * Returns one statement that makes the tables under a lock of the statement's transaction. A node that is stopped or killed therefore never leaves the lock
 * behind. No other node sees only some of the tables.
 */
function blockOf(names: TableNames, tables: readonly Table[]): string {
  const made = tables.flatMap((table) => statementsOf(names, table)).join(' ');
  return `do $make$ begin perform pg_advisory_xact_lock(${names.lock}); ${made} end $make$`;
}

function statementsOf(names: TableNames, { name, columns, storage, indexes = {} }: Table): string[] {
  const at = names.at(name);
  return [
    `create table if not exists ${at} (${columns})${storage === undefined ? '' : ` with (${storage})`};`,
    ...Object.entries(indexes).map(([index, rest]) => {
      const unique = index.startsWith('unique ') ? 'unique ' : '';
      return `create ${unique}index if not exists ${names.own(`${name}_${index.slice(unique.length)}`)} on ${at} ${rest};`;
    }),
  ];
}
