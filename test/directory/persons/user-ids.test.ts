/**
 * The id of a user is the `sub` that applications know, so no other user, client or API resource gets it: T3-ERASE-SUB, T3-ERASE-TAKEOVER,
 * T3-SUB-CLIENT.
 */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { applySeed, type Directory, type Seed } from '../../../lib/directory/index.js';
import { UnavailableError } from '../../../lib/errors.js';
import { collections } from '../../../lib/store/records/collections.js';
import type { RemovedUser } from '../../../lib/store/records/records.js';
import { createSealer } from '../../../lib/store/sealer.js';
import { withCollections } from '../../store/with-collections.js';
import { codeOf, silentLogger, type TestDirectory, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';
import { until } from '../../support/time/until.js';

const ID = '0197a000-0000-7000-8000-0000000000d1';
const person = { givenName: 'Given', familyName: 'Family' };
const olga = (id = ID) => ({ ...person, user: { id, userName: 'olga', status: 'active' as const } });

interface Scene extends TestDirectory {
  readonly tid: string;
  readonly other: string;
  readonly personId: string;
}

async function scene(options: Parameters<typeof testDirectory>[0] = {}): Promise<Scene> {
  const t = await testDirectory({ settledMs: 0, ...options });
  t.directory.tenantRemoval.start();
  const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
  const { id: other } = await t.directory.tenants.create({ name: 'Globex' });
  const { id: personId } = await t.directory.forTenant(tid).persons.create(olga());
  return { ...t, tid, other, personId };
}

const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const isGone = async ({ store }: Scene) => (await store.collection('removals').find({})).length === 0;

/** Ways of removing a user. */
const removals: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'with the person': ({ directory, tid, personId }) => directory.forTenant(tid).persons.remove(personId),
  'without the person': ({ directory, tid }) => directory.forTenant(tid).users.remove(ID),
  'after a link ended': async ({ directory, tid, other }) => {
    const parent = await directory.forTenant(other).persons.create({ ...person, user: { userName: 'parent', status: 'active' } });
    await directory.forTenant(tid).linking.link(ID, { tid: other, userId: parent.user!.id });
    await directory.forTenant(tid).linking.unlink(ID, parent.user!.id);
    await directory.forTenant(tid).users.remove(ID);
  },
  'with the tenant': async (t) => {
    await t.directory.tenants.remove(t.tid);
    await until(() => isGone(t));
  },
  'with the tenant, unreadable': async (t) => {
    await t.store.collection(collections.persons.name).update(t.personId, (row) => ({ ...row, givenName: 42 }) as never);
    await t.directory.tenants.remove(t.tid);
    await until(() => isGone(t));
  },
};

const seedOf = (tid: string): Seed => ({ tenants: [{ id: tid, name: 'Globex', persons: [olga()] }] });
const client = { id: ID, name: 'Client', metadata: { grant_types: ['client_credentials'] } };
/** Creations of records with the id. Each returns the code of a refusal. */
const makers: Readonly<Record<string, (directory: Directory, tid: string) => Promise<unknown>>> = {
  'a person with a user': (directory, tid) => directory.forTenant(tid).persons.create(olga()),
  'the same id in capitals': (directory, tid) => directory.forTenant(tid).persons.create(olga(ID.toUpperCase())),
  'a user of a person': async (directory, tid) => {
    const { id } = await directory.forTenant(tid).persons.create(person);
    return directory.forTenant(tid).users.create(id, olga().user);
  },
  'an invited user': (directory, tid) =>
    directory.forTenant(tid).invitations.createPerson({ ...person, user: { id: ID, userName: 'olga' } }, { send: false }),
  'a client': (directory) => directory.clients.create(client),
  'an API resource': (directory) => directory.apiResources.create({ id: ID, name: 'API', scopes: [] }),
  'a user of a seed': async (directory, tid) => {
    await directory.seedLedger.begin();
    await applySeed(directory, seedOf(tid), silentLogger);
    if ((await directory.forTenant(tid).users.get(ID)) === undefined) throw Object.assign(new Error('not made'), { code: 'conflict' });
  },
};

