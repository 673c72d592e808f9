import type { ChildProcess } from 'node:child_process';

/** Processes that the set-up and the tear-down of one run share. */
export const keeping: { keeper?: ChildProcess; reaper?: ChildProcess } = {};
