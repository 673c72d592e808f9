/**
 * Recent sign-ins of a user: recorded once, bounded by their number and by days, removed with the user, and with a notice if the browser is
 * unknown.
 */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { createSignInSweep } from '../../../lib/directory/accounts/sign-in-history.js';
import type { DirectoryOptions, NewSignIn } from '../../../lib/directory/index.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { createCheckedDirectory } from '../../../lib/store/records/checked-directory.js';
import { leftOutIn } from '../../../lib/store/records/left-out.js';
import type { SignInHistoryRow } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';
import { codeOf, silentLogger, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

const DAY_MS = 86_400_000;
const NEW_BROWSER = 'UserSignedInWithNewBrowser';

async function world(options: Partial<Omit<DirectoryOptions, 'store'>> & { readonly store?: DirectoryStore } = {}) {
  const clock = { at: Date.now() };
  const t = await testDirectory({ signInHistory: { days: 90, entries: 3 }, now: () => clock.at, ...options });
  const user = await tenantWithUser(t.directory, 'Acme', 'alice');
  // The account is not new any more.
  clock.at += 2 * 3_600_000;
  const { signInHistory } = t.directory;
  const record = (cause: string, more: Partial<NewSignIn> = {}) =>
    signInHistory.record(user.userId, {
      cause,
      at: new Date(clock.at),
      amr: ['pwd'],
      idp: 'local',
      clientId: 'web',
      secretHash: 'laptop',
      ...more,
    });
  const rows = () => t.store.collection<SignInHistoryRow>('signIns').find({});
  const list = () => signInHistory.list({ tid: user.tid, userId: user.userId });
  const told = async () => (await t.dispatched()).filter(({ type }) => type === NEW_BROWSER);
  return { t, clock, user, record, rows, list, told, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

describe('the history', () => {
  test('has the newest sign-ins first, and no more than the option allows', async () => {
    await using w = await world();
    for (const cause of ['one', 'two', 'three', 'four']) {
      await w.record(cause, { clientId: cause, browser: 'fx', system: 'wi', address: '192.0.2.0' });
      w.clock.at += 1000;
    }
    const recent = await w.list();
    expect(recent.map(({ clientId }) => clientId)).toEqual(['four', 'three', 'two']);
    expect(recent[0]).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      signedInAt: expect.any(Date),
      amr: ['pwd'],
      idp: 'local',
      clientId: 'four',
      browser: 'Firefox',
      system: 'Windows',
      address: '192.0.2.0',
    });
    // Neither the hash of the browser's secret nor a name of the table is stored.
    expect(JSON.stringify(await w.rows())).not.toMatch(/laptop|Firefox/);
  });

  test('has one entry for a sign-in, however often it is recorded, also concurrently', async () => {
    await using w = await world();
    await Promise.all(Array.from({ length: 8 }, () => w.record('one')));
    await w.record('one');
    expect(await w.list()).toHaveLength(1);
    expect(await w.told()).toHaveLength(1);
  });

  test('keeps all of several concurrent sign-ins', async () => {
    await using w = await world();
    await Promise.all(['one', 'two', 'three'].map((cause) => w.record(cause, { secretHash: cause })));
    expect(await w.list()).toHaveLength(3);
    expect(await w.told()).toHaveLength(3);
  });

  test('is of users of the tenant alone', async () => {
    await using w = await world();
    const other = await tenantWithUser(w.t.directory, 'Globex', 'bob');
    await w.record('one');
    const { signInHistory } = w.t.directory;
    expect(await codeOf(signInHistory.list({ tid: other.tid, userId: w.user.userId }))).toBe('not_found');
    expect(await signInHistory.list({ tid: other.tid, userId: other.userId })).toEqual([]);
  });

  test.each([
    ['days', { days: 0, entries: 30 }],
    ['entries', { days: 90, entries: 0 }],
  ])('stores nothing with %s of 0', async (_, signInHistory) => {
    await using w = await world({ signInHistory });
    await w.record('one');
    expect([w.t.directory.signInHistory.isOn, await w.list(), await w.rows(), await w.told()]).toEqual([false, [], [], []]);
  });

  test('is named as left out if its row is malformed, and is replaced by the next sign-in', async () => {
    await using w = await world();
    await w.record('one');
    const rows = w.t.store.collection('signIns');
    await rows.update(w.user.userId, (row) => ({ ...row, signIns: 'none' }) as never);
    const none = await w.list();
    expect([none, leftOutIn(none)]).toEqual([[], { unreadable: [{ id: w.user.userId, path: '/signIns' }] }]);
    const { unreadable } = await w.t.directory.forTenant(w.user.tid).persons.export(w.user.personId);
    expect(unreadable).toEqual([{ collection: 'signIns', id: w.user.userId, path: '/signIns' }]);
    await w.record('two');
    expect(await w.list()).toHaveLength(1);
  });
});

describe('what is removed', () => {
  test('the history goes with the user, and with the person', async () => {
    await using w = await world();
    const persons = w.t.directory.forTenant(w.user.tid);
    await w.record('one');
    await persons.users.remove(w.user.userId);
    expect(await w.rows()).toEqual([]);

    const { personId, userId } = await tenantWithUser(w.t.directory, 'Globex', 'bob');
    const { tid } = (await w.t.directory.accounts.findByOid(userId))!.person;
    await w.t.directory.signInHistory.record(userId, { cause: 'one', at: new Date(), amr: [], idp: 'local', clientId: 'web' });
    expect(await w.rows()).toHaveLength(1);
    await w.t.directory.forTenant(tid).persons.remove(personId);
    expect(await w.rows()).toEqual([]);
  });

  test('a sign-in that is recorded after its user was removed leaves nothing', async () => {
    await using w = await world();
    await w.t.directory.forTenant(w.user.tid).users.remove(w.user.userId);
    await w.record('one');
    await w.record('two', { secretHash: undefined });
    expect(await w.rows()).toEqual([]);
    expect(await w.told()).toEqual([]);
  });

  test('the export of the person has it', async () => {
    await using w = await world();
    await w.record('one');
    const { signIns } = await w.t.directory.forTenant(w.user.tid).persons.export(w.user.personId);
    expect(signIns).toEqual(await w.list());
  });

  test('what is older than the days is not listed, and the sweep removes it', async () => {
    await using w = await world();
    await w.record('old', { clientId: 'old' });
    w.clock.at += 50 * DAY_MS;
    await w.record('new', { clientId: 'new', secretHash: 'phone' });
    w.clock.at += 41 * DAY_MS;
    expect((await w.list()).map(({ clientId }) => clientId)).toEqual(['new']);
    expect((await w.rows())[0]?.signIns).toHaveLength(2);
    await swept(w, async () => (await w.rows())[0]?.signIns.length === 1);
    expect((await w.rows())[0]).toMatchObject({ signIns: [{ clientId: 'new' }], browsers: [{}] });
    w.clock.at += 50 * DAY_MS;
    await swept(w, async () => (await w.rows()).length === 0);
  });

  test('a history that is switched off is removed', async () => {
    await using w = await world();
    await w.record('one');
    await swept(w, async () => (await w.rows()).length === 0, { days: 90, entries: 0 });
  });

  /** Runs a sweep until the condition holds. */
  async function swept({ t, clock }: Awaited<ReturnType<typeof world>>, holds: () => Promise<boolean>, rules = { days: 90, entries: 3 }) {
    const rows = createCheckedDirectory(t.store, { logger: silentLogger, now: Date.now }).collection<SignInHistoryRow>('signIns');
    const sweep = createSignInSweep({ rows, rules, now: () => clock.at, lease: async () => true, logger: silentLogger, first: 1 });
    sweep.start();
    await until(holds);
    await sweep.close();
  }
});

describe('a browser that the account does not know', () => {
  test('is told once, and is known from then on', async () => {
    await using w = await world();
    await w.record('one', { requestId: 'request-1' });
    await w.record('two');
    const [event, ...others] = await w.told();
    const recent = await w.list();
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      subject: w.user.userId,
      tid: w.user.tid,
      actor: `user:${w.user.userId}`,
      requestId: 'request-1',
      data: { AggregateId: w.user.userId, SignInId: recent.at(-1)?.id },
    });
    expect(recent.map(({ isNewBrowser }) => isNewBrowser)).toEqual([undefined, true]);
  });

  test('is known again after 90 days without a sign-in only if it is told again', async () => {
    await using w = await world();
    await w.record('one');
    w.clock.at += 91 * DAY_MS;
    await w.record('two');
    expect(await w.told()).toHaveLength(2);
  });

  test('stays known although many sign-ins came from another browser', async () => {
    await using w = await world();
    await w.record('phone', { secretHash: 'phone' });
    for (let count = 0; count < 6; count += 1) await w.record(`laptop ${count}`);
    await w.record('phone again', { secretHash: 'phone' });
    expect(await w.told()).toHaveLength(2);
  });

  test('is told once a day, although many others made the account forget it', async () => {
    await using w = await world();
    // Starts in the middle of a day, so that no second day begins.
    w.clock.at = Math.floor(w.clock.at / DAY_MS) * DAY_MS + DAY_MS / 2;
    await w.record('first');
    for (let count = 0; count < 20; count += 1) await w.record(`other ${count}`, { secretHash: `other ${count}` });
    await w.record('again');
    expect(await w.told()).toHaveLength(21);
    w.clock.at += DAY_MS;
    for (let count = 20; count < 40; count += 1) await w.record(`other ${count}`, { secretHash: `other ${count}` });
    await w.record('next day');
    expect(await w.told()).toHaveLength(42);
  });

  test('is not told at the first sign-in to a new account, but at its second', async () => {
    await using w = await world();
    const { userId, tid } = await tenantWithUser(w.t.directory, 'Globex', 'bob');
    const record = (cause: string) =>
      w.t.directory.signInHistory.record(userId, {
        cause,
        at: new Date(w.clock.at),
        amr: [],
        idp: 'local',
        clientId: 'web',
        secretHash: cause,
      });
    await record('laptop');
    expect(await w.told()).toEqual([]);
    await record('phone');
    expect(await w.told()).toHaveLength(1);
    expect((await w.t.directory.signInHistory.list({ tid, userId })).map(({ isNewBrowser }) => isNewBrowser)).toEqual([true, undefined]);
  });

  test('is not there in an impersonation, and in a sign-in without a browser', async () => {
    await using w = await world();
    await w.record('impersonation', { amr: [], isImpersonation: true, impersonationId: 'i-1', secretHash: undefined });
    await w.record('grant', { grantType: 'urn:grant', secretHash: undefined });
    expect([await w.told(), (await w.rows())[0]?.browsers]).toEqual([[], []]);
    await w.record('laptop');
    expect(await w.told()).toHaveLength(1);
  });

  test('two accounts that use one browser have no value in common', async () => {
    await using w = await world();
    const { userId } = await tenantWithUser(w.t.directory, 'Globex', 'bob');
    await w.record('one');
    const { cause, ...same } = {
      cause: 'one',
      at: new Date(w.clock.at),
      amr: ['pwd'],
      idp: 'local',
      clientId: 'web',
      secretHash: 'laptop',
    };
    await w.t.directory.signInHistory.record(userId, { cause, ...same });
    const [first, second] = await w.rows();
    expect(first?.browsers[0]?.id).not.toBe(second?.browsers[0]?.id);
    expect(first?.signIns[0]?.id).not.toBe(second?.signIns[0]?.id);
  });
});

