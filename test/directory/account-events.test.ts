/** Events of an account that change no record: one insert each, at least once, in the order of their account. */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { withCollections } from '../store/with-collections.js';
import { type Dispatched, type TestDirectory, tenantWithUser, testDirectory } from '../support/service/test-directory.js';
import { until } from '../support/time/until.js';

type Waiting = Row & { readonly pendingEvents: readonly { readonly data: { readonly SessionId: string } }[] };

/** Returns a memory directory that records its calls. */
function noting() {
  const calls: string[] = [];
  const store: DirectoryStore = withCollections(memoryDirectory(), (rows, collection) => {
    const noted =
      <Given extends readonly unknown[], T>(name: string, call: (...given: Given) => T) =>
      (...given: Given): T => {
        // The notice to other nodes is sent afterwards, and nobody waits for it.
        if (collection !== 'changes') calls.push(`${name} ${collection}`);
        return call(...given);
      };
    return {
      get: noted('get', rows.get),
      find: noted('find', rows.find),
      insert: noted('insert', rows.insert),
      put: noted('put', rows.put),
      update: noted('update', rows.update),
      remove: noted('remove', rows.remove),
    };
  });
  return { store, calls };
}

async function accountIn({ directory }: TestDirectory, tenant = 'Acme', userName = 'alice') {
  const { userId } = await tenantWithUser(directory, tenant, userName);
  const account = await directory.accounts.findByOid(userId);
  if (!account) throw new Error('the account is gone');
  const raise = (SessionId: string, cause?: string) =>
    directory.accountEvents.raise('SessionEnded', account, { AggregateId: userId, SessionId }, cause, { actor: 'client:desk' });
  return { account, userId, raise };
}
const ofSessions = (events: readonly Dispatched[]) =>
  events.filter(({ type }) => type === 'SessionEnded').map(({ data }) => (data as { SessionId: string }).SessionId);

describe('an event of an account', () => {
  test('is one insert, and leaves the person unchanged', async () => {
    const { store, calls } = noting();
    let mine = true;
    await using t = await testDirectory({ store, lease: async () => mine });
    const { userId, raise } = await accountIn(t);
    await t.dispatched();
    mine = false;
    const before = await t.directory.accounts.findByOid(userId);
    await until(async () => {
      calls.splice(0);
      await new Promise((done) => setTimeout(done, 20));
      return calls.length === 0;
    });
    await raise('one');
    expect(calls).toEqual(['insert accountEvents']);
    await raise('two');
    expect(calls).toEqual(['insert accountEvents', 'insert accountEvents', 'update accountEvents']);
    expect(await t.directory.accounts.findByOid(userId)).toEqual(before);
    mine = true;
    expect(ofSessions(await t.dispatched())).toEqual(['one', 'two']);
    await until(async () => (await store.collection('accountEvents').find({})).length === 0);
  });

  test('has the tenant, the subject and the actor', async () => {
    await using t = await testDirectory();
    const { account, userId, raise } = await accountIn(t);
    await raise('one');
    const event = (await t.dispatched()).find(({ type }) => type === 'SessionEnded');
    expect(event).toMatchObject({ subject: userId, tid: account.tenant.id, actor: 'client:desk' });
  });

  test('waits in the order of its account, and is dispatched with the others once', async () => {
    const store = memoryDirectory();
    let mine = false;
    await using t = await testDirectory({ store, lease: async (work) => work !== 'events' || mine });
    const alice = await accountIn(t);
    const bob = await accountIn(t, 'Globex', 'bob');
    for (const name of ['one', 'two', 'three']) {
      await alice.raise(`${name} of alice`);
      await bob.raise(`${name} of bob`);
    }
    const rows = await store.collection<Waiting>('accountEvents').find({});
    expect(rows.map(({ pendingEvents }) => pendingEvents.length)).toEqual([3, 3]);
    mine = true;
    const told = ofSessions(await t.dispatched());
    for (const name of ['alice', 'bob'])
      expect(told.filter((one) => one.endsWith(name))).toEqual(['one', 'two', 'three'].map((each) => `${each} of ${name}`));
    expect(told).toHaveLength(6);
    await until(async () => (await store.collection('accountEvents').find({})).length === 0);
  });

  test('of one cause is raised once, while it waits and after it was dispatched', async () => {
    let mine = false;
    await using t = await testDirectory({ lease: async (work) => work !== 'events' || mine });
    const { raise } = await accountIn(t);
    await Promise.all([raise('one', 'cause'), raise('one', 'cause'), raise('two'), raise('one', 'cause')]);
    mine = true;
    expect(ofSessions(await t.dispatched()).toSorted()).toEqual(['one', 'two']);
    await raise('one', 'cause');
    expect(ofSessions(await t.dispatched()).toSorted()).toEqual(['one', 'two']);
  });

  test('none of hundreds is lost that are raised while others are dispatched', async () => {
    await using t = await testDirectory();
    const { raise } = await accountIn(t);
    const names = Array.from({ length: 300 }, (_, index) => `session ${index}`);
    for (const batch of [names.slice(0, 100), names.slice(100, 200), names.slice(200)]) {
      await Promise.all(batch.map((name) => raise(name)));
      await new Promise((done) => setTimeout(done, 5));
    }
    expect(ofSessions(await t.dispatched()).toSorted()).toEqual(names.toSorted());
    await until(async () => (await t.store.collection('accountEvents').find({})).length === 0);
  });

  test('of an account whose row another program damaged replaces the row', async () => {
    let mine = false;
    await using t = await testDirectory({ lease: async (work) => work !== 'events' || mine });
    const { userId, raise } = await accountIn(t);
    await t.store.collection<Row>('accountEvents').put({ id: `user:${userId}`, tid: '', outbox: 'yes', pendingEvents: 42 } as never);
    await raise('one');
    mine = true;
    expect(ofSessions(await t.dispatched())).toEqual(['one']);
  });

  test('is told again until its listener has accepted it; later events of the account wait', async () => {
    await using t = await testDirectory({ backOff: [10, 10] });
    const { raise } = await accountIn(t);
    const heard: string[] = [];
    let failures = 1;
    t.directory.events.on('SessionEnded', ({ data }) => {
      if (failures-- > 0) throw new Error('not now');
      heard.push(data.SessionId);
    });
    await raise('one');
    await raise('two');
    await until(() => heard.length === 2);
    expect(heard).toEqual(['one', 'two']);
  });
});
