/**
 * Set-up before all tests: creates the folder that tests share, and starts the reaper that ends the whole run. Starts each of Redis, Redis
 * Cluster, MongoDB and PostgreSQL that a selected test names, unless the environment gives its address.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Report } from './keeper.js';
import { keeping } from './keeping.js';
import { MARK } from './reaper.js';
import { type ServerVariable, serverVariables } from './variables.js';

/** The part of Jest's configuration that the set-up reads. */
interface Selection {
  readonly rootDir: string;
  readonly testPathPatterns: { toExecutor(options: { rootDir: string }): { isMatch(path: string): boolean } };
}

export default async function setUp({ rootDir, testPathPatterns }: Selection): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tests-'));
  // PostgreSQL runs as a user of its own, with its data in a folder below.
  await chmod(folder, 0o711);
  keeping.reaper = spawn(process.execPath, [fileURLToPath(new URL('./reaper.js', import.meta.url)), folder, `${process.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  process.env[MARK] = folder;
  // Nodes and workers load the same modules again and again. Node 22 and later read this variable; Node 20 has no such cache.
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
  // Each process that tests start imports this module first.
  const givenKeys = new URL('../jest/given-keys.js', import.meta.url).href;
  process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, `--import=${givenKeys}`].filter(Boolean).join(' ');
  const selected = testPathPatterns.toExecutor({ rootDir });
  const tests = fileURLToPath(new URL('..', import.meta.url));
  const files = (await readdir(tests, { recursive: true })).filter((path) => path.endsWith('.test.js')).map((path) => tests + path);
  const texts = await Promise.all(files.filter((path) => selected.isMatch(path)).map((path) => readFile(path, 'utf8')));
  const needed = serverVariables.filter((variable) => !process.env[variable] && texts.some((text) => text.includes(variable)));
  if (needed.length === 0) return;

  const { urls, missing } = await start(needed, folder);
  Object.assign(process.env, urls, { KEPT_SERVERS: Object.keys(urls).join() });
  const lines = Object.entries(missing).map(([variable, reason]) => `${variable}: ${reason}`);
  if (lines.length > 0 && process.env.CI === 'true') throw new Error(`Servers are missing.\n${lines.join('\n')}`);
  for (const line of lines) process.stderr.write(`\n!! SKIPPED what needs ${line}, or set ${line.split(':')[0]}.\n\n`);
}

/** Starts the servers. @param folder the folder of the run, for the data of the servers; it goes with the run, however the run ends */
async function start(variables: readonly ServerVariable[], folder: string): Promise<Report> {
  const keeper = spawn(process.execPath, [fileURLToPath(new URL('./keeper.js', import.meta.url)), ...variables], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, [MARK]: undefined, TMPDIR: folder },
  });
  keeping.keeper = keeper;
  const ended = once(keeper, 'exit').then(([code]) => Promise.reject(new Error(`The keeper of the test servers ended with ${code}.`)));
  ended.catch(() => {});
  const [line] = (await Promise.race([once(createInterface(keeper.stdout), 'line'), ended])) as [string];
  return JSON.parse(line) as Report;
}
