import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
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
  /** File in this folder, without extension. */
  readonly module: 'bare' | 'ours';
  /** Variables that are added to the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder that gets a V8 CPU profile when the contestant stops. */
  readonly profile?: string | undefined;
}

export async function startContestant({ module, env, profile }: ContestantOptions): Promise<Contestant> {
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const [execPath, ...execArgv] = onContestantCore([process.execPath, ...flags]);
  const child = fork(fileURLToPath(new URL(`./${module}.js`, import.meta.url)), {
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
