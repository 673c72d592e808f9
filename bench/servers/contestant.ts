import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Participant } from '../requests/load.js';
import { onContestantCore } from './cores.js';

/** A server in a separate process. */
export interface Contestant extends Participant {
  /** All issuers of the server. `issuer` is the first of them. */
  readonly issuers: readonly string[];
  stop(): Promise<void>;
}

export interface ContestantOptions {
  /** File in the folder of the servers, without extension. */
  readonly module: 'bare' | 'ours';
  /** Folder of the servers. @default this folder */
  readonly servers?: string | undefined;
  /** Variables that are added to the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder that gets a V8 CPU profile when the contestant stops. */
  readonly profile?: string | undefined;
}

const here = fileURLToPath(new URL('.', import.meta.url));

export async function startContestant({ module, servers = here, env, profile }: ContestantOptions): Promise<Contestant> {
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const [execPath, ...execArgv] = onContestantCore([process.execPath, ...flags]);
  const child = fork(join(servers, `${module}.js`), {
    execPath,
    execArgv,
    env: { ...process.env, ...env },
    // Notices about development defaults are no part of the report.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const issuers = await answerOf<readonly [string, ...string[]]>(child);
  return {
    issuer: issuers[0],
    issuers,
    jwtIssuer: module === 'bare' ? issuers[1] : undefined,
    cpuTime() {
      child.send('cpu');
      return answerOf<number>(child);
    },
    async stop() {
      const ended = once(child, 'exit');
      if (child.connected) child.disconnect();
      if (child.exitCode === null) await ended;
    },
  };
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const stop = new AbortController();
  try {
    const ended = once(child, 'exit', stop).then(([code]) =>
      Promise.reject(new Error(`${child.spawnargs.at(-1)} ended with code ${code}`)),
    );
    const [answer] = (await Promise.race([once(child, 'message', stop), ended])) as [T];
    return answer;
  } finally {
    stop.abort();
  }
}
