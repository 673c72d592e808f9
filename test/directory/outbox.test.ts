import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { IdpEvent } from '../../lib/events.js';
import type { EventRecord } from '../../lib/store/records.js';
import { jitteryDirectory, seededRandom } from '../support/jittery-directory.js';
import { ISSUER, silentLogger, tenantWithUser, testDirectory, userIn } from '../support/test-directory.js';

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('outbox (design §8)', () => {
  test('a listener gets the event as CloudEvents 1.0 has it', async () => {
    await using t = await testDirectory();
    const heard: IdpEvent[] = [];
    t.directory.events.on('UserCreated', (event) => void heard.push(event));
    const { tid, personId, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    await t.dispatched();
    expect(heard).toEqual([
      {
        specversion: '1.0',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        source: ISSUER,
        type: 'UserCreated',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        subject: userId,
        tid,
        sequence: 2,
        data: { AggregateId: userId, PersonId: personId },
      },
    ]);
  });

  test('a listener that throws or rejects is logged and stops no other; one that was stopped hears no more', async () => {
    const logged: unknown[] = [];
    await using t = await testDirectory({ logger: { ...silentLogger, error: (...data) => void logged.push(data) } });
    const { events } = t.directory;
    const heard: string[] = [];
    events.on('UserCreated', () => {
      throw new Error('first');
    });
    events.on('UserCreated', async () => {
      throw new Error('second');
    });
    const stop = events.on('UserCreated', ({ subject }) => void heard.push(subject));
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    await t.dispatched();
    stop();
    await userIn(t.directory, tid, 'bob');
    await t.dispatched();
    expect(heard).toEqual([userId]);
    expect(logged).toHaveLength(4);
  });

  test('nothing moves without the lease, and everything once another has given it up', async () => {
    let mine = false;
    await using t = await testDirectory({ lease: async () => mine });
    await tenantWithUser(t.directory, 'Acme', 'alice');
    await settled();
    expect(await t.store.collection('events').find({})).toEqual([]);
    mine = true;
    expect((await t.dispatched()).map(({ type }) => type)).toEqual(['PersonCreated', 'UserCreated']);
  });

  test('close dispatches what is left', async () => {
    const t = await testDirectory();
    await tenantWithUser(t.directory, 'Acme', 'alice');
    await t[Symbol.asyncDispose]();
    expect(await t.store.collection('events').find({})).toHaveLength(2);
  });

  test('what a crash left half moved is moved once, and told', async () => {
    const store = memoryDirectory();
    await using t = await testDirectory({ store, lease: async () => mine });
    let mine = false;
    const heard: number[] = [];
    t.directory.events.on('PersonCreated', ({ sequence }) => void heard.push(sequence));
    const { personId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const [pending] = ((await store.collection('persons').get(personId)) as unknown as { pendingEvents: EventRecord[] }).pendingEvents;
    await store.collection('sequences').insert({ id: 'events', last: 7 } as never);
    await store.collection<EventRecord>('events').insert({ ...pending!, sequence: 7 });
    mine = true;
    expect((await t.dispatched()).map(({ sequence }) => sequence)).toEqual([7, 8]);
    expect(heard).toEqual([7]);
  });

  test('a store that fails is tried again, and nothing is lost', async () => {
    const store = memoryDirectory();
    const logged: unknown[] = [];
    let failures = 1;
    await using t = await testDirectory({
      store,
      lease: async () => {
        if (failures-- > 0) throw new Error('down');
        return true;
      },
      logger: { ...silentLogger, error: (...data) => void logged.push(data) },
    });
    await tenantWithUser(t.directory, 'Acme', 'alice');
    await settled();
    expect(await t.dispatched()).toHaveLength(2);
    expect(logged).toHaveLength(1);
  });

  test('two nodes at once, as when a lease runs out, give each event one number', async () => {
    const store = jitteryDirectory(memoryDirectory(), seededRandom(3));
    await using first = await testDirectory({ store });
    await using second = await testDirectory({ store });
    const { tid } = await tenantWithUser(first.directory, 'Acme', 'alice');
    await Promise.all(Array.from({ length: 20 }, (_, index) => userIn([first, second][index % 2]!.directory, tid, `u${index}`)));
    await first.dispatched();
    const events = await second.dispatched();
    expect(events).toHaveLength(42);
    expect(new Set(events.map(({ sequence }) => sequence)).size).toBe(42);
  });
});
