/**
 * Measurements:
 * - `npm run bench`: this library and bare oidc-provider side by side.
 * - `npm run bench -- growth`: this library with a thousand and with a million tokens stored.
 * - `npm run bench -- growth-postgres`: the same with artifacts in PostgreSQL.
 * - `npm run bench -- start-up`: costs of a process before its first answer.
 * - `npm run bench -- lists`: lists and look-ups of a tenant with a thousand and with a hundred thousand persons.
 * - `npm run bench -- sign-in`: the steps of a sign-in for which users wait.
 * - `npm run bench -- stores`: this library and bare oidc-provider with durable directories.
 * - `npm run bench -- join <file> <file>`: tables of earlier runs in one, from the files of `BENCH_JSON`.
 * - `npm run bench -- feed`: how late three nodes forget rows at 200 writes a second.
 * - `npm run bench -- pauses`: delays of calls to a file by checkpoints and by a backup.
 * - `npm run bench -- saml`: SAML responses, by samlify and by this library.
 * - `npm run bench -- calls`: calls from file to file in a request.
 *
 * Environment:
 * - `BENCH_ROUNDS` (24)
 * - `BENCH_SLICE` (75, milliseconds)
 * - `BENCH_ROWS` (parts of rows' names, comma-separated; all rows)
 * - `BENCH_AGAINST` (`plain,control,published`)
 * - `BENCH_BEFORE` (folder of another checkout of this repository, with its `dist`, whose build is measured too)
 * - `BENCH_JSON` (file for the figures of the tables)
 * - `BENCH_PROFILE` (folder for a V8 CPU profile of this library)
 * - `BENCH_TOKENS` (1000000)
 * - `BENCH_PERSONS` (100000)
 */

import { measureCalls } from './calls.js';
import { measureFeed } from './feed.js';
import { measureGrowth, measurePostgresGrowth } from './growth.js';
import { measureLists } from './lists.js';
import { measurePauses } from './pauses.js';
import { joinReports } from './results/report.js';
import { measureSaml } from './saml.js';
import { pinLoad, pinning } from './servers/cores.js';
import { measureSideBySide } from './side-by-side.js';
import { measureSignIns } from './sign-in.js';
import { measureStartUp } from './start-up.js';
import { measureStores } from './stores.js';

const [, , what, ...files] = process.argv;
// Programs that the bench started end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
pinLoad();
const measures = {
  growth: measureGrowth,
  'growth-postgres': measurePostgresGrowth,
  lists: measureLists,
  'start-up': measureStartUp,
  'sign-in': measureSignIns,
  stores: measureStores,
  join: () => joinReports(files),
  feed: measureFeed,
  pauses: measurePauses,
  saml: measureSaml,
  calls: measureCalls,
};
const measure = measures[what as keyof typeof measures] ?? measureSideBySide;
console.log(await measure());
console.log(`\nNode ${process.versions.node}; ${pinning}.`);
// Clients of stores may still be connected.
process.exit(0);
