import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { Directory } from '../../lib/directory/index.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import type { Person } from '../../lib/store/records/records.js';
import { withCollections } from '../store/with-collections.js';
import { codeOf, type TestDirectory, tenantWithUser, testDirectory, userIn } from '../support/service/test-directory.js';
import { until } from '../support/time/until.js';

/** Returns a store that fails after so many writes, as a killed node does for its caller. */
function mortal(store: DirectoryStore, writes: number): { readonly store: DirectoryStore; readonly isDead: () => boolean } {
  let left = writes;
  const alive = <A extends unknown[], T>(call: (...args: A) => Promise<T>, cost: number) => {
    return async (...args: A): Promise<T> => {
      if (left < cost) left = -1;
      if (left < 0) throw new Error('killed');
      left -= cost;
      return call(...args);
    };
  };
  const dying = withCollections(store, (rows) => ({
    get: alive(rows.get, 0),
    find: alive(rows.find, 0),
    range: alive(rows.range, 0),
    insert: alive(rows.insert, 1),
    put: alive(rows.put, 1),
    update: alive(rows.update, 1),
    remove: alive(rows.remove, 1),
  }));
  return { store: dying, isDead: () => left < 0 };
}

/** Returns everything that is stored, as text. */
async function dumpOf(store: DirectoryStore, ...names: readonly string[]): Promise<string> {
  const all = await Promise.all(names.map((name) => store.collection(name).find({})));
  return JSON.stringify(all);
}

const kept = ['persons', 'credentials', 'consents', 'invitations', 'groups', 'subsidiaries'] as const;

/** Creates a tenant with a person who has data of every kind, and a linked account in another tenant. */
async function furnished(directory: Directory) {
  const { tid, personId, userId } = await tenantWithUser(directory, 'Acme', 'alice');
  const { groups, subsidiaries, persons, users, linking, invitations } = directory.forTenant(tid);
  const group = await groups.create({ name: 'Staff of Acme' });
  const subsidiary = await subsidiaries.create({ name: 'Acme Nord' });
  await persons.update(personId, { email: 'alice@acme.test', subsidiaryId: subsidiary.id });
  await users.setGroups(userId, { ids: [group.id] });
  await users.update(userId, { externalIdentities: [{ idp: 'eid', subject: 'subject-of-alice' }] });
  await directory.credentials.seedPassword(userId, 'alice');
  await directory.consents.allow(userId, 'web', ['openid']);
  const invited = await persons.create({ givenName: 'Ivy', familyName: 'Invited', user: { userName: 'ivy' } });
  await invitations.create(invited.user!.id, { send: false });
  const other = await tenantWithUser(directory, 'Globex', 'alice.globex');
  await directory.forTenant(other.tid).linking.link(other.userId, { tid, userId });
  const third = await tenantWithUser(directory, 'Initech', 'alice.initech');
  return { tid, personId, userId, groupId: group.id, other, third, linking, persons, users };
}

const eventsOf = async (t: TestDirectory) => (await t.dispatched()).map(({ type, subject }) => ({ type, subject }));

