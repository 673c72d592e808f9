/** Which core does what: contestants on the first, the load and Redis on the second, so that none of them pays for another. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const contestantCore = '0';
const loadCore = '1';

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** How the machine is shared, for the report. */
export const pinning = canPin ? 'contestants on one core, load and Redis on another' : 'not pinned: one core, or no `taskset`';

/** Moves this process, and what it starts from now on, to the core of the load. */
export function pinLoad(): void {
  if (canPin) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', loadCore, String(process.pid)]);
}

/** A command that runs this one on the contestants' core. */
export const onContestantCore = (command: readonly [string, ...string[]]): readonly [string, ...string[]] =>
  canPin ? ['taskset', '--cpu-list', contestantCore, ...command] : command;
