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

  test('a listener that throws or rejects is called again alone, until it takes the event; one that was stopped hears no more', async () => {
    const logged: unknown[] = [];
    await using t = await testDirectory({ backOff: [5, 5, 5], logger: { ...silentLogger, error: (...data) => void logged.push(data) } });
    const { events } = t.directory;
    const heard: string[] = [];
    const calls = { throws: 0, rejects: 0 };
    events.on('UserCreated', () => {
      calls.throws += 1;
      if (calls.throws < 3) throw new Error('first');
    });
    events.on('UserCreated', async () => {
      calls.rejects += 1;
      if (calls.rejects < 2) throw new Error('second');
    });
    const stop = events.on('UserCreated', ({ subject }) => void heard.push(subject));
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    await t.dispatched();
    stop();
    await userIn(t.directory, tid, 'bob');
    await t.dispatched();
    expect(heard).toEqual([userId]);
    expect(calls).toEqual({ throws: 4, rejects: 3 });
    expect(logged).toHaveLength(3);
  });

  test('an event that fails holds back later ones of its subject and no others, until it is parked and told', async () => {
    const logged: unknown[][] = [];
    await using t = await testDirectory({ backOff: [5, 5], logger: { ...silentLogger, error: (...data) => void logged.push(data) } });
    const { directory } = t;
    const heard: string[] = [];
    let personId = '';
    directory.events.on('PersonCreated', ({ subject }) => {
      heard.push(`created ${subject}`);
      if (subject === personId) throw new Error('always');
    });
    directory.events.on('PersonUpdated', ({ subject }) => void heard.push(`updated ${subject}`));
    const { tid, personId: other } = await tenantWithUser(directory, 'Acme', 'bob');
    await t.dispatched();
    const { persons } = directory.forTenant(tid);
    personId = '0197a000-0000-7000-8000-000000000001';
    await persons.create({ id: personId, givenName: 'A', familyName: 'B' });
    await persons.update(personId, { givenName: 'C' });
    await persons.update(other, { givenName: 'D' });
    await t.dispatched();
    const about = (id: string) => heard.filter((line) => line.endsWith(id)).map((line) => line.split(' ')[0]);
    expect(about(personId)).toEqual(['created', 'created', 'created', 'updated']);
    expect(heard.indexOf(`updated ${other}`)).toBeLessThan(heard.indexOf(`updated ${personId}`));
    const [parked] = directory.problems();
    expect(directory.problems()).toEqual([{ code: 'event_parked', collection: 'events', id: expect.any(String) }]);
    expect(await t.store.collection('events').get(parked!.id)).toMatchObject({ parkedAt: expect.any(Date), subject: personId });
    expect(logged.filter(([, message]) => message === 'an event is parked, because a listener failed too often')).toHaveLength(1);
  });

  test('what a node told and could not strike off another tells again; a listener that hangs holds up no other record', async () => {
    const store = memoryDirectory();
    const first = await testDirectory({ store });
    const heard: string[] = [];
    first.directory.events.on('PersonCreated', ({ subject }) => {
      heard.push(subject);
      return subject === heard[0] ? new Promise(() => {}) : undefined;
    });
    const { tid, personId } = await tenantWithUser(first.directory, 'Acme', 'alice');
    const { personId: next } = await userIn(first.directory, tid, 'bob');
    await settled();
    expect(heard).toEqual([personId, next]);
    await using second = await testDirectory({ store });
    second.directory.events.on('PersonCreated', ({ subject }) => void heard.push(subject));
    await second.dispatched();
    expect(heard.slice(2)).toEqual([personId]);
    await first[Symbol.asyncDispose]();
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

  test('a feed has all events in their order, from a number on, across a leap of numbers', async () => {
    await using t = await testDirectory();
    const { eventFeed } = t.directory;
    expect(await eventFeed.read(0)).toEqual([]);
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
    for (let index = 0; index < 120; index += 1) await userIn(t.directory, tid, `user-${index}`);
    await t.dispatched();
    const all = await eventFeed.read(0, 1000);
    expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: all.length }, (_, index) => index + 1));
    expect(all.length).toBeGreaterThan(200);
    expect(all[0]).toMatchObject({ specversion: '1.0', source: ISSUER, type: 'PersonCreated', tid });
    expect(await eventFeed.read(95, 10)).toEqual(all.slice(95, 105));
    expect(await eventFeed.read(all.length)).toEqual([]);
    await t.store.collection('sequences').update('events', (row) => ({ ...row, last: 1_700_000_000_000 }) as never);
    await userIn(t.directory, tid, 'after the leap');
    await t.dispatched();
    const later = await eventFeed.read(all.length - 1);
    expect(later.map(({ sequence }) => sequence)).toEqual([all.length, 1_700_000_000_001, 1_700_000_000_002]);
    for (const [after, limit] of [[-1], [0.5], [0, 0], [0, 1001]] as const)
      await expect(eventFeed.read(after, limit)).rejects.toThrow(RangeError);
  });
});
