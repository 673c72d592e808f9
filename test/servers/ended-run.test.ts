/** A run of tests that gets a signal to end, or is killed, leaves no process and no folder. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { until } from '../support/time/until.js';
import { findProgram } from './programs.js';
import { processesIn, processesWith } from './reaper.js';

interface Run {
  /** Processes at the time when the test waits: npm twice, Jest, its reaper, a worker, and what the test started. */
  readonly pids: readonly number[];
  readonly npm: number;
  readonly jest: number;
  readonly folder: string;
  left(): number[];
}

/** Starts `npm test` as a developer does, with one test file. Returns when the test waits. */
async function start(): Promise<Run> {
  const mark = randomUUID();
  const file = join(tmpdir(), `waiting-${mark}`);
  // Skips the two scripts before `test`, because this run is already built.
  const args = ['test', '--ignore-scripts', '--', '--testMatch', '<rootDir>/dist/test/servers/waiting.js'];
  const env = { ...process.env, WAITING: file, RUN_UNDER_TEST: mark };
  const npm = spawn('npm', args, { env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  npm.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(() => {
    if (npm.exitCode !== null) throw new Error(said);
    return existsSync(file) && readFileSync(file, 'utf8') !== '';
  });
  const left = () => processesWith(`RUN_UNDER_TEST=${mark}`);
  const { folder, jest } = JSON.parse(readFileSync(file, 'utf8')) as { folder: string; jest: number };
  await rm(file);
  return { pids: left(), npm: npm.pid as number, jest, folder, left };
}

const runs: Run[] = [];
afterEach(() => {
  for (const pid of runs.splice(0).flatMap(({ left }) => left())) process.kill(pid, 'SIGKILL');
});

const signals = process.env.PROVE ? (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const) : (['SIGTERM', 'SIGHUP'] as const);

/** Runs a test on Linux alone, because the reaper finds processes by /proc. */
const testOnLinux = process.platform === 'linux' ? test : test.skip;

testOnLinux.each([...signals.map((signal) => ['npm', signal] as const), ['jest', 'SIGKILL'] as const])(
  'a run whose %s gets %s, while a worker sees no event, leaves nothing',
  async (which, signal) => {
    const started = await start();
    runs.push(started);
    const { pids, folder, left, ...run } = started;
    if (findProgram(['postgres'])) expect(processesIn(folder).length).toBeGreaterThan(1);
    expect(pids.length).toBeGreaterThanOrEqual(6);
    expect(pids).toEqual(expect.arrayContaining([run.npm, run.jest]));
    expect(existsSync(folder)).toBe(true);
    // A terminal sends SIGINT to all processes in the foreground. The shell between npm and Jest would not pass the signal on.
    process.kill(signal === 'SIGINT' ? -run.npm : run[which], signal);
    await until(
      () => left(),
      ({ length }) => length === 0,
    );
    expect(processesIn(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  },
);
