/** The service in a separate process, so that tests see its end. `fuzz.test.ts` starts the process, which sends the registered routes. */
import { recordedRoutes } from './recorded-routes.js';
import type { Route } from './request-grammar.js';

/** Message to the process that started this one. */
export type FromFuzzed = { readonly issuer: string; readonly routes: readonly Route[] } | { readonly logged: readonly string[] };
const tell = (message: FromFuzzed) => process.send?.(message);

const { inspect } = await import('node:util');
const { startIdp } = await import('../service/idp.js');
const { issuer, logged } = await startIdp({
  seed: JSON.parse(process.argv[2] ?? ''),
  limits: { signInFailures: 100, signInFailuresPerAddress: 100_000 },
});
process.on('disconnect', () => process.exit());
process.on('message', () => tell({ logged: logged.map((line) => inspect(line, { depth: 4 })) }));
tell({ issuer, routes: recordedRoutes() });
