/**
 * `npm run bench`: this library and bare oidc-provider side by side. `npm run bench -- growth`: this library with a thousand and with a million
 * tokens stored.
 *
 * Environment: `BENCH_ROUNDS` (32), `BENCH_SLICE` (150, milliseconds), `BENCH_ROWS` (parts of rows' names, comma-separated; all rows),
 * `BENCH_AGAINST` (`plain,control,published`), `BENCH_PROFILE` (folder for a V8 CPU profile of ours), `BENCH_TOKENS` (1000000).
 */
import { pinLoad, pinning } from './cores.js';
import { measureGrowth } from './growth.js';
import { measureSideBySide } from './side-by-side.js';

const [, , what] = process.argv;
// What was started ends when this process does.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
pinLoad();
console.log(what === 'growth' ? await measureGrowth() : await measureSideBySide());
console.log(`\nNode ${process.versions.node}; ${pinning}.`);
