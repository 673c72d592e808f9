import { expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { KEYS_VERSION } from '../../lib/store/records/derived-keys.js';
import { testDirectory } from '../support/service/test-directory.js';

type Stored = Row & { readonly user: { readonly userName: string; readonly userNameKey: string } };

/** Writes the name as an earlier version did, which kept invisible characters and the number of spaces in the key. */
const writeFormer = (store: DirectoryStore, id: string, userName: string) =>
  store
    .collection<Stored>('persons')
    .update(id, (row) => ({ ...row, user: { ...row.user, userName, userNameKey: userName.normalize('NFKC').toLowerCase() } }));

const names = [
  ['N04', 'twin@acme.test', 'Tw\u200bin@acme.test', 'alone@acme.test', 'al\u2060one@acme.test'],
  ['E-C', 'twin name', 'Twin  name', 'alone name', 'alone \u00a0name'],
] as const;

test.each(names)(
  '%s: two stored names that fall together go on, are told once, and the other gets the key when it is free',
  async (...[, name, FORMER, other, otherFormer]) => {
    const store = memoryDirectory();
    const warned: unknown[] = [];
    const logger = { ...console, warn: (...said: unknown[]) => void warned.push(said) };
    const before = await testDirectory({ store });
    const { id: tid } = await before.directory.tenants.create({ name: 'Acme' });
    const people = before.directory.forTenant(tid);
    const [one, two, alone] = await Promise.all(
      [name, 'other@acme.test', other].map((userName) =>
        people.persons.create({ givenName: 'A', familyName: 'B', user: { userName, status: 'active' } }),
      ),
    );
    await writeFormer(store, two?.id ?? '', FORMER);
    await writeFormer(store, alone?.id ?? '', otherFormer);
    await store.collection<Row & { done: number }>('upkeep').put({ id: 'keys of persons', done: KEYS_VERSION - 1 });

    const t = await testDirectory({ store, logger });
    const { keyCompletion, problems, accounts } = t.directory;
    const { users, persons } = t.directory.forTenant(tid);
    const completed = async () => {
      keyCompletion.start();
      while (!(await keyCompletion.isKeyed('persons'))) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await completed();

    const found = async (userName: string) => (await accounts.candidates(userName)).map(({ person }) => person.id);
    expect(await found(name.toUpperCase())).toEqual([one?.id]);
    expect(await found(FORMER)).toEqual([two?.id, one?.id]);
    expect(await found(other)).toEqual([alone?.id]);
    expect((await users.findByUserName(FORMER))?.id).toBe(two?.id);
    expect((await users.list({ userName: FORMER })).items.map(({ id }) => id)).toEqual([two?.id]);
    expect(await problems()).toEqual([{ code: 'user_name_duplicate', collection: 'persons', id: two?.id }]);
    expect(warned).toHaveLength(1);

    // A change of another member is no change of the name.
    for (const id of [one, two].map((person) => person?.id ?? ''))
      expect((await persons.update(id, { givenName: 'C' })).givenName).toBe('C');
    await expect(persons.create({ givenName: 'A', familyName: 'B', user: { userName: name } })).rejects.toMatchObject({
      code: 'user_name_taken',
    });

    await persons.remove(one?.id ?? '');
    await t.directory.close();
    const later = await testDirectory({ store, logger });
    later.directory.keyCompletion.start();
    const key = async () => (await store.collection<Stored>('persons').get(two?.id ?? ''))?.user.userNameKey;
    while ((await key()) !== name) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await later.directory.problems()).toEqual([]);
    await later.directory.close();
  },
);

test.each(['two spaces', 'Two  spaces', ' two\u00a0 spaces ', 'two\tspaces', 'two\u3000spaces', 'two\u1680\u2003spaces'])(
  'E-C: %j is one user name, and finds the account',
  async (spelling) => {
    const { directory } = await testDirectory();
    const { id: tid } = await directory.tenants.create({ name: 'Acme' });
    const { persons, users } = directory.forTenant(tid);
    const made = await persons.create({ user: { userName: 'two  spaces', status: 'active' } });
    const again = { user: { userName: spelling.replace(/[^a-z]+/gi, (spaces) => ' '.repeat(spaces.length)) } };
    await expect(persons.create(again)).rejects.toMatchObject({ code: 'user_name_taken' });
    expect((await users.findByUserName(spelling))?.id).toBe(made.id);
    expect((await users.list({ userName: spelling })).items.map(({ id }) => id)).toEqual([made.id]);
    expect((await persons.list({ name: spelling })).items.map(({ id }) => id)).toEqual([made.id]);
    expect((await directory.accounts.candidates(spelling)).map(({ person }) => person.id)).toEqual([made.id]);
    expect(await users.findByUserName('twospaces')).toBeUndefined();
    await directory.close();
  },
);
