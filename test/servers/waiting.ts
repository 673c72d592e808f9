/** A test file that waits for good. `ended-run.test.ts` runs this file, by a pattern of its own, and ends the run. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { PostgresServer } from '../support/stores/postgres-server.js';
import { MARK } from './reaper.js';

test('waits', async () => {
  // The processes of PostgreSQL do not have the environment of the run. They do not notice that the first of them has ended.
  const postgres = await PostgresServer.start().catch(() => undefined);
  postgres?.pause();
  // This process does not notice that its parent has ended.
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' }).unref();
  const { [MARK]: folder = '', WAITING = '' } = process.env;
  writeFileSync(WAITING, JSON.stringify({ folder, jest: process.ppid }));
  // No event reaches the worker any more.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  expect(true).toBe(false);
});
