/** house §5: durable rows of an extension, tenant by tenant. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { defineCollection, type Extension, type ExtensionContext, type RowEvent, Type } from 'tenant-idp/extension';
import type { Row } from '../../lib/store/directory-store.js';
import { withCollections } from '../store/with-collections.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const erased: unknown[] = [];
const removed: string[] = [];
const withoutUser: string[] = [];
let failures = 1;
const notes = defineCollection({
  name: 'notes.entries',
  row: Type.Object({ personId: Type.String(), text: Type.String({ maxLength: 20 }), at: Type.Date() }, { additionalProperties: false }),
  wrongMember: ({ text, personId }) => (text === personId ? 'text' : undefined),
  indexes: {
    byPerson: { fields: ['personId'] },
    byText: { fields: ['text'], unique: true },
    byTime: { fields: ['at'], order: 'instant' },
    everywhere: { fields: ['personId'], ofAllTenants: true },
    due: { fields: ['at'], order: 'instant', ofAllTenants: true },
  },
  async erase(rows, person) {
    if (failures-- > 0) throw new Error('not now');
    for (const { id } of await rows.find('byPerson', [person.personId])) await rows.remove(id);
    erased.push(person);
  },
  async userRemoved(rows, { personId, userId }) {
    for (const { id } of await rows.find('byPerson', [personId])) await rows.update(id, (row) => ({ ...row, text: 'without user' }));
    withoutUser.push(userId);
  },
  export: async (rows, { personId }) => (await rows.find('byPerson', [personId])).map(({ text }) => ({ text })),
  async tenantRemoved(rows, tid) {
    removed.push(`${tid} ${(await rows.list()).length}`);
  },
});
const orders = defineCollection({
  name: 'notes.orders',
  row: Type.Object({ amount: Type.Integer() }, { additionalProperties: false }),
  events: true,
});
const palette = defineCollection({
  name: 'notes.palette',
  row: Type.Object({ colour: Type.String() }, { additionalProperties: false }),
  indexes: { byColour: { fields: ['colour'] } },
  cached: true,
});
const undeclared = defineCollection({ name: 'notes.others', row: Type.Object({}) });

let context: ExtensionContext;
const extension: Extension = {
  name: 'notes',
  collections: [notes, orders, palette],
  events: ['OrderPlaced', 'OrderRemoved'] as never,
  routes(_router, given) {
    context = given;
  },
};
const store = memoryDirectory();
const service = useIdp({ extensions: [extension], directory: store });
const at = new Date(0);
const note = (text: string, personId = 'alice') => ({ text, personId, at });
let [acme, globex]: string[] = [];
beforeAll(async () => {
  const tenants = await service.idp.directory.tenants.find();
  [acme, globex] = ['Acme', 'Globex'].map((name) => tenants.find((tenant) => tenant.name === name)?.id ?? '');
});
const rowsOf = (tid = '') => context.records.collection(notes, tid);

describe('rows of an extension', () => {
  test('are inserted, found by index, updated and removed', async () => {
    const rows = rowsOf(acme);
    const row = await rows.insert(note('one'));
    expect(row).toEqual({ ...note('one'), id: expect.any(String), version: 1, tid: acme });
    expect(await rows.get(row.id)).toEqual(row);
    expect(await rows.find('byText', ['one'])).toEqual([row]);
    const changed = await rows.update(row.id, (current) => ({ ...current, text: 'two' }));
    expect(changed).toMatchObject({ text: 'two', version: 2 });
    expect(await rows.find('byText', ['one'])).toEqual([]);
    await rows.remove(row.id);
    expect(await rows.get(row.id)).toBeUndefined();
    for (const missing of [rows.remove(row.id), rows.update(row.id, (current) => current)])
      await expect(missing).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of another tenant do not exist', async () => {
    const { id } = await rowsOf(acme).insert(note('mine'));
    const other = rowsOf(globex);
    expect([await other.get(id), await other.find('byText', ['mine']), await other.list()]).toEqual([undefined, [], []]);
    await expect(other.remove(id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(other.update(id, (row) => ({ ...row, text: 'theirs' }))).rejects.toMatchObject({ code: 'not_found' });
    expect((await rowsOf(acme).get(id))?.text).toBe('mine');
    await rowsOf(acme).remove(id);
  });

  test('are read in the order of an index, up and down, in their tenant alone', async () => {
    for (const [text, time] of [
      ['third', 30],
      ['first', 10],
      ['second', 20],
    ] as const)
      await rowsOf(globex).insert({ ...note(text), at: new Date(time) });
    await rowsOf(acme).insert({ ...note('of acme'), at: new Date(15) });
    const read = async (range: object) =>
      (await rowsOf(globex).range({ index: 'byTime', within: [], from: new Date(10), limit: 10, ...range })).map(({ text }) => text);
    expect(await read({})).toEqual(['first', 'second', 'third']);
    expect(await read({ descending: true, limit: 2 })).toEqual(['third', 'second']);
    expect(await read({ below: new Date(20) })).toEqual(['first']);
    for (const tid of [acme, globex])
      for (const { id } of await rowsOf(tid).range({ index: 'byTime', within: [], from: new Date(1), limit: 10 }))
        await rowsOf(tid).remove(id);
  });

  test('fill a page of an index of all tenants, whatever others have there', async () => {
    for (let index = 0; index < 5; index += 1) {
      for (const tid of [acme, globex]) await rowsOf(tid).insert({ ...note(`${index}`, 'due'), at: new Date(100 + index) });
    }
    const rows = rowsOf(globex);
    const range = { index: 'due', within: [], from: new Date(100), limit: 3 } as const;
    expect((await rows.range(range)).map(({ tid, text }) => [tid, text])).toEqual([0, 1, 2].map((index) => [globex, `${index}`]));
    expect((await rows.range({ ...range, limit: 50 })).length).toBe(5);
    const first = await rows.find('everywhere', ['due'], { limit: 3 });
    const rest = await rows.find('everywhere', ['due'], { limit: 3, after: first.at(-1)?.id ?? '' });
    expect([first.length, rest.length, new Set([...first, ...rest].map(({ tid }) => tid))]).toEqual([3, 2, new Set([globex])]);
    for (const tid of [acme, globex]) for (const { id } of await rowsOf(tid).find('byPerson', ['due'])) await rowsOf(tid).remove(id);
  });

  test('never change their tenant or id', async () => {
    const { id } = await rowsOf(acme).insert({ ...note('kept'), tid: globex } as never);
    expect((await rowsOf(acme).get(id))?.tid).toBe(acme);
    const moved = await rowsOf(acme).update(id, (row) => ({ ...row, id: 'other', tid: globex }) as never);
    expect(moved).toMatchObject({ id, tid: acme });
    await rowsOf(acme).remove(id);
  });

  test('have values that are unique within a tenant', async () => {
    const [one, two] = [await rowsOf(acme).insert(note('same')), await rowsOf(globex).insert(note('same'))];
    await expect(rowsOf(acme).insert(note('same'))).rejects.toMatchObject({ code: 'conflict' });
    await Promise.all([rowsOf(acme).remove(one.id), rowsOf(globex).remove(two.id)]);
  });

  test('of another form are refused when written, and left out when read', async () => {
    const refused = { code: 'invalid_record', details: { path: '/text' } };
    // The first text is too long, and the second one does not fit the person.
    for (const text of ['x'.repeat(21), 'alice']) await expect(rowsOf(acme).insert(note(text))).rejects.toMatchObject(refused);
    for (const text of [7, 'alice']) {
      const { id } = await rowsOf(acme).insert(note('good'));
      await expect(rowsOf(acme).update(id, (row) => ({ ...row, text }) as never)).rejects.toMatchObject(refused);
      await store.collection<never>(notes.name).put({ id, tid: acme, text, personId: 'alice', at } as never);
      expect(await rowsOf(acme).get(id)).toBeUndefined();
      expect((await service.idp.health()).problems).toEqual([
        { code: 'record_unreadable', collection: notes.name, id, path: expect.any(String), tid: acme },
      ]);
      await store.collection(notes.name).remove(id);
    }
  });

  test('of a collection that nobody declares are refused', () => {
    expect(() => context.records.collection(undeclared, acme ?? '')).toThrow('notes.others');
  });

  // An invalid lookup is a failure to the store, which the service would report as an outage.
  test('are looked up by declared indexes alone, with a text for each field', async () => {
    const [rows, all] = [rowsOf(acme), context.records.collectionOfAllTenants(notes)];
    const [nothing, more, number] = ['byNothing', ['alice', 'bob'], [7] as unknown as string[]];
    const wrong = [
      () => rows.find(nothing, ['alice']),
      () => rows.findAll(nothing, ['alice']),
      () => rows.range({ index: nothing, within: [], limit: 1 }),
      () => all.find(nothing, ['alice']),
      () => all.findAll(nothing, ['alice']),
      () => all.range({ index: nothing, within: [], limit: 1 }),
      async () => context.records.cached(palette, nothing),
    ];
    for (const read of wrong)
      await expect(read()).rejects.toThrow(/^The collection notes\.\w+ has no index byNothing\. Use one of byTenant/);
    const other = [
      () => rows.find('byPerson', more),
      () => rows.findAll('byPerson', number),
      () => all.find('everywhere', []),
      () => all.findAll('everywhere', more),
    ];
    for (const read of other)
      await expect(read()).rejects.toThrow(/does not have a text for each field\. Give a text for each of \[personId\]\.$/);
    expect(context.records.cached(palette, 'byColour')).toBeDefined();
  });
});

describe('events of rows', () => {
  const heard = (): string[] => told.map(({ type, data }) => `${type} ${(data as { AggregateId: string }).AggregateId}`);
  const event = (type: string, id: string): RowEvent => ({ type: type as never, data: { AggregateId: id } as never });
  const told: { type: string; data: unknown }[] = [];
  beforeAll(() => {
    for (const type of ['OrderPlaced', 'OrderRemoved']) service.idp.events.on(type as never, (given) => void told.push(given as never));
  });

  test('are told once each, with the write, and after the row is gone too', async () => {
    const rows = context.records.collection(orders, acme ?? '');
    const { id, ...row } = await rows.insert({ amount: 1 }, { id: 'o-1', events: [event('OrderPlaced', 'o-1')] });
    expect([id, row]).toEqual(['o-1', { amount: 1, version: 1, tid: acme }]);
    await rows.remove(id, [event('OrderRemoved', 'o-1')]);
    expect([await rows.get(id), await rows.list()]).toEqual([undefined, []]);
    await until(() => told.length >= 2);
    expect(heard()).toEqual(['OrderPlaced o-1', 'OrderRemoved o-1']);
    await until(async () => (await store.collection(orders.name).get(id)) === undefined);
    expect((await service.idp.health()).problems).toEqual([]);
  });

  test('keep nobody from the id of a removed row, in whatever tenant: those of both rows are told', async () => {
    told.length = 0;
    const expected: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const rows = context.records.collection(orders, (round % 2 === 0 ? acme : globex) ?? '');
      const row = await rows.insert({ amount: round }, { id: 'o-0', events: [event('OrderPlaced', `${round}`)] });
      expect(row).toEqual({ amount: round, id: 'o-0', version: expect.any(Number), tid: round % 2 === 0 ? acme : globex });
      await expect(rows.insert({ amount: -1 }, { id: 'o-0' })).rejects.toMatchObject({ code: 'conflict' });
      expect(await rows.get('o-0')).toMatchObject({ amount: round });
      await rows.remove('o-0', [event('OrderRemoved', `${round}`)]);
      expected.push(`OrderPlaced ${round}`, `OrderRemoved ${round}`);
    }
    await until(() => told.length >= expected.length);
    // Events of one subject keep their order. Each round has its own subject.
    const roundOf = (text: string): number => Number(text.split(' ')[1]);
    expect(heard().toSorted((a, b) => roundOf(a) - roundOf(b))).toEqual(expected);
    await until(async () => (await store.collection(orders.name).get('o-0')) === undefined);
  });

  test('are told of a write that was made, and not of one that was refused', async () => {
    told.length = 0;
    const rows = context.records.collection(orders, acme ?? '');
    await rows.insert({ amount: 1 }, { id: 'o-2', events: [event('OrderPlaced', 'o-2')] });
    await expect(rows.insert({ amount: 1 }, { id: 'o-2', events: [event('OrderPlaced', 'again')] })).rejects.toMatchObject({
      code: 'conflict',
    });
    await rows.update('o-2', (row) => ({ ...row, amount: 2 }), [event('OrderPlaced', 'updated')]);
    await until(() => told.length >= 2);
    expect(heard()).toEqual(['OrderPlaced o-2', 'OrderPlaced updated']);
    expect(await rows.get('o-2')).toMatchObject({ amount: 2 });
  });

  test('threat H3: a row goes with its last events, and without any, whatever fails in between', async () => {
    let failures = 1;
    const failing = withCollections(memoryDirectory(), (rows, name) => ({
      async remove(id, version) {
        if (name === orders.name && failures-- > 0) throw new Error('killed');
        return rows.remove(id, version);
      },
    }));
    let own = context;
    const other: Extension = {
      ...extension,
      routes(_router, given) {
        own = given;
      },
    };
    const killed = await startIdp({ extensions: [other], directory: failing });
    const [tenant] = await killed.idp.directory.tenants.find();
    const rows = own.records.collection(orders, tenant?.id ?? '');
    const { id } = await rows.insert({ amount: 1 });
    await expect(rows.remove(id)).rejects.toThrow('temporarily_unavailable');
    await until(async () => (await failing.collection(orders.name).get(id)) === undefined);
    await killed.close();
  });

  test('that nobody declares, or of a collection without, are refused', async () => {
    const rows = context.records.collection(orders, acme ?? '');
    await expect(rows.insert({ amount: 1 }, { events: [event('UserDisabled', 'x')] })).rejects.toThrow('UserDisabled');
    await expect(rowsOf(acme).insert(note('told'), { events: [event('OrderPlaced', 'x')] })).rejects.toThrow('no events');
  });
});

describe('what is kept of a person', () => {
  test('is told, and erased with the person, until that succeeds', async () => {
    const { persons } = service.idp.tenant(acme ?? '');
    const carol = (await persons.find({ limit: 10 })).find(({ givenName }) => givenName === 'Carol');
    const person = { tid: acme ?? '', personId: carol?.id ?? '', userId: carol?.user?.id ?? '' };
    await rowsOf(acme).insert(note('of carol', person.personId));
    await rowsOf(acme).insert(note('of alice'));
    const others = { 'factors.enrolled': [], 'impersonation.records': [] };
    expect(await context.records.keptData.export(person)).toEqual({ 'notes.entries': [{ text: 'of carol' }], ...others });
    await persons.remove(person.personId);
    // The first attempt fails, and the retry follows after about five seconds.
    await until(() => erased.length > 0);
    expect(erased).toEqual([person]);
    expect((await rowsOf(acme).list()).map(({ text }) => text)).toEqual(['of alice']);
  });

  test('stays with a person whose user is removed, which is told', async () => {
    const { persons, users } = service.idp.tenant(acme ?? '');
    const dave = await persons.create({ givenName: 'Dave', familyName: 'Dee', user: { userName: 'dave' } });
    await rowsOf(acme).insert(note('of dave', dave.id));
    await users.remove(dave.user?.id ?? '');
    await until(() => withoutUser.length > 0);
    expect(withoutUser).toContain(dave.user?.id);
    expect((await rowsOf(acme).find('byPerson', [dave.id])).map(({ text }) => text)).toEqual(['without user']);
  });

  test('ends with its tenant, also where it cannot be read (M17), and with no other', async () => {
    await rowsOf(globex).insert(note('stays'));
    const entries = store.collection<Row>('notes.entries');
    await entries.put({ id: 'unreadable', tid: acme, text: 7 } as unknown as Row);
    await context.records.keptData.removeTenant(acme ?? '');
    expect(removed).toEqual([`${acme} 2`]);
    expect([await rowsOf(acme).list(), (await rowsOf(globex).list()).length]).toEqual([[], 1]);
    expect(await entries.get('unreadable')).toBeUndefined();
  });
});

describe('at start', () => {
  const row = Type.Object({ text: Type.String() });
  test.each<[string, object[], RegExp]>([
    ['a name without the extension’s', [{ name: 'entries', row }], /collections\[0\]\.name/],
    ['a name of the service’s', [{ name: 'persons', row }], /collections\[0\]\.name/],
    ['a row that is no object', [{ name: 'one.rows', row: Type.String() }], /collections\[0\]\.row/],
    [
      'a row with a format that nobody knows',
      [{ name: 'one.rows', row: Type.Object({ on: Type.String({ format: 'day' }) }) }],
      /\[0\]\.row: expected a format of date, date-time, email, idn-email, uri, uuid in place of 'day'/,
    ],
    [
      'a row with such a format in a property called as a member of schemas is',
      [{ name: 'one.rows', row: Type.Object({ default: Type.String({ format: 'day' }) }) }],
      /\[0\]\.row: expected a format of/,
    ],
    ['a row with a tenant of its own', [{ name: 'one.rows', row: Type.Object({ tid: Type.String() }) }], /collections\[0\]\.row/],
    ['an index over what is not there', [{ name: 'one.rows', row, indexes: { byName: { fields: ['name'] } } }], /indexes\.byName/],
    [
      'an order that does not exist',
      [{ name: 'one.rows', row, indexes: { byText: { fields: ['text'], order: 'size' } } }],
      /indexes\.byText\.order/,
    ],
    ['a hook that is no function', [{ name: 'one.rows', row, erase: true }], /collections\[0\]\.erase/],
    ['a member that does not exist', [{ name: 'one.rows', row, exports: () => [] }], /collections\[0\]\.exports/],
    [
      'two of one name',
      [
        { name: 'one.rows', row },
        { name: 'one.rows', row },
      ],
      /one owner of collections one\.rows/,
    ],
  ])('%s is refused', async (_, collections, message) => {
    const wrong = { name: 'one', collections } as never;
    await expect(startIdp({ extensions: [wrong] })).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });
});
