/** A test file that waits for good. `ended-run.test.ts` runs it, by a pattern of its own, and ends the run. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { MARK } from './reaper.js';

test('waits', () => {
  // Nothing tells it that its parent is gone.
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' }).unref();
  const { [MARK]: folder = '', WAITING = '' } = process.env;
  writeFileSync(WAITING, JSON.stringify({ folder, jest: process.ppid }));
  // No event reaches the worker any more.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  expect(true).toBe(false);
});
