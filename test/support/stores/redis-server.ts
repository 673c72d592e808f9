/** A Redis server for one test, in a separate folder. The test can configure, kill, pause and restart the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../service/free-port.js';
import { LIMIT_MS } from '../time/in-time.js';

export interface RedisServerOptions {
  /** Port of the server. @default a free port */
  readonly port?: number;
  /** Folder of the server's files. @default a new folder under the system's temporary folder, removed by `stop` */
  readonly dir?: string;
  /** Text of a configuration file, for settings that the command line cannot express. */
  readonly config?: string;
  /** Arguments of the command line: `['--maxmemory-policy', 'allkeys-lru']`. */
  readonly args?: readonly string[];
}

/** Arguments that keep the environment of the process, by which the reaper of the run finds it. A title would overwrite the environment. */
const ofRun = ['--set-proc-title', 'no'];

export class RedisServer {
  readonly port: number;
  readonly dir: string;
  readonly #command: readonly string[];
  readonly #ownsDir: boolean;
  #process: ChildProcess | undefined;

  private constructor(port: number, dir: string, ownsDir: boolean, file: readonly string[], args: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#ownsDir = ownsDir;
    this.#command = [
      ...file,
      '--bind',
      '127.0.0.1',
      '--port',
      `${port}`,
      '--dir',
      dir,
      '--save',
      '',
      '--daemonize',
      'no',
      ...ofRun,
      ...args,
    ];
  }

  /** Starts a server, and waits until the server answers. The server saves nothing unless `args` say so. */
  static async start({ port, dir, config, args = [] }: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = dir ?? (await mkdtemp(join(tmpdir(), 'redis-server-')));
    const file = config === undefined ? [] : [join(folder, 'redis.conf')];
    const server = new RedisServer(port ?? (await freePort()), folder, dir === undefined, file, args);
    try {
      for (const path of file) await writeFile(path, config ?? '');
      await server.restart();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error('redis-server does not run.');
    return this.#process.pid;
  }

  /** Starts the server again on the same port and folder, after `kill`. */
  async restart(): Promise<void> {
    const child = spawn('redis-server', this.#command, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
    const ended = once(child, 'close').then(() => Promise.reject(new Error(`redis-server ended: ${output}`)));
    failed.catch(() => {});
    ended.catch(() => {});
    await Promise.race([this.#answers(), failed, ended]);
  }

  /** Kills the server by SIGKILL, as `kill -9` does. Unsaved data is lost. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Suspends the server: connections stay open, and nothing is answered. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Kills the server, and removes the folder if `start` made the folder. */
  async stop(): Promise<void> {
    await this.#end('SIGKILL');
    if (this.#ownsDir) await rm(this.dir, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async #answers(): Promise<void> {
    for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(20)) {
      if (await ping(this.port)) return;
    }
    throw new Error(`redis-server does not answer on port ${this.port}.`);
  }
}

const ping = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(20_000, () => socket.destroy());
    socket.once('data', (answer) => {
      resolve(`${answer}`.startsWith('+PONG'));
      socket.destroy();
    });
    socket.once('error', () => {});
    socket.once('close', () => resolve(false));
  });
