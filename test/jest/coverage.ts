/** Coverage: the counts of V8 for the code that test files run. */

import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

let session: Session | undefined;

/** Starts counting, to the end of the process, because V8 counts blocks only of functions that it compiles while it counts. */
export async function startCoverage(): Promise<void> {
  if (session) return;
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

/** Returns the counts since the last call. `url` is the path of the script. */
export async function takeCoverage(): Promise<readonly Profiler.ScriptCoverage[]> {
  const { result } = (await session?.post('Profiler.takePreciseCoverage')) ?? { result: [] };
  return result.filter(({ url }) => url.startsWith('file://')).map((script) => ({ ...script, url: fileURLToPath(script.url) }));
}