describe.each(Object.entries(removals))('T3-ERASE-SUB, T3-ERASE-TAKEOVER: the id of a user that was removed %s', (_, remove) => {
  test.each(Object.entries(makers))('is not the id of %s', async (_name, make) => {
    await using t = await scene();
    await remove(t);
    expect(await codeOf(make(t.directory, t.other))).toBe('conflict');
    expect(await t.store.collection('persons').find({ byUser: [ID] })).toEqual([]);
    expect([await t.directory.clients.get(ID), await t.directory.apiResources.get(ID)]).toEqual([undefined, undefined]);
  });

  test('is given again by host code that restores the user', async () => {
    await using t = await scene();
    await remove(t);
    const { persons, users } = t.directory.forTenant(t.other);
    const restored = await persons.create(olga(), 'restore');
    expect(restored.user?.id).toBe(ID);
    await users.remove(ID);
    expect((await users.create(restored.id, olga().user, 'restore')).user.id).toBe(ID);
    await users.remove(ID);
    expect(await codeOf(users.create(restored.id, olga().user))).toBe('conflict');
  });

  test('leaves a keyed hash, and nothing else', async () => {
    await using t = await scene();
    await remove(t);
    const left = await t.store.collection<RemovedUser>('removedUsers').find({});
    const [hash, ...others] = left.filter(({ id }) => id !== 'keys');
    expect([Object.keys(hash ?? {}).sort(), others]).toEqual([['id', 'version'], []]);
    expect(JSON.stringify(left)).not.toContain(ID);
  });
});

describe('T3-SUB-CLIENT: an id that is in use', () => {
  const taken: Readonly<Record<string, (directory: Directory, tid: string) => Promise<unknown>>> = {
    'a client': makers['a client']!,
    'an API resource': makers['an API resource']!,
    'a person with a user': makers['a person with a user']!,
  };
  const pairs = Object.keys(taken).flatMap((first) => Object.keys(makers).map((second) => [first, second] as const));

  test.each(pairs)('of %s is not the id of %s', async (first, second) => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { id: other } = await t.directory.tenants.create({ name: 'Globex' });
    await taken[first]?.(t.directory, tid);
    expect(await codeOf(makers[second]!(t.directory, other))).toBe('conflict');
  });

  test('is free again after a client or an API resource was removed', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    for (const kind of ['clients', 'apiResources'] as const) {
      await makers[kind === 'clients' ? 'a client' : 'an API resource']?.(t.directory, tid);
      await t.directory[kind].remove(ID);
    }
    await t.directory.clients.create(client);
    await t.directory.clients.remove(ID);
    // The lease of a kind ends with the removal, so the other kind can have the id immediately.
    expect((await t.directory.forTenant(tid).persons.create(olga())).user?.id).toBe(ID);
  });

  test('is named where the request has it', async () => {
    await using t = await scene();
    const { persons, users } = t.directory.forTenant(t.other);
    await expect(persons.create(olga())).rejects.toMatchObject({ code: 'conflict', details: { path: '/user/id' } });
    const { id } = await persons.create(person);
    await expect(users.create(id, olga().user)).rejects.toMatchObject({ code: 'conflict', details: { path: '/id' } });
    await expect(persons.create({ ...person, id })).rejects.toMatchObject({ code: 'conflict', details: { path: '/id' } });
  });

  test('goes to one of two that are made at the same time', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      await using t = await testDirectory({ store: jitteryDirectory(memoryDirectory(), seededRandom(seed)) });
      const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
      const all = ['a person with a user', 'a client', 'a user of a person', 'an API resource'] as const;
      const codes = await Promise.all(all.map((name) => codeOf(makers[name]!(t.directory, tid))));
      const made = codes.filter((code) => code === undefined);
      expect([
        seed,
        made.length <= 1,
        codes.every((code) => code === undefined || code === 'conflict' || code === 'user_name_taken'),
      ]).toEqual([seed, true, true]);
    }
  });
});

