import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteArtifacts } from '../adapters/sqlite/index.js';
import { hashedKey } from '../lib/store/artifact-key.js';
import type { ArtifactStore } from '../lib/store/artifact-store.js';
import { fixed, formatTable } from './results/comparison.js';
import { quantile } from './results/statistics.js';
import { fill } from './servers/fill.js';
import { settings } from './settings.js';

/** Number of concurrent loops of calls. Every third call of a loop writes. */
const CALLERS = 20;
/** Milliseconds of the measurement without a backup. */
const QUIET_MS = 10_000;
/** Maximum milliseconds that a checkpoint or a backup may delay a call. */
const AT_MOST_MS = 50;

/** Measures the time of calls to a file, with and without a backup by another process. Checkpoints run all the time. */
export async function measurePauses(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-pauses-'));
  const file = join(folder, 'idp.db');
  const store = sqliteArtifacts({ file });
  try {
    await store.open();
    process.stderr.write(`storing ${settings.tokens.toLocaleString('en')} tokens …\n`);
    await fill(store, settings.tokens);
    const alone = await timesDuring(store, new Promise((resolve) => setTimeout(resolve, QUIET_MS)));
    const beside = await timesDuring(store, backup(file, join(folder, 'copy.db')));
    const line = (name: string, times: readonly number[]): readonly string[] => [
      name,
      times.length.toLocaleString('en'),
      ...[0.5, 0.99, 0.999].map((share) => fixed(quantile(times, share))),
      fixed(times.reduce((longest, time) => Math.max(longest, time), 0)),
    ];
    const columns = ['Calls', 'Number', 'Median, ms', 'p99, ms', 'p99.9, ms', 'Longest, ms'];
    const table = formatTable(columns, [line('with checkpoints', alone), line('with checkpoints and a backup', beside)]);
    return `${table}\n\nAim for the longest: at most ${AT_MOST_MS} ms more than the median.`;
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Calls the store until `work` has ended. @returns the milliseconds of each call */
async function timesDuring(store: ArtifactStore, work: Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  const expiresAt = Date.now() + 3_600_000;
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let call = 0; !isDone; call += 1) {
        const key = hashedKey('Pause', `${caller} ${call % 1000}`);
        const start = performance.now();
        if (call % 3 === 0) await store.commit([{ op: 'put', key, value: 'x'.repeat(500), expiresAt }]);
        else await store.read([{ key }]);
        times.push(performance.now() - start);
      }
    }),
  );
  await work;
  return times;
}

/** Copies the file as `docs/stores.md` describes, in another process. */
async function backup(file: string, copy: string): Promise<void> {
  const script = `const { DatabaseSync } = require('node:sqlite'); new DatabaseSync(${JSON.stringify(file)}).exec(${JSON.stringify(`vacuum into '${copy}'`)});`;
  const [code] = (await once(spawn(process.execPath, ['--eval', script], { stdio: 'inherit' }), 'exit')) as [number];
  if (code !== 0) throw new Error(`the backup ended with ${code}`);
}
