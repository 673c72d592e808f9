import type { ChildProcess } from 'node:child_process';

/** Shared by the set-up and the tear-down of one run. */
export const keeping: { keeper?: ChildProcess; reaper?: ChildProcess } = {};
