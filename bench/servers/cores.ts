/** Assignment of cores: contestants on the first core, the load and Redis on the second core, so that no process slows another. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const contestantCore = '0';
const loadCore = '1';

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Description of the assignment, for the report. */
export const pinning = canPin ? 'contestants on one core, load and Redis on another' : 'not pinned: one core, or no `taskset`';

/** Moves this process, and programs that it starts later, to the core of the load. */
export function pinLoad(): void {
  if (canPin) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', loadCore, String(process.pid)]);
}

/** Returns a command that runs the given command on the contestants' core. */
export const onContestantCore = (command: readonly [string, ...string[]]): readonly [string, ...string[]] =>
  canPin ? ['taskset', '--cpu-list', contestantCore, ...command] : command;
