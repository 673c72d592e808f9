/** Several nodes behind one port: npm run start:production. `worker.ts` serves. */
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isFirstStart, writeEnvFile } from './env-file.js';
import { readSettings, type Settings, SettingsError } from './settings.js';

/** Milliseconds until a new process replaces one that ended. */
const RESTART_DELAY_MS = 1_000;

/** Milliseconds until a process that does not end is killed. The time in which requests may end is shorter. */
const KILL_AFTER_MS = 15_000;

let isUp = false;
let ending = false;

/** Starts a process. @returns whether the process began to serve. */
function start(): Promise<boolean> {
  const worker = cluster.fork();
  return new Promise((resolve) => {
    worker.once('listening', () => resolve(true)).once('exit', () => resolve(false));
  });
}

async function replace({ process: { pid } }: Worker, code: number, signal: string): Promise<void> {
  if (!isUp || ending) return;
  console.error(`Process ${pid} ended (${signal || code}); another takes its place.`);
  await sleep(RESTART_DELAY_MS);
  if (!ending) cluster.fork();
}

/** Ends this process after the last worker. */
function end(): void {
  ending = true;
  for (const worker of Object.values(cluster.workers ?? {})) {
    worker?.process.kill('SIGTERM');
    setTimeout(() => worker?.process.kill('SIGKILL'), KILL_AFTER_MS).unref();
  }
}

async function run({ issuer, host, port, processes }: Settings): Promise<void> {
  // Each process accepts connections itself. With round robin, the default of Node.js, a connection to a process that has just died would hang.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec: fileURLToPath(new URL('./worker.js', import.meta.url)) });
  cluster.on('exit', (...exit) => void replace(...exit));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  // The first process starts alone, because it creates indexes and records, and reports problems.
  isUp = await start();
  if (ending) return;
  if (!isUp) {
    process.exitCode = 1;
    return;
  }
  await Promise.all(Array.from({ length: processes - 1 }, start));
  if (!ending)
    console.log(
      `${processes === 1 ? 'One process serves' : `${processes} processes serve`} ${issuer} on ${host}:${port}. SIGTERM or Ctrl-C ends them.`,
    );
}

try {
  if (isFirstStart()) {
    writeEnvFile('.env');
    console.log('.env has new keys. Keep it as safe as the file of the records: each is of no use without the other.');
  }
  await run(readSettings());
} catch (error) {
  console.error(error instanceof SettingsError ? error.message : error);
  process.exitCode = 1;
}
