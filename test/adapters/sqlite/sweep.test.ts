/** Issue 44: expired records are removed, and their room in the file is used again. */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { sqliteArtifacts } from 'tenant-idp/adapters/sqlite';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { withSqlite } from '../../support/stores/sqlite.js';
import { until } from '../../support/time/until.js';

/** With `npm run prove`, as many records as an hour of 25 code flows a second leaves. */
const [ROUNDS, RECORDS] = process.env.PROVE ? [60, 6000] : [8, 1000];
/** Records that are committed together. */
const TOGETHER = 200;

/** Counts the records of a file in another process, because a connection of this process would release the locks of the store. */
async function countOf(file: string): Promise<number> {
  const script = `const { DatabaseSync } = require('node:sqlite');
    console.log(new DatabaseSync(process.argv[1]).prepare('select count(*) as n from idp_artifacts').get().n)`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', script, file]);
  return Number(stdout);
}

withSqlite(({ file }) =>
  test(`${ROUNDS} times ${RECORDS} records that come and go leave the size of the file as it is`, async () => {
    const path = file();
    const store = sqliteArtifacts({ file: path });
    await store.open();
    const sizes: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const expiresAt = Date.now() + 500;
      for (let first = 0; first < RECORDS; first += TOGETHER)
        await store.commit(
          Array.from({ length: TOGETHER }, (_, index) => ({
            op: 'put' as const,
            key: hashedKey('Swept', `${round} ${first + index}`),
            value: 'x'.repeat(500),
            account: `${index}`,
            expiresAt,
          })),
        );
      await until(
        () => countOf(path),
        (count) => count === 0,
      );
      sizes.push(statSync(path).size + statSync(`${path}-wal`).size);
    }
    await store.close();
    // The last size is of the file alone, after the log was copied into it. If records stayed, the size would be as many times the first
    // size as there are rounds.
    expect(statSync(path).size).toBeLessThan(2 * Math.max(...sizes.slice(0, 2)));
    expect(Math.max(...sizes.slice(-2))).toBeLessThan(3 * Math.max(...sizes.slice(0, 2)));
  }),
);