describe('a removal and its note', () => {
  const away = () => new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('No answer') });

  test('the removal writes nothing if the note fails, and the id is taken if the removal fails after the note', async () => {
    let failing: string | undefined;
    const memory = memoryDirectory();
    const store = withCollections(memory, (rows, name) => ({
      insert: (row) => (failing === name ? Promise.reject(away()) : rows.insert(row)),
      update: (id, change) => (failing === name ? Promise.reject(away()) : rows.update(id, change)),
    }));
    await using t = await scene({ store });
    const { persons } = t.directory.forTenant(t.tid);
    await t.dispatched();
    for (const name of ['removedUsers', 'persons']) {
      failing = name;
      expect([name, await codeOf(persons.remove(t.personId))]).toEqual([name, 'store_unavailable']);
      failing = undefined;
      expect((await persons.get(t.personId))?.user?.id).toBe(ID);
    }
    expect(ids(await memory.collection('removedUsers').find({}))).toHaveLength(2);
    await persons.update(t.personId, { givenName: 'Still here' });
    await persons.remove(t.personId);
    expect(await codeOf(persons.create(olga()))).toBe('conflict');
  });

  test.each(Array.from({ length: 8 }, (_, writes) => writes))(
    'a node that is killed after %d writes leaves no id that is free',
    async (writes) => {
      for (const way of ['persons', 'users'] as const) {
        const memory = memoryDirectory();
        const { tid, personId } = await (async () => {
          await using t = await scene({ store: memory });
          await t.dispatched();
          return { tid: t.tid, personId: t.personId };
        })();
        let left = writes;
        const dying = async <T>(write: () => Promise<T>): Promise<T> => {
          left -= 1;
          if (left < 0) throw new Error('killed');
          return write();
        };
        const store = withCollections(memory, (rows) => ({
          insert: (row) => dying(() => rows.insert(row)),
          put: (row) => dying(() => rows.put(row)),
          update: (id, change) => dying(() => rows.update(id, change)),
          remove: (id, version) => dying(() => rows.remove(id, version)),
        }));
        await using killed = await testDirectory({ store });
        const removing = killed.directory.forTenant(tid)[way];
        await removing.remove(way === 'persons' ? personId : ID).catch(() => undefined);
        await using next = await testDirectory({ store: memory });
        const again = { ...olga(), user: { ...olga().user, userName: 'again' } };
        expect([writes, way, await codeOf(next.directory.forTenant(tid).persons.create(again))]).toEqual([writes, way, 'conflict']);
      }
    },
  );

  test('a user that a paused process makes after another had the id and was removed is taken back', async () => {
    const memory = memoryDirectory();
    let meanwhile: (() => Promise<unknown>) | undefined;
    const store = withCollections(memory, (rows, name) => ({
      async insert(row) {
        const run = name === 'persons' ? meanwhile : undefined;
        if (run) meanwhile = undefined;
        await run?.();
        return rows.insert(row);
      },
    }));
    await using t = await testDirectory({ store });
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons } = t.directory.forTenant(tid);
    meanwhile = async () => persons.remove((await persons.create(olga())).id);
    expect(await codeOf(persons.create({ ...olga(), user: { ...olga().user, userName: 'late' } }))).toBe('conflict');
    expect(await memory.collection('persons').find({ byUser: [ID] })).toEqual([]);
  });
});

describe('the key of the hashes', () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, message: string) => void warnings.push(message) };
  const memory = memoryDirectory();
  /** Starts a service with these secrets. */
  async function started(...secrets: readonly string[]) {
    const t = await testDirectory({
      store: memory,
      sealer: createSealer(secrets.map((name) => `${name} secret of these tests`)),
      logger,
    });
    await t.directory.removedUserIds.begin();
    return t;
  }

  test('outlives a secret that is replaced; an unreadable one is told, and counts again with its secret', async () => {
    const { tid } = await (async () => {
      await using t = await started('first');
      const made = await tenantWithUser(t.directory, 'Acme', 'first');
      const { persons } = t.directory.forTenant(made.tid);
      await persons.remove((await persons.create(olga())).id);
      return made;
    })();
    const isTaken = async (...secrets: readonly string[]) => {
      await using t = await started(...secrets);
      return (await codeOf(t.directory.clients.create(client))) === 'conflict';
    };
    expect(await isTaken('second', 'first')).toBe(true);
    expect(await isTaken('second')).toBe(true);
    expect(warnings).toEqual([]);
    await (async () => {
      await using t = await started('lost');
      const { persons } = t.directory.forTenant(tid);
      await persons.remove((await persons.create({ ...olga(ID.replace(/1$/, '2')) })).id);
    })();
    expect(warnings).toHaveLength(1);
    expect(await isTaken('second')).toBe(true);
    await using t = await started('third', 'second', 'lost');
    for (const id of [ID, ID.replace(/1$/, '2')])
      expect([id, await codeOf(t.directory.clients.create({ ...client, id }))]).toEqual([id, 'conflict']);
  });
});
