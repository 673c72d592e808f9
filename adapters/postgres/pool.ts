import { ConfigError, type ConfigProblem } from '../../lib/errors.js';

/** Connection that is checked out of a pool. */
export interface PostgresClient {
  /** Sends one statement with parameters, by the extended protocol. Parameters are texts and arrays of texts. */
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** Returns the connection to the pool. With `true`, the connection is closed instead. */
  release(destroy?: boolean): void;
}

/**
 * Members of a pool that the stores use. A `Pool` of the driver `pg` has these members. No statement depends on another statement. Any driver can therefore
 * be used that sends a statement with parameters, and that returns rows as objects.
 * @example
 * ```ts
 * import type { PostgresPool } from 'tenant-idp/adapters/postgres';
 *
 * interface Reserved {
 *   unsafe(text: string, values: unknown[]): Promise<readonly object[]>;
 *   release(): void;
 * }
 *
 * // For the package `postgres`: poolOf(postgres(url, { prepare: false })).
 * export const poolOf = (sql: { reserve(): Promise<Reserved> }): PostgresPool => ({
 *   async connect() {
 *     const reserved = await sql.reserve();
 *     return { query: async (text, values) => ({ rows: await reserved.unsafe(text, values) }), release: () => reserved.release() };
 *   },
 * });
 * ```
 */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}

export interface PostgresOptions {
  /** Pool of the driver `pg`, or an object with the same `connect`. The host closes the pool. */
  readonly pool: PostgresPool;
  /** Schema of the tables. @default the first schema of the role's `search_path` */
  readonly schema?: string;
  /** Prefix of the names of all tables and indexes. @default `idp_` */
  readonly prefix?: string;
}

/**
 * Options for a `Pool` of the driver `pg`, to spread into your own options. None of these options is sent to the server, because a pooler in between would
 * refuse the option. `connectionTimeoutMillis` is longer than the deadline of a call. Otherwise this timer would close a connection whose answer a busy
 * node has not read yet.
 */
export const postgresOptions = {
  connectionTimeoutMillis: 3000,
  idleTimeoutMillis: 60_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const;

/** Checks the options of a store. @throws ConfigError `invalid_options` */
export function checkOptions({ pool, schema, prefix }: PostgresOptions): void {
  const problems: ConfigProblem[] = [];
  if (typeof pool?.connect !== 'function') {
    problems.push({ path: 'pool', expected: "a Pool of the driver 'pg': new Pool({ ...postgresOptions, connectionString })" });
  }
  if (schema !== undefined && !(typeof schema === 'string' && /^\w[\w-]{0,62}$/.test(schema))) {
    const expected = "at most 63 letters, digits, '_' and '-', the first a letter, digit or '_'";
    problems.push({ path: 'schema', expected, received: String(schema) });
  }
  if (prefix !== undefined && !(typeof prefix === 'string' && /^\w{0,32}$/.test(prefix))) {
    problems.push({ path: 'prefix', expected: "at most 32 letters, digits and '_'", received: String(prefix) });
  }
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}

const heard = new WeakSet<object>();
const ignore = (): void => {};

/**
 * Listens for the `error` events of a pool or a client. Without a listener, a connection that breaks while no statement runs would end the process. The
 * next call detects the outage.
 */
export function ignoreErrorEvents(emitter: object): void {
  if (heard.has(emitter)) return;
  heard.add(emitter);
  const { on } = emitter as { on?: (event: 'error', listener: () => void) => unknown };
  if (typeof on === 'function') on.call(emitter, 'error', ignore);
}
