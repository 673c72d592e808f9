/** What V8 counts of the code that test files run. */

import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

let session: Session | undefined;

/** Counts from here to the end of the process, because V8 counts blocks of those functions alone that it compiles while it counts. */
export async function startCoverage(): Promise<void> {
  if (session) return;
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

/** What was run since it was asked for last, by path. */
export async function takeCoverage(): Promise<readonly Profiler.ScriptCoverage[]> {
  const { result } = (await session?.post('Profiler.takePreciseCoverage')) ?? { result: [] };
  return result.filter(({ url }) => url.startsWith('file://')).map((script) => ({ ...script, url: fileURLToPath(script.url) }));
}
