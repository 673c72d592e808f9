/**
 * Tear-down after all tests: ends the servers that the set-up started. Then the reaper ends all other processes of the run and removes the
 * folder that tests shared.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { keeping } from './keeping.js';

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
}

export default async function tearDown(): Promise<void> {
  await end(keeping.keeper);
  await end(keeping.reaper);
}
