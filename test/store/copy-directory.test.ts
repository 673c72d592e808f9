/** Issue 44.4: a directory is copied unchanged from one store to another. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { copyDirectory, createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import { defineCollection, Type } from 'tenant-idp/extension';
import type { Collection, DirectoryStore, Row } from 'tenant-idp/store';
import { collections } from '../../lib/store/records/collections.js';
import { withPostgres } from '../support/stores/postgres.js';

const notes = defineCollection({ name: 'notes.entries', row: Type.Object({ text: Type.String() }), indexes: {} });
const extensions = [{ name: 'notes', collections: [notes] }];
const encryption = ['e'.repeat(43)];
const issuer = 'http://localhost:3000';

const start = (directory: DirectoryStore): Promise<IdentityProvider> =>
  createIdentityProvider({ issuer, directory, extensions, keys: { encryption }, passwords: { scryptCost: 2 ** 10 } });

/** Returns a directory of two tenants with users, a client, groups, events and signing keys. */
async function filled(): Promise<DirectoryStore> {
  const directory = memoryDirectory();
  const idp = await start(directory);
  for (const name of ['Acme', 'Globex']) {
    const { id } = await idp.directory.tenants.create({ name });
    const { persons, groups } = idp.tenant(id);
    await groups.create({ name: 'Staff' });
    for (let index = 0; index < 300; index += 1) {
      await persons.create({
        givenName: 'Ann',
        familyName: `No ${index}`,
        user: { userName: `ann${index}@${name}.test`, groups: { names: ['Staff'] } },
      });
    }
  }
  await idp.close();
  await directory.collection<Row & { text: string; tid: string }>('notes.entries').insert({ id: randomUUID(), tid: 't', text: 'é' });
  return directory;
}

const all = async (directory: DirectoryStore): Promise<Readonly<Record<string, readonly object[]>>> =>
  Object.fromEntries(
    await Promise.all(
      [...Object.values(collections).map(({ name }) => name), 'notes.entries'].map(async (name) => [
        name,
        (await directory.collection(name).find({})).map(({ version: _, ...members }) => members),
      ]),
    ),
  );

/** Returns the store with other methods for the rows of a collection. */
function withRows(store: DirectoryStore, of: string, methods: Partial<Collection<Row>>): DirectoryStore {
  const changed = (rows: Collection<Row>) => ({ ...methodsOf(rows), ...methods });
  return {
    ...store,
    collection: <R extends Row>(name: string) =>
      name === of ? (changed(store.collection(name)) as unknown as Collection<R>) : store.collection<R>(name),
  };
}

const methodsOf = (rows: Collection<Row>): Collection<Row> => ({
  get: (id) => rows.get(id),
  find: (where, page) => rows.find(where, page),
  range: (range) => rows.range(range),
  insert: (row) => rows.insert(row),
  put: (row) => rows.put(row),
  update: (id, change) => rows.update(id, change),
  remove: (id, version) => rows.remove(id, version),
});

describe('copyDirectory', () => {
  test('copies every row as it is, and a service over the copy knows its users and its keys', async () => {
    const [from, to] = [await filled(), memoryDirectory()];
    const counts = await copyDirectory({ from, to, extensions });
    expect(counts).toMatchObject({ tenants: 2, persons: 600, groups: 2, 'notes.entries': 1 });
    expect(await all(to)).toEqual(await all(from));
    const idp = await start(to);
    const [tenant] = (await idp.directory.tenants.list()).items;
    expect((await idp.tenant(tenant?.id ?? '').users.findByUserName('ann7@Acme.test'))?.familyName).toBe('No 7');
    await idp.close();
  });

  test('goes on where an earlier attempt ended, and never replaces another row', async () => {
    const [from, to] = [await filled(), memoryDirectory()];
    await copyDirectory({ from, to, extensions });
    const [gone, changed] = await to.collection('persons').find({}, { limit: 2 });
    await to.collection('persons').remove(gone?.id ?? '');
    expect((await copyDirectory({ from, to, extensions })).persons).toBe(600);
    expect(await all(to)).toEqual(await all(from));
    await to.collection<Row & { familyName?: string }>('persons').update(changed?.id ?? '', (row) => ({ ...row, familyName: 'Other' }));
    await expect(copyDirectory({ from, to, extensions })).rejects.toMatchObject({
      code: 'conflict',
      details: { collection: 'persons', id: changed?.id },
    });
  });

  test('M: copies a row that the service cannot read, and names a row that no store takes', async () => {
    const [from, to] = [await filled(), memoryDirectory()];
    await from.collection<Row & { name: number }>('groups').insert({ id: 'odd', name: 7 });
    await copyDirectory({ from, to, extensions });
    expect(await to.collection('groups').get('odd')).toMatchObject({ name: 7 });
    const alien = { id: 8 as unknown as string, version: 1 };
    const odd = withRows(from, 'groups', { find: async () => [alien] });
    await expect(copyDirectory({ from: odd, to, extensions })).rejects.toMatchObject({
      code: 'invalid_record',
      details: { collection: 'groups', id: '8' },
    });
  });

  test('refuses a source that a service writes meanwhile', async () => {
    const [from, to] = [await filled(), memoryDirectory()];
    const idp = await start(from);
    const insert = async (row: Row) => {
      await idp.directory.tenants.create({ name: randomUUID() });
      return to.collection('persons').insert(row);
    };
    const busy = withRows(to, 'persons', { insert });
    await expect(copyDirectory({ from, to: busy, extensions })).rejects.toMatchObject({
      code: 'conflict',
      details: { collection: 'changes' },
    });
    await idp.close();
  });
});

withPostgres('POSTGRES_URL', (postgres) =>
  test('copies to PostgreSQL and back: the same rows, in stores that know another order and other texts', async () => {
    const [from, between, to] = [await filled(), postgresDirectory({ pool: postgres.pool }), memoryDirectory()];
    await from.collection<Row & { name: string }>('groups').insert({ id: 'a\u0000\ud800', name: '\u0000$\ud800' });
    const counts = await copyDirectory({ from, to: between, extensions });
    expect(await copyDirectory({ from: between, to, extensions })).toEqual(counts);
    const sorted = (rows: Readonly<Record<string, readonly object[]>>) =>
      Object.fromEntries(Object.entries(rows).map(([name, list]) => [name, list.map((row) => JSON.stringify(row)).toSorted()]));
    expect(sorted(await all(to))).toEqual(sorted(await all(from)));
  }),
);
