/** Loaded before everything else (`--import`): has each function of what follows tell its file when it is called. */
import { register } from 'node:module';

const files: string[] = [];
Object.assign(globalThis, { benchCalled: (file: string) => files.push(file) });
register('./instrument.js', import.meta.url);

/** Files of the calls since the last time, in order. */
export const takeCalls = (): readonly string[] => files.splice(0);
