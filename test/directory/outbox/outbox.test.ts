import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { IdpEvent } from '../../../lib/events.js';
import type { EventRecord, Person } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';
import { codeOf, ISSUER, silentLogger, tenantWithUser, testDirectory, userIn } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';
import { until } from '../../support/time/until.js';

const number = (value: number): string => String(value).padStart(16, '0');
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
        sequence: '0000000000000003',
        data: { AggregateId: userId, PersonId: personId },
      },
    ]);
  });

  test('performance: an event that this node wrote is looked for in its own collection; the others are looked at each second', async () => {
    const looks = new Map<string, number>();
    const store = withCollections(memoryDirectory(), (rows, name) => ({
      find(where, page) {
        if ('byOutbox' in where) looks.set(name, (looks.get(name) ?? 0) + 1);
        return rows.find(where, page);
      },
    }));
    await using t = await testDirectory({ store });
    const heard = new Set<string>();
    t.directory.events.on('UserCreated', ({ subject }) => void heard.add(subject));
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
    for (let index = 0; index < 100; index += 1) {
      const { userId } = await userIn(t.directory, tid, `bob ${index}`);
      while (!heard.has(userId)) await new Promise((resolve) => setImmediate(resolve));
    }
    const { persons = 0, groups = 0 } = Object.fromEntries(looks);
    expect({ persons: persons >= 100, groups: groups >= 1 && groups < persons / 2 }).toEqual({ persons: true, groups: true });
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
    expect(logged.filter(([, message]) => message === 'the service parked an event, because a listener failed too often')).toHaveLength(1);
  });

  test('what a node told and could not remove another tells again; a listener that hangs holds up no other record', async () => {
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

  test('threat H3: what is left of a row that was removed while its events were told goes, whatever fails before', async () => {
    const memory = memoryDirectory();
    let failures = 1;
    const store = withCollections(memory, (rows, name) => ({
      async remove(id, version) {
        if (name === 'tenants' && failures-- > 0) throw new Error('killed');
        return rows.remove(id, version);
      },
    }));
    await using t = await testDirectory({ store });
    let isTold = (): void => {};
    t.directory.events.on('TenantCreated', () => new Promise<void>((resolve) => (isTold = resolve)));
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    await settled();
    await t.directory.tenants.remove(tid);
    isTold();
    await until(async () => (await memory.collection('tenants').get(tid)) === undefined);
    expect(failures).toBeLessThan(0);
  });

  test('nothing moves without the lease, and everything once another has given it up', async () => {
    let mine = false;
    await using t = await testDirectory({ lease: async () => mine });
    await tenantWithUser(t.directory, 'Acme', 'alice');
    await settled();
    expect(await t.store.collection('events').find({})).toEqual([]);
    mine = true;
    expect((await t.dispatched()).map(({ type }) => type)).toEqual(['TenantCreated', 'PersonCreated', 'UserCreated']);
  });

  test('close dispatches what is left', async () => {
    const t = await testDirectory();
    await tenantWithUser(t.directory, 'Acme', 'alice');
    await t[Symbol.asyncDispose]();
    expect(await t.store.collection('events').find({})).toHaveLength(3);
  });

  test('what a crash left half moved is moved once, and told', async () => {
    const store = memoryDirectory();
    await using t = await testDirectory({ store, lease: async () => mine });
    let mine = false;
    const heard: string[] = [];
    t.directory.events.on('PersonCreated', ({ sequence }) => void heard.push(sequence));
    const { personId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const [pending] = ((await store.collection('persons').get(personId)) as unknown as Person).pendingEvents;
    const { id: eventId, ...event } = pending!;
    await store.collection<EventRecord>('events').insert({ ...event, id: number(7), eventId, recordedAt: new Date() });
    mine = true;
    expect((await t.dispatched()).map(({ sequence }) => sequence)).toEqual([7, 8, 9].map(number));
    expect(heard).toEqual([number(7)]);
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
    expect(await t.dispatched()).toHaveLength(3);
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
    expect(events).toHaveLength(43);
    expect(new Set(events.map(({ sequence }) => sequence)).size).toBe(43);
  });

  test('an event that another node records between two look-ups of it is no damaged record', async () => {
    const store = memoryDirectory();
    let isBeside = false;
    let record: (() => Promise<unknown>) | undefined;
    const beside = withCollections(store, (rows, name) => ({
      async insert(row) {
        if (name === 'events' && isBeside) {
          isBeside = false;
          // The other node takes this number for another event, and the next number for this event.
          await store.collection(name).insert({ ...row, eventId: 'another' } as never);
          record = () => store.collection(name).insert({ ...row, id: number(Number(row.id) + 1) } as never);
        }
        return rows.insert(row);
      },
      async find(where, page) {
        const found = await rows.find(where, page);
        const doing = 'byEvent' in where && found.length === 0 ? record : undefined;
        if (doing) record = undefined;
        await doing?.();
        return found;
      },
    }));
    const logged: unknown[] = [];
    await using t = await testDirectory({ store: beside, logger: { ...silentLogger, error: (...data) => void logged.push(data) } });
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
    expect(await t.dispatched()).toHaveLength(3);
    isBeside = true;
    await t.directory.forTenant(tid).persons.create({ givenName: 'Bob', familyName: 'Berg' });
    expect((await t.dispatched()).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5].map(number));
    expect([isBeside, record, logged]).toEqual([false, undefined, []]);
  });

  test('a dispatcher that was stopped, and goes on beside the one that took over, loses nothing and skips no number', async () => {
    const store = memoryDirectory();
    const held: (() => void)[] = [];
    let isStopped = true;
    const stopping = withCollections(store, (rows, name) => ({
      async insert(row) {
        if (name === 'events' && isStopped) await new Promise<void>((resolve) => held.push(resolve));
        return rows.insert(row);
      },
    }));
    let holder = 'first';
    await using first = await testDirectory({ store: stopping, lease: async () => holder === 'first' });
    await using second = await testDirectory({ store, lease: async () => holder === 'second' });
    const heard: string[] = [];
    for (const { directory } of [first, second])
      directory.events.on('PersonCreated', ({ sequence, subject }) => void heard.push(`${sequence} ${subject}`));
    const { tid } = await tenantWithUser(second.directory, 'Acme', 'alice');
    while (held.length === 0) await settled();
    holder = 'second';
    for (let index = 0; index < 5; index += 1) await userIn(second.directory, tid, `while stopped ${index}`);
    expect(await second.dispatched()).toHaveLength(13);
    isStopped = false;
    for (const go of held) go();
    await settled();
    holder = 'first';
    for (let index = 0; index < 5; index += 1) await userIn(second.directory, tid, `later ${index}`);
    const all = await first.dispatched();
    expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 23 }, (_, index) => number(index + 1)));
    const created = all.filter(({ type }) => type === 'PersonCreated').map(({ sequence, subject }) => `${sequence} ${subject}`);
    expect([...new Set(heard)].sort()).toEqual(created);
  });

  describe('the feed', () => {
    test('has all events in their order, from a cursor on, of a tenant, of types', async () => {
      await using t = await testDirectory();
      const { eventFeed } = t.directory;
      expect(await eventFeed.read()).toEqual({ events: [], next: number(0) });
      const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
      const { tid: other } = await tenantWithUser(t.directory, 'Globex', 'bob');
      for (let index = 0; index < 120; index += 1) await userIn(t.directory, index % 2 ? tid : other, `user-${index}`);
      await t.dispatched();
      const { events: all, next } = await eventFeed.read({ limit: 1000 });
      expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 246 }, (_, index) => number(index + 1)));
      expect(next).toBe(number(246));
      expect(all[0]).toMatchObject({ specversion: '1.0', source: ISSUER, type: 'TenantCreated', tid });
      expect(await eventFeed.read({ after: number(95), limit: 10 })).toEqual({ events: all.slice(95, 105), next: number(105) });
      expect(await eventFeed.read({ after: number(246) })).toEqual({ events: [], next: number(246) });
      const ofOther = all.filter((event) => event.tid === other);
      expect((await eventFeed.read({ tid: other, limit: 50 })).events).toEqual(ofOther.slice(0, 50));
      const paged: IdpEvent[] = [];
      for (let after: string | undefined; ; ) {
        const page = await eventFeed.read({ tid: other, types: ['UserCreated', 'KeyRotated'], limit: 7, ...(after && { after }) });
        paged.push(...page.events);
        if (page.events.length < 7) break;
        after = page.next;
      }
      expect(paged).toEqual(ofOther.filter(({ type }) => type === 'UserCreated'));
      for (const query of [{ after: '5' }, { after: 'x' }, { limit: 0 }, { limit: 1001 }, { limit: 0.5 }])
        expect(await codeOf(eventFeed.read(query))).toBe('invalid_record');
    });

    test('does not pass an event that is recorded while it is read', async () => {
      const store = memoryDirectory();
      let between: (() => Promise<unknown>) | undefined;
      const slow = withCollections(store, (rows, name) => ({
        async find(where, page) {
          const found = await rows.find(where, page);
          // The first of two look-ups misses an event that the second sees.
          if (name === 'events' && 'byType' in where && where.byType?.[0] === 'PersonCreated') await between?.();
          if (name === 'events' && 'byType' in where && where.byType?.[0] === 'UserCreated') {
            await settled();
            return rows.find(where, page);
          }
          return found;
        },
      }));
      await using t = await testDirectory({ store: slow });
      const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
      await t.dispatched();
      between = async () => {
        between = undefined;
        await userIn(t.directory, tid, 'bob');
        await t.dispatched();
      };
      const types = ['PersonCreated', 'UserCreated'];
      const first = await t.directory.eventFeed.read({ types });
      const second = await t.directory.eventFeed.read({ types, after: first.next });
      expect([...first.events, ...second.events].map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5].map(number));
    });

    test('a cursor whose events were removed is refused, one at the oldest is not', async () => {
      await using t = await testDirectory();
      const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
      await userIn(t.directory, tid, 'bob');
      await t.dispatched();
      for (const sequence of [1, 2]) await t.store.collection('events').remove(number(sequence));
      const { eventFeed } = t.directory;
      expect((await eventFeed.read()).events.map(({ sequence }) => sequence)).toEqual([3, 4, 5].map(number));
      expect((await eventFeed.read({ after: number(2) })).events).toHaveLength(3);
      for (const after of [0, 1].map(number)) expect(await codeOf(eventFeed.read({ after }))).toBe('cursor_expired');
    });

    test('old events go, the oldest first, but for the last, those behind a position, and those that a dispatcher still needs', async () => {
      let mine = true;
      await using t = await testDirectory({ eventRetention: 86_400, lease: async () => mine });
      const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
      for (const name of ['bob', 'carol']) await userIn(t.directory, tid, name);
      expect(await t.dispatched()).toHaveLength(7);
      const { eventFeed } = t.directory;
      const kept = async () => (await eventFeed.read()).events.map(({ sequence }) => Number(sequence));
      await eventFeed.prune();
      expect(await kept()).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const age = async (sequence: number) => {
        const recordedAt = new Date(Date.now() - 90_000_000);
        await t.store.collection<EventRecord>('events').update(number(sequence), (row) => ({ ...row, recordedAt }));
      };
      for (const sequence of [1, 2, 3, 4, 5]) await age(sequence);
      await eventFeed.prune({ keepAfter: number(1) });
      expect(await kept()).toEqual([2, 3, 4, 5, 6, 7]);
      // The event is recorded, and still in the document of its change.
      mine = false;
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const [person] = await t.store.collection<Person>('persons').find({});
      const record = await t.store.collection<EventRecord>('events').get(number(3));
      const { id: _, eventId, recordedAt: __, version: ___, ...event } = record!;
      await t.store
        .collection<Person>('persons')
        .update(person!.id, (row) => ({ ...row, pendingEvents: [{ ...event, id: eventId }], outbox: 'yes' as const }));
      await eventFeed.prune();
      expect(await kept()).toEqual([3, 4, 5, 6, 7]);
      await t.store.collection<Person>('persons').update(person!.id, ({ outbox: _outbox, ...row }) => ({ ...row, pendingEvents: [] }));
      await eventFeed.prune();
      expect(await kept()).toEqual([6, 7]);
      for (const sequence of [6, 7]) await age(sequence);
      await eventFeed.prune();
      expect(await kept()).toEqual([7]);
      mine = true;
      await userIn(t.directory, tid, 'dave');
      await t.dispatched();
      expect(await kept()).toEqual([7, 8, 9]);
      expect(await codeOf(eventFeed.read({ after: number(3) }))).toBe('cursor_expired');
    });
  });
});
