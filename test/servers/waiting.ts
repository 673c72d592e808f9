/** A test file that waits for good. `ended-run.test.ts` runs it, by a pattern of its own, and ends the run. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { PostgresServer } from '../support/stores/postgres-server.js';
import { MARK } from './reaper.js';

test('waits', async () => {
  // Its processes neither have the environment of the run nor see that the first of them is gone.
  const postgres = await PostgresServer.start().catch(() => undefined);
  postgres?.pause();
  // Nothing tells it that its parent is gone.
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' }).unref();
  const { [MARK]: folder = '', WAITING = '' } = process.env;
  writeFileSync(WAITING, JSON.stringify({ folder, jest: process.ppid }));
  // No event reaches the worker any more.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  expect(true).toBe(false);
});
