/** A PostgreSQL server for one test, in a separate folder. The test can configure, kill, pause and restart the server. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, realpathSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findProgram } from '../../servers/programs.js';
import { MARK, processesIn } from '../../servers/reaper.js';
import { freePort } from '../service/free-port.js';
import { LIMIT_MS } from '../time/in-time.js';

/** Settings of `postgresql.conf` by name. */
export type PostgresSettings = Readonly<Record<string, string>>;

const usualSettings: PostgresSettings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '300' };

/**
 * Arguments of `initdb`. The server sorts texts by the rules of a language, as many servers do by default. A column that must sort by bytes
 * therefore has to declare a collation.
 */
const newCluster = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale-provider=icu', '--icu-locale=en', '--no-sync'];

const DEBIAN = '/usr/lib/postgresql';

/** Returns the program of the server: the newest version that Debian installed, or the version on the PATH. */
export function findServer(): string | undefined {
  const newest = versionsOf(DEBIAN)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(DEBIAN, version, 'bin/postgres'));
  return findProgram([...newest, 'postgres']);
}

/** Returns the folder of PostgreSQL's programs. */
function programsOf(): string {
  const program = findServer();
  if (program === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql');
  return dirname(realpathSync(program));
}

function versionsOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not Debian, or not installed
  }
}

/**
 * Returns the user and the group as which PostgreSQL runs, because PostgreSQL refuses root. Returns undefined if PostgreSQL runs as the
 * user of this process.
 */
export function account(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe' }));
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    throw new Error('PostgreSQL does not run as root, and there is no user postgres: apt-get install postgresql');
  }
}

/** Returns the command that starts a program. If the system has `setpriv`, the program ends with this process. */
export function bound(program: string, args: readonly string[]): readonly [string, readonly string[]] {
  return findProgram(['setpriv']) === undefined ? [program, args] : ['setpriv', ['--pdeathsig', 'QUIT', program, ...args]];
}

export class PostgresServer {
  readonly port: number;
  /** Folder of the data. */
  readonly dir: string;
  readonly #settings: PostgresSettings;
  #process: ChildProcess | undefined;

  private constructor(port: number, dir: string, settings: PostgresSettings) {
    this.port = port;
    this.dir = dir;
    this.#settings = settings;
  }

  /** Starts a server, and waits until the server answers. Data is synced to disk, as in production, unless the settings turn this off. */
  static async start(settings: PostgresSettings = {}): Promise<PostgresServer> {
    return PostgresServer.#started(settings, (dir) => ['initdb', ['-D', dir, ...newCluster]]);
  }

  /** Starts a replica, which refuses writes. */
  async replica(): Promise<PostgresServer> {
    return PostgresServer.#started(this.#settings, (dir) => [
      'pg_basebackup',
      ['-D', dir, '-R', '-c', 'fast', '-X', 'stream', '-d', this.url],
    ]);
  }

  static async #started(settings: PostgresSettings, fill: (dir: string) => [program: string, args: readonly string[]]) {
    const user = account();
    const dir = await mkdtemp(join(process.env[MARK] ?? tmpdir(), 'postgres-server-'));
    const server = new PostgresServer(await freePort(), dir, settings);
    try {
      if (user) await chown(dir, user.uid, user.gid);
      const [program, args] = fill(dir);
      await promisify(execFile)(join(programsOf(), program), [...args], { ...user, cwd: dir, env: environment() });
      await server.restart();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Returns the process ids of the server: the main process, background workers, and one process for each connection. */
  get pids(): readonly number[] {
    return processesIn(this.dir);
  }

  /** Starts the server again on the same port and data, after `kill`. */
  async restart(): Promise<void> {
    const settings = Object.entries({ ...usualSettings, port: `${this.port}`, ...this.#settings });
    const args = ['-D', this.dir, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    const [command, all] = bound(join(programsOf(), 'postgres'), args);
    const child = spawn(command, all, { ...account(), cwd: this.dir, env: environment(), stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
    const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`PostgreSQL ended: ${output}`)));
    failed.catch(() => {});
    ended.catch(() => {});
    await Promise.race([this.#answers(), failed, ended]);
  }

  /** Kills all processes of the server by SIGKILL, as in a crash of the machine, except that no written data is lost. */
  async kill(): Promise<void> {
    for (let left = this.pids; left.length > 0; left = this.pids) {
      for (const pid of left) signal(pid, 'SIGKILL');
      await sleep(10);
    }
    // At the restart, another process may have the process id that this file names.
    await rm(join(this.dir, 'postmaster.pid'), { force: true });
  }

  /** Suspends the server. Connections stay open, and no statement is answered. */
  pause(): void {
    for (const pid of this.pids) signal(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.pids) signal(pid, 'SIGCONT');
  }

  /** Kills the server, and removes the folder. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #answers(): Promise<void> {
    let last: unknown;
    for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(20)) {
      const client = new pg.Client({ connectionString: this.url });
      client.on('error', () => {});
      try {
        await client.connect();
        return;
      } catch (error) {
        last = error; // the server is starting, or has ended
      } finally {
        await client.end().catch(() => {});
      }
      if (this.#process?.exitCode !== null || this.#process.signalCode !== null) break;
    }
    throw new Error(`PostgreSQL does not answer on port ${this.port}.`, { cause: last });
  }
}

/** Returns an environment for messages in English. */
const environment = () => ({ ...process.env, LC_ALL: 'C' });

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {} // the process has ended
}
