import { afterEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { Directory, Listed } from '../../../lib/directory/index.js';
import type { DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import { keyedCollections } from '../../../lib/store/records/derived-keys.js';
import { createSealer } from '../../../lib/store/sealer.js';
import { withCollections } from '../../store/with-collections.js';
import { codeOf, type TestDirectory, testDirectory } from '../../support/service/test-directory.js';

let opened: TestDirectory[] = [];
afterEach(async () => {
  for (const t of opened) await t[Symbol.asyncDispose]();
  opened = [];
});

/** Opens a directory. With `isKeyed`, waits until every record has its keys: before, lists do not use indexes. */
async function open(isKeyed: boolean, options: Parameters<typeof testDirectory>[0] = {}): Promise<TestDirectory> {
  const t = await testDirectory(options);
  opened.push(t);
  if (isKeyed) await complete(t.directory);
  return t;
}

async function complete({ keyCompletion }: Directory): Promise<void> {
  keyCompletion.start();
  for (const collection of keyedCollections)
    while (!(await keyCompletion.isKeyed(collection))) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Names of persons, in no order. Every second person has a user, and all have an address. */
const people = ['Dora Berg', 'anna Åkesson', 'Bo Ek', 'ANNA Ek', 'Carl Öberg', 'Annabel Dahl', 'bo ek'];

async function peopled(t: TestDirectory) {
  const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
  const { id: foreign } = await t.directory.tenants.create({ name: 'Globex' });
  const { persons, users } = t.directory.forTenant(tid);
  for (const [index, name] of people.entries()) {
    const [givenName = '', familyName = ''] = name.split(' ');
    const email = `${givenName}@Acme.test`;
    const user = { userName: `User${index}`, status: index === 2 ? ('active' as const) : ('invited' as const) };
    await persons.create({
      givenName,
      familyName,
      email,
      secondEmail: index === 0 ? 'ANNA@acme.test' : 'shared@acme.test',
      externalId: `ext-${index}`,
      ...(index % 2 === 0 && { user }),
    });
  }
  await t.directory
    .forTenant(foreign)
    .persons.create({ givenName: 'Anna', familyName: 'Foreign', email: 'anna@acme.test', user: { userName: 'user0' } });
  return { tid, foreign, persons, users };
}

const namesOf = ({ items }: Listed<{ givenName?: string; familyName?: string }>) =>
  items.map(({ givenName, familyName }) => `${givenName} ${familyName}`);

const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);

async function allPages<R>(list: (after?: string) => Promise<Listed<R>>): Promise<R[]> {
  const items: R[] = [];
  for (let after: string | undefined; ; ) {
    const page = await list(after);
    items.push(...page.items);
    if (page.next === undefined) return items;
    after = page.next;
  }
}

describe.each([
  ['along the indexes', true],
  ['before all records have their keys', false],
])('lists %s', (_, isKeyed) => {
  test('4.12 persons are sorted by creation, which is the default, or by name, both ways, whatever the case', async () => {
    const { persons } = await peopled(await open(isKeyed));
    expect(namesOf(await persons.list())).toEqual(people);
    expect(namesOf(await persons.list({ sort: '-createdAt' }))).toEqual(people.toReversed());
    const byName = ['ANNA Ek', 'anna Åkesson', 'Annabel Dahl', 'Bo Ek', 'bo ek', 'Carl Öberg', 'Dora Berg'];
    expect(namesOf(await persons.list({ sort: 'name' }))).toEqual(byName);
    expect(namesOf(await persons.list({ sort: '-name' }))).toEqual(byName.toReversed());
  });

  test('4.12 persons and users are found by e-mail, user name, external id and the beginning of a name', async () => {
    const { persons, users } = await peopled(await open(isKeyed));
    expect(namesOf(await persons.list({ email: 'anna@ACME.test' }))).toEqual(['Dora Berg', 'anna Åkesson', 'ANNA Ek']);
    expect(namesOf(await persons.list({ email: 'anna@acme.test', sort: '-name' }))).toEqual(['Dora Berg', 'anna Åkesson', 'ANNA Ek']);
    expect(namesOf(await persons.list({ userName: 'USER4' }))).toEqual(['Carl Öberg']);
    expect(namesOf(await persons.list({ externalId: 'ext-1' }))).toEqual(['anna Åkesson']);
    expect(namesOf(await persons.list({ externalId: 'EXT-1' }))).toEqual([]);
    expect(namesOf(await persons.list({ name: 'Anna' }))).toEqual(['ANNA Ek', 'anna Åkesson', 'Annabel Dahl']);
    expect(namesOf(await persons.list({ name: 'anna ', sort: '-name' }))).toEqual(['Annabel Dahl', 'anna Åkesson', 'ANNA Ek']);
    expect(namesOf(await persons.list({ name: 'anna', email: 'shared@acme.test' }))).toEqual(['ANNA Ek', 'anna Åkesson', 'Annabel Dahl']);
    expect(namesOf(await persons.list({ externalId: 'ext-1', email: 'nobody@acme.test' }))).toEqual([]);
    expect(namesOf(await persons.list({ name: '.*' }))).toEqual([]);
    expect(namesOf(await users.list({ externalId: 'ext-1' }))).toEqual([]);
    expect(namesOf(await users.list({ externalId: 'ext-2', status: 'active' }))).toEqual(['Bo Ek']);
    expect(namesOf(await users.list({ name: 'bo' }))).toEqual(['Bo Ek', 'bo ek']);
    expect(namesOf(await users.list({ userName: 'user2', status: 'invited' }))).toEqual([]);
  });

  test('users are the persons with a user, of a status where one is asked for', async () => {
    const { users } = await peopled(await open(isKeyed));
    expect(namesOf(await users.list())).toEqual(['Dora Berg', 'Bo Ek', 'Carl Öberg', 'bo ek']);
    expect(namesOf(await users.list({ sort: '-name' }))).toEqual(['Dora Berg', 'Carl Öberg', 'bo ek', 'Bo Ek']);
    expect(namesOf(await users.list({ status: 'invited', sort: 'name' }))).toEqual(['bo ek', 'Carl Öberg', 'Dora Berg']);
    expect(namesOf(await users.list({ status: 'active' }))).toEqual(['Bo Ek']);
    expect(namesOf(await users.list({ status: 'disabled' }))).toEqual([]);
  });

  test('pages cover a list once, whatever the order and filter', async () => {
    const { persons, users } = await peopled(await open(isKeyed));
    for (const limit of [1, 2, 3, 7, 8])
      for (const sort of ['createdAt', '-createdAt', 'name', '-name'] as const) {
        const whole = await persons.list({ sort });
        expect(whole.next).toBeUndefined();
        expect(idsOf(await allPages((after) => persons.list({ sort, limit, ...(after !== undefined && { after }) })))).toEqual(
          idsOf(whole.items),
        );
        const email = 'shared@acme.test';
        const some = await persons.list({ sort, email });
        expect(idsOf(await allPages((after) => persons.list({ sort, email, limit, ...(after !== undefined && { after }) })))).toEqual(
          idsOf(some.items),
        );
        const those = await users.list({ sort });
        expect(idsOf(await allPages((after) => users.list({ sort, limit, ...(after !== undefined && { after }) })))).toEqual(
          idsOf(those.items),
        );
      }
  });

  test('a page goes on where the last ended, whatever was made, renamed or removed meanwhile', async () => {
    const { persons } = await peopled(await open(isKeyed));
    const first = await persons.list({ sort: 'name', limit: 3 });
    const [one, , last] = first.items;
    await persons.update(last!.id, { givenName: 'Aaron' });
    await persons.remove(one!.id);
    await persons.create({ givenName: 'Abel', familyName: 'New' });
    await persons.create({ givenName: 'Bob', familyName: 'New' });
    expect(namesOf(await persons.list({ sort: 'name', after: first.next! }))).toEqual([
      'Bo Ek',
      'bo ek',
      'Bob New',
      'Carl Öberg',
      'Dora Berg',
    ]);
  });

  test('keys follow each write: a changed name and address are found, the old ones are not', async () => {
    const { persons } = await peopled(await open(isKeyed));
    const [{ id } = { id: '' }] = (await persons.list({ name: 'Carl' })).items;
    await persons.update(id, { givenName: 'Karl', email: 'New@acme.test', secondEmail: null });
    expect(namesOf(await persons.list({ name: 'karl' }))).toEqual(['Karl Öberg']);
    expect(namesOf(await persons.list({ name: 'carl' }))).toEqual([]);
    expect(namesOf(await persons.list({ email: 'new@acme.test' }))).toEqual(['Karl Öberg']);
    expect(namesOf(await persons.list({ email: 'carl@acme.test' }))).toEqual([]);
    expect((await persons.list({ email: 'shared@acme.test' })).items).toHaveLength(5);
  });

  test('H1 a cursor is good for its own list alone: another tenant, service, order or filter refuses it', async () => {
    const t = await open(isKeyed);
    const { tid, foreign, persons, users } = await peopled(t);
    const { groups, subsidiaries } = t.directory.forTenant(tid);
    const { next: after = '' } = await persons.list({ limit: 2 });
    expect((await persons.list({ after, limit: 200 })).items).toHaveLength(5);
    expect(after).not.toMatch(/anna|berg/i);
    const refused: readonly (() => Promise<unknown>)[] = [
      () => t.directory.forTenant(foreign).persons.list({ after }),
      () => persons.list({ after, sort: 'name' }),
      () => persons.list({ after, sort: '-createdAt' }),
      () => persons.list({ after, email: 'shared@acme.test' }),
      () => users.list({ after, status: 'active' }),
      () => groups.list({ after }),
      () => subsidiaries.list({ after }),
      () => t.directory.tenants.list({ after }),
      () => persons.list({ after: `${after}x` }),
      () => persons.list({ after: after.slice(0, -1) }),
      () => persons.list({ after: '' }),
      () => persons.list({ after: 'v1.a.b.c' }),
      () => persons.list({ after: '{"value":"a","id":"b"}' }),
    ];
    for (const call of refused) expect(await codeOf(call())).toBe('invalid_cursor');
  });

  test('a query that is not of the list is refused with the member that is wrong', async () => {
    const { persons, users } = await peopled(await open(isKeyed));
    const refused: readonly (readonly [Promise<unknown>, string])[] = [
      [persons.list({ limit: 0 }), '/limit'],
      [persons.list({ limit: 201 }), '/limit'],
      [persons.list({ sort: 'email' as 'name' }), '/sort'],
      [persons.list({ name: 'a', sort: 'createdAt' }), '/sort'],
      [persons.list({ tid: 'x' } as object), '/tid'],
      [persons.list({ status: 'active' } as object), '/status'],
      [persons.list({ email: { $gt: '' } as unknown as string }), '/email'],
      [users.list({ status: 'locked' as 'active' }), '/status'],
    ];
    for (const [call, path] of refused)
      await expect(call).rejects.toMatchObject({ code: 'invalid_request', status: 400, details: { path } });
  });

  test('tenants, subsidiaries, groups, permissions, clients and API resources are listed alike', async () => {
    const t = await open(isKeyed);
    const { tenants, permissions, clients, apiResources, forTenant } = t.directory;
    const names = ['Zeta', 'alpha', 'Beta', 'alphabet'];
    const [tid = ''] = await Promise.all(names.slice(0, 1).map(async (name) => (await tenants.create({ name })).id));
    for (const name of names.slice(1)) await tenants.create({ name });
    const { groups, subsidiaries } = forTenant(tid);
    // Records of the same millisecond are listed by id.
    for (const [index, name] of names.entries()) {
      await groups.create({ name });
      await subsidiaries.create({ name });
      await permissions.create({ id: `p.${index}.${name}`, name });
      await clients.create({ id: `c-${index}-${name}`, name });
      await apiResources.create({ id: `a-${index}-${name}`, name, scopes: [] });
    }
    const services: readonly {
      list(query?: { sort?: 'name' | '-createdAt'; name?: string; limit?: number; after?: string }): Promise<Listed<{ name: string }>>;
    }[] = [tenants, groups, subsidiaries, permissions, clients, apiResources];
    for (const service of services) {
      const listed = async (query: Parameters<typeof service.list>[0]) => (await service.list(query)).items.map(({ name }) => name);
      expect(await listed({})).toEqual(names);
      expect(await listed({ sort: '-createdAt' })).toEqual(names.toReversed());
      expect(await listed({ sort: 'name' })).toEqual(['alpha', 'alphabet', 'Beta', 'Zeta']);
      expect(await listed({ name: 'ALPHA' })).toEqual(['alpha', 'alphabet']);
      expect(
        (await allPages((after) => service.list({ sort: 'name', limit: 2, ...(after !== undefined && { after }) }))).map(
          ({ name }) => name,
        ),
      ).toEqual(['alpha', 'alphabet', 'Beta', 'Zeta']);
    }
    await tenants.disable(tid);
    await clients.update('c-2-Beta', { status: 'disabled' });
    await apiResources.update('a-1-alpha', { status: 'disabled' });
    const off = async (service: { list(query: { status: 'disabled' }): Promise<Listed<{ name: string }>> }) =>
      (await service.list({ status: 'disabled' })).items.map(({ name }) => name);
    expect([await off(tenants), await off(clients), await off(apiResources)]).toEqual([['Zeta'], ['Beta'], ['alpha']]);
    expect((await clients.list({ status: 'active', sort: 'name' })).items.map(({ name }) => name)).toEqual(['alpha', 'alphabet', 'Zeta']);
  });
});

describe('records from before there were keys', () => {
  /** Removes the derived members, as if a version without them had written the rows. */
  async function withoutKeys(store: DirectoryStore): Promise<void> {
    for (const name of keyedCollections) {
      const rows = store.collection<Row & Record<string, unknown>>(name);
      for (const { id } of await rows.find({}))
        await rows.update(
          id,
          ({ nameKey: _, emailKey: __, secondEmailKey: ___, hasUser: ____, ...row }) => row as Row & Record<string, unknown>,
        );
    }
  }

  test('they are found at once, and get their keys in the background', async () => {
    const store = memoryDirectory();
    const before = await open(false, { store });
    const { tid } = await peopled(before);
    await withoutKeys(store);
    const t = await open(false, { store });
    const { persons, users } = t.directory.forTenant(tid);
    const found = async () => [
      namesOf(await persons.list({ email: 'anna@acme.test' })),
      namesOf(await persons.list({ name: 'bo' })),
      namesOf(await persons.list({ sort: 'name', limit: 3 })),
      namesOf(await users.list()),
      (await t.directory.tenants.list({ name: 'acme' })).items.map(({ id }) => id),
    ];
    const expected = [
      ['Dora Berg', 'anna Åkesson', 'ANNA Ek'],
      ['Bo Ek', 'bo ek'],
      ['ANNA Ek', 'anna Åkesson', 'Annabel Dahl'],
      ['Dora Berg', 'Bo Ek', 'Carl Öberg', 'bo ek'],
      [tid],
    ];
    expect(await found()).toEqual(expected);
    const cursor = (await persons.list({ sort: 'name', limit: 3 })).next!;
    await complete(t.directory);
    expect(await found()).toEqual(expected);
    expect(namesOf(await persons.list({ sort: 'name', after: cursor, limit: 1 }))).toEqual(['Bo Ek']);
    expect(await store.collection('persons').find({ byEmail: [tid, 'bo@acme.test'] })).toHaveLength(2);
  });

  test('one node at a time gives them; another takes over, and no write is undone', async () => {
    const store = memoryDirectory();
    const { tid } = await peopled(await open(false, { store }));
    await withoutKeys(store);
    let closing: Promise<void> | undefined;
    const closed = withCollections(store, (rows, name) => ({
      async find(where, page) {
        const found = await rows.find(where, page);
        // The completion is closed after the page of its first collection.
        if (name !== 'persons' && Object.keys(where).length === 0) closing ??= doomed.directory.close();
        return found;
      },
    }));
    const doomed = await open(false, { store: closed });
    doomed.directory.keyCompletion.start();
    while (closing === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    await closing;
    expect(await doomed.directory.keyCompletion.isKeyed('persons')).toBe(false);
    const t = await open(false, { store });
    const { persons } = t.directory.forTenant(tid);
    const [{ id } = { id: '' }] = (await persons.list({ name: 'dora' })).items;
    await Promise.all([complete(t.directory), persons.update(id, { givenName: 'Theodora' })]);
    expect(namesOf(await persons.list({ name: 'theo' }))).toEqual(['Theodora Berg']);
    expect(namesOf(await persons.list({ name: 'dora' }))).toEqual([]);
  });

  test('a cursor of one node is good on another, and under a rotated secret', async () => {
    const store = memoryDirectory();
    const before = await open(true, { store, sealer: createSealer(['old secret']) });
    const { tid, persons } = await peopled(before);
    const { next: after = '' } = await persons.list({ limit: 2 });
    const t = await open(true, { store, sealer: createSealer(['new secret', 'old secret']) });
    expect(namesOf(await t.directory.forTenant(tid).persons.list({ after }))).toEqual(people.slice(2));
    const other = await open(true, { store, sealer: createSealer(['another secret']) });
    expect(await codeOf(other.directory.forTenant(tid).persons.list({ after }))).toBe('invalid_cursor');
  });

  test('a page is as long as its limit, whatever rows cannot be read', async () => {
    const t = await open(true);
    const { tid, persons } = await peopled(t);
    for (const name of ['anna ek', 'anna åkesson'])
      await t.store
        .collection<Row & { givenName: unknown }>('persons')
        .put({ id: `bad ${name}`, tid, givenName: 5, nameKey: name, createdAt: new Date() } as never);
    const listed = await allPages((after) => persons.list({ sort: 'name', limit: 2, ...(after !== undefined && { after }) }));
    expect(listed).toHaveLength(people.length);
    expect((await persons.list({ sort: 'name', limit: 2 })).items).toHaveLength(2);
  });
});
