import { IdpError } from '../../lib/errors.js';
import type { Connection } from './connection.js';

/** Oldest version that supports every statement of the stores. */
const OLDEST = 15;

/** Rule for a setting of the server. With an unfit value, the server would lose or mix up records. */
interface Rule {
  readonly setting: string;
  /** SQL expression for the value. Undefined and null are accepted, because a hosted server may hide a setting. */
  readonly found: string;
  readonly isFit: (found: string) => boolean;
  readonly expected: string;
  readonly change: string;
}

const shown = (setting: string): string => `current_setting('${setting}', true)`;
/**
 * Returns an SQL expression for a setting about files. On Neon, the expression is null, because PostgreSQL has no files to flush there. Neon flushes the
 * log to other servers.
 */
const ofFiles = (setting: string): string => `case when ${shown('neon.timeline_id')} is null then ${shown(setting)} end`;

const rules: readonly Rule[] = [
  {
    setting: 'server_version',
    found: shown('server_version'),
    isFit: (found) => Number.parseInt(found, 10) >= OLDEST,
    expected: `${OLDEST} or later`,
    change: `a server of version ${OLDEST} or later`,
  },
  {
    setting: 'pg_is_in_recovery()',
    found: 'pg_is_in_recovery()::text',
    isFit: (found) => found === 'false',
    expected: 'false',
    change: 'connect to the primary, because a replica answers with old records and takes no writes',
  },
  {
    setting: 'transaction_read_only',
    found: shown('transaction_read_only'),
    isFit: (found) => found === 'off',
    expected: 'off',
    change: 'alter role … reset default_transaction_read_only, and the same for the database',
  },
  {
    // At a higher level, a statement that waited for the lock of another transaction would not see the writes of this transaction.
    setting: 'default_transaction_isolation',
    found: shown('default_transaction_isolation'),
    isFit: (found) => found === 'read committed' || found === 'read uncommitted',
    expected: 'read committed',
    change: "alter role … set default_transaction_isolation = 'read committed'",
  },
  {
    // If `array_nulls` is off, the server stores a null in an array of parameters as the text NULL.
    setting: 'array_nulls',
    found: shown('array_nulls'),
    isFit: (found) => found === 'on',
    expected: 'on',
    change: 'alter role … reset array_nulls, and the same for the database and the server',
  },
  {
    setting: 'server_encoding',
    found: shown('server_encoding'),
    isFit: (found) => found === 'UTF8',
    expected: 'UTF8',
    change: "a database that was created with encoding 'UTF8'",
  },
  {
    setting: 'fsync',
    found: ofFiles('fsync'),
    isFit: (found) => found === 'on',
    expected: 'on',
    change: "alter system set fsync = 'on'; select pg_reload_conf()",
  },
  {
    setting: 'full_page_writes',
    found: ofFiles('full_page_writes'),
    isFit: (found) => found === 'on',
    expected: 'on',
    change: "alter system set full_page_writes = 'on'; select pg_reload_conf()",
  },
  {
    setting: 'synchronous_commit',
    found: shown('synchronous_commit'),
    isFit: (found) => found !== 'off',
    expected: 'on, remote_apply, remote_write or local',
    change: 'alter role … reset synchronous_commit, and the same for the database and the server',
  },
];

const columns = rules.map(({ found }, index) => `${found} as c${index}`).join(', ');

/**
 * Refuses a server that would lose acknowledged writes, return old records, or fail to store some texts.
 * @throws IdpError `store_unfit`; Error if the server cannot be reached.
 */
export async function checkServer(connection: Connection): Promise<void> {
  const [row] = await connection.read(`select ${columns}`);
  for (const [index, { setting, isFit, expected, change }] of rules.entries()) {
    const found = row?.[`c${index}`];
    if (found === undefined || found === null || isFit(found)) continue;
    throw new IdpError('store_unfit', { store: 'postgres', setting, found, expected, change });
  }
}
