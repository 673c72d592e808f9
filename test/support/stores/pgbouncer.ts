/** PgBouncer in transaction mode in front of a PostgreSQL server. Each transaction goes over any of the few connections to the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MARK } from '../../servers/reaper.js';
import { freePort } from '../service/free-port.js';
import { until } from '../time/until.js';
import { statement } from './places.js';
import { account, bound } from './postgres-server.js';

/** Path of PgBouncer in Debian's package. The folder is not on the PATH of every user. */
export const PGBOUNCER = '/usr/sbin/pgbouncer';

export interface PgBouncer {
  /** URL of the same database through PgBouncer. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer. @param connections number of connections to the server, for all clients together */
export async function startPgBouncer(target: string, connections: number): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(target);
  const url = new URL(target);
  url.port = `${await freePort()}`;
  url.hostname = '127.0.0.1';
  const dir = await mkdtemp(join(process.env[MARK] ?? tmpdir(), 'pgbouncer-'));
  const [config, users] = [join(dir, 'pgbouncer.ini'), join(dir, 'users')];
  await writeFile(users, `"${username}" "${password}"\n`);
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${url.port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 200
`,
  );
  const user = account();
  if (user) for (const path of [dir, config, users]) await chown(path, user.uid, user.gid);
  const [command, args] = bound(PGBOUNCER, ['-q', config]);
  const child = spawn(command, args, { ...user, cwd: dir, stdio: 'ignore' });
  const stop = async () => {
    await end(child);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await until(() => {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}.`);
      return statement(url.href, 'select 1').catch(() => undefined);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: url.href, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
