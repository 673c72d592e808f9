/**
 * Recent sign-ins that several nodes record at the same time, over each store of durable records. Needs `POSTGRES_URL` or `MONGODB_URL`.
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { createSignInSweep } from '../../../lib/directory/accounts/sign-in-history.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { createCheckedDirectory } from '../../../lib/store/records/checked-directory.js';
import type { SignInHistoryRow } from '../../../lib/store/records/records.js';
import { silentLogger, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';
import { withDurable } from '../../support/stores/durable.js';
import { withSqlite } from '../../support/stores/sqlite.js';
import { until } from '../../support/time/until.js';

const DAY_MS = 86_400_000;
const rules = { days: 90, entries: 30 };

/** @param store returns another handle of the same store at each call */
function suite(store: () => DirectoryStore): void {
  test('one entry for a sign-in, all of several sign-ins, one event for a browser, and nothing after the days', async () => {
    const clock = { at: Date.now() };
    const options = { signInHistory: rules, now: () => clock.at };
    await using one = await testDirectory({ ...options, store: store() });
    await using other = await testDirectory({ ...options, store: store() });
    const { tid, userId } = await tenantWithUser(one.directory, 'Acme', 'alice');
    clock.at += 2 * 3_600_000;
    const nodes = [one.directory.signInHistory, other.directory.signInHistory];
    const record = (node: number, cause: string) =>
      nodes[node % 2]!.record(userId, { cause, at: new Date(clock.at), amr: ['pwd'], idp: 'local', clientId: 'web', secretHash: 'laptop' });
    await Promise.all(Array.from({ length: 6 }, (_, node) => record(node, 'one')));
    await Promise.all(Array.from({ length: 6 }, (_, node) => record(node, `other ${node % 3}`)));
    for (const node of nodes) expect(await node.list({ tid, userId })).toHaveLength(4);
    const told = async () => (await one.dispatched()).filter(({ type }) => type === 'UserSignedInWithNewBrowser');
    expect(await told()).toHaveLength(1);

    clock.at += 91 * DAY_MS;
    const rows = createCheckedDirectory(one.store, { logger: silentLogger, now: Date.now }).collection<SignInHistoryRow>('signIns');
    expect(await rows.find({})).toHaveLength(1);
    const sweep = createSignInSweep({ rows, rules, now: () => clock.at, lease: async () => true, logger: silentLogger, first: 1 });
    sweep.start();
    await until(async () => (await rows.find({})).length === 0);
    await sweep.close();
  });
}

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) => {
  const place = durable.place();
  suite(() => durable.at(place).directory);
});

withSqlite((files) =>
  describe('on SQLite', () => {
    const store = sqliteDirectory({ file: files.file() });
    afterAll(() => store.close());
    suite(() => store);
  }),
);
