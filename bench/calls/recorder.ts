/** Recorder of calls, loaded before everything else (`--import`). Records the file of each function that is called. */
import { register } from 'node:module';

const files: string[] = [];
Object.assign(globalThis, { benchCalled: (file: string) => files.push(file) });
register('./instrument.js', import.meta.url);

/** Returns the files of the calls since the last call, in order. */
export const takeCalls = (): readonly string[] => files.splice(0);