describe('calls of the store', () => {
  test('a sign-in from a known browser is one update', async () => {
    const calls: string[] = [];
    const store = withCollections(memoryDirectory(), (rows, collection) => {
      const noted =
        <Given extends readonly unknown[], T>(name: string, call: (...given: Given) => T) =>
        (...given: Given): T => {
          if (collection !== 'changes' && !isDispatch(given)) calls.push(`${name} ${collection}`);
          return call(...given);
        };
      return {
        get: noted('get', rows.get),
        find: noted('find', rows.find),
        range: noted('range', rows.range),
        insert: noted('insert', rows.insert),
        put: noted('put', rows.put),
        update: noted('update', rows.update),
      };
    });
    await using w = await world({ store });
    await w.record('one');
    await w.told();
    calls.splice(0);
    await w.record('two');
    expect(calls.filter((call) => call.endsWith(' signIns') || call.endsWith(' persons'))).toEqual(['update signIns']);
  });

  const isDispatch = (given: readonly unknown[]): boolean => JSON.stringify(given).includes('byOutbox');

  test('a store that fails in between neither loses the notice nor tells twice', async () => {
    const failing = { writes: 0 };
    const store = withCollections(memoryDirectory(), (rows, collection) =>
      collection === 'signIns'
        ? {
            async insert(row) {
              failing.writes += 1;
              if (failing.writes === 1) throw new Error('the store is away');
              return rows.insert(row);
            },
          }
        : {},
    );
    await using w = await world({ store });
    await expect(w.record('one')).rejects.toThrow('the store is away');
    expect(await w.told()).toHaveLength(1);
    await w.record('one');
    expect([(await w.told()).length, (await w.list()).length]).toEqual([1, 1]);
  });
});
