/**
 * Ends a whole run. Jest cannot: if Jest is killed, its workers go on, and so do the processes that tests started. The reaper runs next to
 * Jest in a session of its own. Its standard input ends whatever becomes of Jest. Then the reaper kills each process that has the folder of
 * the run in its environment or works in that folder, and removes the folder. When one of the npm processes above Jest ends, the reaper
 * ends Jest, because npm forwards SIGTERM and SIGINT alone.
 *
 * Without /proc, workers notice by themselves that Jest ended (`../jest/runtime.ts`).
 */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * Environment variable of each process of a run, with the folder of the run. The servers of the run do not have the variable, because their
 * keeper ends them.
 */
export const MARK = 'FOLDER_OF_RUN';

const LOOK_MS = 500;

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

const environmentOf = (pid: number): readonly string[] => contentOf(`/proc/${pid}/environ`).split('\0');

/** Returns the processes that were started with this variable in their environment: `NAME=value`. */
export const processesWith = (variable: string): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && environmentOf(pid).includes(variable) && statusOf(pid).state !== 'Z');

/** Returns the processes whose working directory is this folder or one in it. PostgreSQL overwrites the environment of its processes. */
export const processesIn = (folder: string): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && `${workingDirectoryOf(pid)}/`.startsWith(`${folder}/`) && statusOf(pid).state !== 'Z');

function workingDirectoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

/** Returns the data of the system about a process. @see proc_pid_stat(5) */
function statusOf(pid: number): { readonly state: string; readonly parent: number; readonly startedAt: string } {
  const text = contentOf(`/proc/${pid}/stat`);
  // The name of the program is in parentheses, and may have parentheses itself.
  const [state = '', parent = '0', ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent), startedAt: more[17] ?? '' };
}

interface Seen {
  readonly pid: number;
  readonly startedAt: string;
}

/** Whether a process has ended. Another process may have its number by now. */
function hasEnded({ pid, startedAt }: Seen): boolean {
  const now = statusOf(pid);
  return now.startedAt !== startedAt || now.state === 'Z';
}

/** Returns the processes above one that npm started, up to the npm that a person or a script called. */
function npmsAbove(pid: number): Seen[] {
  const isOfNpm = environmentOf(pid).some((variable) => variable.startsWith('npm_lifecycle_event='));
  const { parent } = statusOf(pid);
  if (!isOfNpm || parent <= 1) return [];
  return [{ pid: parent, startedAt: statusOf(parent).startedAt }, ...npmsAbove(parent)];
}

const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {} // the process has ended
};

async function reap(folder: string): Promise<void> {
  const others = () => [...processesWith(`${MARK}=${folder}`), ...processesIn(folder)].filter((pid) => pid !== process.pid);
  for (let left = others(); left.length > 0; left = others()) {
    for (const pid of left) kill(pid, 'SIGKILL');
    await sleep(20);
  }
}

async function main(folder: string, jest: number): Promise<void> {
  const ended = once(process.stdin.resume(), 'close');
  const hasProc = existsSync('/proc/self/environ');
  const above = hasProc ? npmsAbove(jest) : [];
  const look = setInterval(() => {
    if (above.some(hasEnded)) kill(jest, 'SIGKILL');
  }, LOOK_MS);
  await ended;
  clearInterval(look);
  if (hasProc) await reap(folder);
  rmSync(folder, { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  await main(process.argv[2] ?? '', Number(process.argv[3]));
  process.exit();
}