describe('threat H3: a removal that cannot be done', () => {
  /** Returns a store in which another writer is always faster than a removal, or in which the node crashes. */
  function held() {
    const state = { is: 'faster' as 'faster' | 'killed' | 'free', tries: 0 };
    const memory = memoryDirectory();
    const store = withCollections(memory, (rows, name) => ({
      update: (id, change) =>
        rows.update(id, (row) => {
          const next = change(row);
          if (name !== 'persons' || state.is === 'free' || (next as { readonly tid?: string }).tid !== '') return next;
          if (state.is === 'killed') throw new Error('killed');
          state.tries += 1;
          change({ ...row, user: { ...(row as unknown as Person).user, id: 'of another user' } } as typeof row);
          return row;
        }),
    }));
    const enqueued = async () => {
      const all = await memory.collection<Row & { readonly kind: string }>('deliveries').find({});
      return all.filter(({ kind }) => kind === 'erase-person').length;
    };
    return { state, store, enqueued };
  }

  test('is refused, and is not left in the queue', async () => {
    const { state, store, enqueued } = held();
    await using t = await testDirectory({ store });
    const { tid, personId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    expect(await codeOf(t.directory.forTenant(tid).persons.remove(personId))).toBe('busy');
    expect(state.tries).toBe(10);
    expect(await enqueued()).toBe(0);
  });

  test('is in the queue once, however often the queue tries it', async () => {
    const { state, store, enqueued } = held();
    await using t = await testDirectory({ store });
    const { tid, personId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    state.is = 'killed';
    await expect(t.directory.forTenant(tid).persons.remove(personId)).rejects.toThrow('killed');
    state.is = 'faster';
    await until(() => state.tries >= 10);
    await sleep(50);
    expect(await enqueued()).toBe(1);
  });
});

describe('users.remove (design §7)', () => {
  test('keeps the person, and takes all that belongs to the user', async () => {
    await using t = await testDirectory();
    const { tid, personId, userId, other, persons, users } = await furnished(t.directory);
    const person = await users.remove(userId);
    expect(person).toMatchObject({ id: personId, tid, email: 'alice@acme.test' });
    expect(person).not.toHaveProperty('user');
    expect(await persons.require(personId)).not.toHaveProperty('user');
    expect(await codeOf(users.remove(userId))).toBe('not_found');
    expect(await t.directory.accounts.findByOid(userId)).toBeUndefined();
    expect(await t.directory.accounts.ofIdentity({ idp: 'eid', subject: 'subject-of-alice' })).toEqual([]);
    expect((await t.directory.forTenant(other.tid).users.require(other.userId)).user).not.toHaveProperty('parentUserId');
    expect(await dumpOf(t.store, 'credentials', 'consents')).toBe('[[],[]]');
    expect((await persons.list({ email: 'alice@acme.test' })).items).toHaveLength(1);
    expect((await users.list()).items.map(({ user }) => user.userName)).toEqual(['ivy']);
    expect(await eventsOf(t)).toEqual(
      expect.arrayContaining([
        { type: 'UserRemoved', subject: userId },
        { type: 'UserClaimRemoved', subject: other.userId },
      ]),
    );
    // The name is free again, for this person too.
    expect((await users.create(personId, { userName: 'alice' })).user.id).not.toBe(userId);
  });

  test('of a child ends the link, and its invitation goes along', async () => {
    await using t = await testDirectory();
    const { tid, userId, other, users } = await furnished(t.directory);
    await t.directory.forTenant(other.tid).users.remove(other.userId);
    expect((await users.require(userId)).user.isParent).toBe(false);
    const [ivy] = (await users.list({ userName: 'ivy' })).items;
    await users.remove(ivy!.user.id);
    expect(await t.store.collection('invitations').find({ byTenant: [tid] })).toEqual([]);
  });

  test('tells extensions that the person stays', async () => {
    const told: object[] = [];
    await using t = await testDirectory({
      erase: async (person) => void told.push(person),
    });
    const { tid, personId, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    await t.directory.forTenant(tid).users.remove(userId);
    await until(async () => told.length > 0);
    expect(told[0]).toEqual({ tid, personId, userId, credentialIds: [], keepsPerson: true });
  });
});

describe('removals and killed nodes (H3)', () => {
  /** Kills a node after each number of writes, and checks how the next node continues. */
  async function killedAfterEachWrite(
    remove: (directory: Directory, ids: Awaited<ReturnType<typeof furnished>>) => Promise<unknown>,
    look: (t: TestDirectory, ids: Awaited<ReturnType<typeof furnished>>) => Promise<'untouched' | 'removed' | 'half'>,
  ): Promise<readonly string[]> {
    const one = async (writes: number): Promise<string | undefined> => {
      const store = memoryDirectory();
      const before = await testDirectory({ store });
      const ids = await furnished(before.directory);
      await before.dispatched();
      await before[Symbol.asyncDispose]();
      const dying = mortal(store, writes);
      const doomed = await testDirectory({ store: dying.store });
      doomed.directory.tenantRemoval.start();
      const failed = await remove(doomed.directory, ids).then(
        () => false,
        () => true,
      );
      const isWhole = !failed && !dying.isDead();
      await using t = await testDirectory({ store });
      t.directory.tenantRemoval.start();
      let found: string = 'half';
      await until(async () => {
        found = await look(t, ids);
        const waiting = await store.collection<Row & { kind: string }>('deliveries').find({});
        const isLeft = waiting.some(({ kind }) => kind === 'erase-person');
        return found !== 'half' && !(isLeft && found === 'untouched') && (await store.collection('removals').find({})).length === 0;
      }).catch(() => undefined);
      void Promise.resolve(doomed[Symbol.asyncDispose]()).catch(() => undefined);
      return isWhole ? undefined : found;
    };
    const outcomes = await Promise.all(Array.from({ length: process.env.PROVE ? 40 : 24 }, (_, writes) => one(writes)));
    return outcomes.filter((outcome) => outcome !== undefined);
  }

  const hasUser = async (t: TestDirectory, userId: string): Promise<boolean> =>
    (await t.directory.accounts.findByOid(userId)) !== undefined;

  test('a user is removed as a whole by the next node, or was never touched', async () => {
    const outcomes = await killedAfterEachWrite(
      (directory, { tid, userId }) => directory.forTenant(tid).users.remove(userId),
      async (t, { tid, personId, userId, other }) => {
        const isThere = await hasUser(t, userId);
        const rest = await dumpOf(t.store, 'credentials', 'consents');
        const { user } = await t.directory.forTenant(other.tid).users.require(other.userId);
        expect(await t.directory.forTenant(tid).persons.get(personId)).toBeDefined();
        if (isThere && rest.includes(userId) && user.parentUserId === userId) return 'untouched';
        return !isThere && !rest.includes(userId) && user.parentUserId === undefined ? 'removed' : 'half';
      },
    );
    expect(new Set(outcomes)).toEqual(new Set(['untouched', 'removed']));
    expect(outcomes.length).toBeGreaterThan(5);
  });

  test('a person is erased as a whole by the next node, or was never touched', async () => {
    const outcomes = await killedAfterEachWrite(
      (directory, { tid, personId }) => directory.forTenant(tid).persons.remove(personId),
      async (t, { tid, personId, userId }) => {
        const isThere = (await t.directory.forTenant(tid).persons.get(personId)) !== undefined;
        const all = await dumpOf(t.store, ...kept);
        const isKept = ['alice@acme.test', 'subject-of-alice', `"id":"${userId}"`].map((text) => all.includes(text));
        if (isThere && isKept.every(Boolean)) return 'untouched';
        return isThere || isKept.some(Boolean) ? 'half' : 'removed';
      },
    );
    expect(new Set(outcomes)).toEqual(new Set(['untouched', 'removed']));
  });

  test('a tenant is removed as a whole by the next node, with one event, or was never touched', async () => {
    const outcomes = await killedAfterEachWrite(
      async (directory, { tid }) => {
        await directory.tenants.remove(tid);
        // The node crashes here.
        await sleep(300);
      },
      async (t, { tid }) => {
        const tenant = await t.directory.tenants.get(tid);
        const all = await dumpOf(t.store, ...kept);
        const told = (await t.dispatched()).filter(({ type }) => type === 'TenantRemoved').length;
        if (tenant && all.includes('Acme Nord') && all.includes('alice@acme.test') && told === 0) return 'untouched';
        return tenant === undefined && !all.includes(tid) && told === 1 ? 'removed' : 'half';
      },
    );
    expect(new Set(outcomes)).toEqual(new Set(['untouched', 'removed']));
  });
});

describe('tenants.remove', () => {
  test('a removed tenant is gone at once, on every path', async () => {
    await using t = await testDirectory();
    const { tid, userId, persons } = await furnished(t.directory);
    const { tenants, accounts } = t.directory;
    await tenants.remove(tid);
    expect(await tenants.get(tid)).toBeUndefined();
    expect(tenants.peek(tid)).toBeUndefined();
    expect((await tenants.find()).map(({ name }) => name)).toEqual(['Globex', 'Initech']);
    expect((await tenants.list()).items.map(({ name }) => name)).toEqual(['Globex', 'Initech']);
    expect(await accounts.findByOid(userId)).toBeUndefined();
    expect(await accounts.candidates('alice')).toEqual([]);
    expect(await codeOf(persons.create({ givenName: 'x', familyName: 'y' }))).toBe('not_found');
    for (const call of [tenants.remove(tid), tenants.enable(tid), tenants.update(tid, { name: 'x' }), tenants.disable(tid)])
      expect(await codeOf(call)).toBe('not_found');
    expect(await codeOf(tenants.create({ id: tid, name: 'Acme' }))).toBe('conflict');
  });

  test('a job removes all that is kept of it, and nothing of others; then the event tells who did it', async () => {
    const removedRows: string[] = [];
    await using t = await testDirectory({ settledMs: 100, removeRows: async (tid) => void removedRows.push(tid) });
    const { tid, userId, other, third } = await furnished(t.directory);
    await userIn(t.directory, tid, 'bob');
    const others = async () => [
      await t.directory.forTenant(third.tid).users.get(third.userId),
      (await t.directory.forTenant(other.tid).users.require(other.userId)).user.parentUserId,
    ];
    t.directory.tenantRemoval.start();
    await t.directory.as({ actor: 'client:hr-sync', requestId: 'r1' }).tenants.remove(tid);
    await until(async () => (await t.store.collection('removals').find({})).length === 0);
    expect(await dumpOf(t.store, ...kept)).not.toContain(tid);
    expect(await dumpOf(t.store, 'tenants', 'credentials', 'consents')).not.toContain(userId);
    expect(await others()).toEqual([expect.objectContaining({ id: third.personId }), undefined]);
    expect(new Set(removedRows)).toEqual(new Set([tid]));
    const events = await t.dispatched();
    const removed = events.filter(({ type }) => type === 'TenantRemoved');
    expect(removed).toMatchObject([{ subject: tid, tid, actor: 'client:hr-sync', requestId: 'r1', data: { AggregateId: tid } }]);
    // The id is free again, and the new tenant has no data of the old one.
    await t.directory.tenants.create({ id: tid, name: 'Acme again' });
    expect((await t.directory.forTenant(tid).persons.list()).items).toEqual([]);
  });

  test('M17: rows that cannot be read go along, and what is found by them', async () => {
    await using t = await testDirectory({ settledMs: 100 });
    const { tid, personId, userId, groupId, other } = await furnished(t.directory);
    const broken = async (name: string, id: string, members: object) => {
      const rows = t.store.collection<Row>(name);
      await rows.put({ ...(await rows.get(id)), ...members } as Row);
    };
    await broken('persons', personId, { givenName: 7 });
    await broken('groups', groupId, { name: [] });
    for (const name of ['invitations', 'consents', 'subsidiaries'])
      for (const { id } of await t.store.collection(name).find({})) await broken(name, id, { createdAt: 'once' });
    t.directory.tenantRemoval.start();
    await t.directory.tenants.remove(tid);
    await until(async () => (await t.store.collection('removals').find({})).length === 0);
    expect(await dumpOf(t.store, ...kept)).not.toContain(tid);
    expect(await dumpOf(t.store, 'credentials', 'consents')).not.toContain(userId);
    expect((await t.directory.forTenant(other.tid).users.require(other.userId)).user.parentUserId).toBeUndefined();
  });

  test('a list of tenants never becomes one of all: whose last tenant is removed serves none', async () => {
    await using t = await testDirectory();
    const { tid, third } = await furnished(t.directory);
    const { clients, apiResources, tenants } = t.directory;
    await clients.create({ id: 'only', name: 'Only', allowedTenants: [tid], adminTenants: [tid] });
    await clients.create({ id: 'both', name: 'Both', allowedTenants: [tid, third.tid], adminTenants: [tid, third.tid] });
    await clients.create({ id: 'all', name: 'All', adminTenants: ['*'] });
    await apiResources.create({ id: 'api', name: 'API', scopes: [], allowedTenants: [tid] });
    t.directory.tenantRemoval.start();
    await tenants.remove(tid);
    await until(async () => (await clients.require('only')).allowedTenants?.length === 0);
    expect(await clients.require('only')).toMatchObject({ allowedTenants: [], adminTenants: [] });
    expect(await clients.require('both')).toMatchObject({ allowedTenants: [third.tid], adminTenants: [third.tid] });
    const { allowedTenants, adminTenants } = await clients.require('all');
    expect({ allowedTenants, adminTenants }).toEqual({ allowedTenants: undefined, adminTenants: ['*'] });
    await until(async () => (await apiResources.require('api')).allowedTenants?.length === 0);
    expect(await t.directory.accounts.candidates('alice.globex', { tids: [] })).toEqual([]);
  });

  test('two nodes that race for it remove it once', async () => {
    const store = memoryDirectory();
    await using one = await testDirectory({ store, settledMs: 100 });
    await using two = await testDirectory({ store, settledMs: 100 });
    const { tid } = await furnished(one.directory);
    for (const { directory } of [one, two]) directory.tenantRemoval.start();
    const results = await Promise.all([one, two].map(({ directory }) => codeOf(directory.tenants.remove(tid))));
    expect(results.toSorted()).toEqual(['not_found', undefined].toSorted());
    await until(async () => (await store.collection('removals').find({})).length === 0);
    await sleep(200);
    expect((await one.dispatched()).filter(({ type }) => type === 'TenantRemoved')).toHaveLength(1);
    expect(await dumpOf(store, ...kept)).not.toContain(tid);
  });

  test('what a request wrote that found the tenant just before goes along', async () => {
    await using t = await testDirectory({ settledMs: 1000 });
    const { tid } = await furnished(t.directory);
    t.directory.tenantRemoval.start();
    await t.directory.tenants.remove(tid);
    await until(async () => !(await dumpOf(t.store, ...kept)).includes(tid));
    await t.store
      .collection('groups')
      .insert({ id: 'late', tid, name: 'Late', permissionIds: [], createdAt: new Date(), updatedAt: new Date() } as never);
    await until(async () => (await t.store.collection('removals').find({})).length === 0);
    expect(await dumpOf(t.store, ...kept)).not.toContain(tid);
  });
});
