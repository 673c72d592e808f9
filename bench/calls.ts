import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { FlowCalls } from './calls/flows.js';
import { formatTable } from './results/comparison.js';

const pathOf = (module: string): string => new URL(`./calls/${module}.js`, import.meta.url).href;

/** Counts what a reader of a request follows: files whose functions are called, returns to a file, and calls between the library and oidc-provider. */
export async function measureCalls(): Promise<string> {
  const script = `await import(${JSON.stringify(pathOf('flows'))});`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', pathOf('recorder'), '--input-type=module', '--eval', script]);
  // Notices of oidc-provider come first.
  const flows = JSON.parse(stdout.split('\n').at(-1) ?? '') as readonly FlowCalls[];
  return formatTable(
    ['Flow', 'Files, ours + theirs', 'Returns', 'Crossings'],
    flows.map(({ flow, ours, theirs, returns, crossings }) => [flow, `${ours} + ${theirs}`, String(returns), String(crossings)]),
  );
}
