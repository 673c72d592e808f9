/** Privileges are pairs of tenant and permission, read past every cache. No caller holds the privileges of an unreadable record. */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { Authority, Directory } from '../../../lib/directory/index.js';
import type { Row, Where } from '../../../lib/store/directory-store.js';
import { withCollections } from '../../store/with-collections.js';
import { testDirectory, userIn } from '../../support/service/test-directory.js';

const ACT = 'support.act';
const authority = (tids: readonly string[], ...permissions: readonly string[]): Authority => ({
  ofAllTenants: tids.includes('*'),
  administers: (tid) => tids.includes(tid),
  permissionIds: permissions,
  holds: (id) => permissions.includes(id),
});

async function scene(directory: Directory) {
  for (const id of ['idp.users:write', 'orders.view', ACT]) await directory.permissions.create({ id, name: id });
  const [own, other] = [await directory.tenants.create({ name: 'Own' }), await directory.tenants.create({ name: 'Other' })];
  const parent = await userIn(directory, own.id, 'parent');
  const child = await userIn(directory, other.id, 'child');
  await directory.forTenant(other.id).linking.link(child.userId, { tid: own.id, userId: parent.userId });
  const group = await directory.forTenant(other.id).groups.create({ name: 'G', permissionIds: ['orders.view'] });
  await directory.forTenant(other.id).users.setGroups(child.userId, { ids: [group.id] });
  const person = (tid: string, userId: string) => directory.forTenant(tid).users.require(userId);
  return {
    own: own.id,
    other: other.id,
    group: group.id,
    child,
    parentPerson: () => person(own.id, parent.userId),
    childPerson: () => person(other.id, child.userId),
    permit: (...permissionIds: readonly string[]) =>
      directory.forTenant(other.id).groups.update(group.id, { permissionIds: [...permissionIds] }),
  };
}

describe.each(['idp.users:write', ACT])('%s', (permission) => {
  test('is a privilege of the tenant that it is held in, of a parent too, and no other permission is', async () => {
    await using built = await testDirectory({ privileged: [ACT] });
    const { privileges } = built.directory;
    const { own, other, parentPerson, childPerson, permit } = await scene(built.directory);
    expect(await privileges.of(await parentPerson())).toEqual([]);
    await permit('orders.view', permission);
    expect(await privileges.of(await parentPerson())).toEqual([{ tid: other, permissionId: permission }]);
    expect(await privileges.of(await childPerson())).toEqual([{ tid: other, permissionId: permission }]);
    const callers: readonly (readonly [Authority, boolean])[] = [
      [authority(['*']), true],
      [authority([own, other], permission), true],
      [authority([own], permission), false],
      [authority([other], permission), true],
      [authority([own, other], 'orders.view'), false],
    ];
    for (const [caller, expected] of callers) {
      expect(await privileges.mayBecome(caller, await parentPerson())).toBe(expected);
      expect(await privileges.mayBecomeAnyone(caller, own)).toBe(expected);
    }
    await permit('orders.view');
    expect(await privileges.mayBecomeAnyone(authority([own]), own)).toBe(true);
    expect(await privileges.mayBecome(authority([own]), await parentPerson())).toBe(true);
  });
});

describe('what cannot be read', () => {
  /** Gives a member that every reader checks an invalid type. */
  const spoil = async (built: { readonly store: ReturnType<typeof memoryDirectory> }, collection: string, id: string) =>
    built.store.collection<Row & { readonly updatedAt?: string }>(collection).update(id, (row) => ({ ...row, updatedAt: 'today' }));

  test.each(['groups', 'persons'] as const)(
    'a row of %s counts as a privilege that administrators of all tenants alone pass over',
    async (collection) => {
      const store = memoryDirectory();
      await using built = await testDirectory({ store });
      const { privileges } = built.directory;
      const { own, other, group, child, parentPerson } = await scene(built.directory);
      const all = authority([own, other], 'idp.users:write', 'orders.view');
      expect(await privileges.mayBecome(all, await parentPerson())).toBe(true);
      await spoil({ store }, collection, collection === 'groups' ? group : child.personId);
      expect(await privileges.of(await parentPerson())).toEqual([{ tid: other }]);
      expect([
        await privileges.mayBecome(all, await parentPerson()),
        await privileges.mayBecome(authority(['*']), await parentPerson()),
      ]).toEqual([false, true]);
      // A stranger in the same tenant is not affected.
      const { userId } = await userIn(built.directory, own, 'stranger');
      expect(await privileges.mayBecome(authority([own]), await built.directory.forTenant(own).users.require(userId))).toBe(true);
    },
  );

  test('a group of the tenant itself stands in the way of its connections and policy', async () => {
    const store = memoryDirectory();
    await using built = await testDirectory({ store });
    const { privileges } = built.directory;
    const { own, other, group } = await scene(built.directory);
    await spoil({ store }, 'groups', group);
    const all = authority([own, other], 'idp.users:write');
    expect([await privileges.mayBecomeAnyone(all, other), await privileges.mayBecomeAnyone(all, own)]).toEqual([false, true]);
  });
});

test('for a whole tenant, no user of it is read: the reads grow with groups that have privileges, and their linked members', async () => {
  const rows: string[] = [];
  const store = withCollections(memoryDirectory(), (collection, name) => ({
    async find(where: Where, page) {
      const found = await collection.find(where, page);
      // The dispatch of events reads rows of its own.
      if (!('byOutbox' in where)) rows.push(...found.map(() => name), ...(Object.keys(where).length === 0 ? ['a walk'] : []));
      return found;
    },
  }));
  await using built = await testDirectory({ store });
  const { directory } = built;
  const { own, other, permit } = await scene(directory);
  await permit('idp.users:write');
  const caller = authority([own], 'idp.users:write');
  const reads = async (): Promise<readonly string[]> => {
    rows.length = 0;
    expect(await directory.privileges.mayBecomeAnyone(caller, own)).toBe(false);
    return rows.filter((name) => ['persons', 'groups', 'a walk'].includes(name));
  };
  const before = await reads();
  const admins = await directory.forTenant(other).groups.create({ name: 'Many', permissionIds: ['idp.users:write'] });
  for (let index = 0; index < 50; index += 1) {
    await userIn(directory, own, `own-${index}`);
    const { userId } = await userIn(directory, other, `admin-${index}`);
    await directory.forTenant(other).users.setGroups(userId, { ids: [admins.id] });
    await directory.forTenant(other).groups.create({ name: `plain ${index}`, permissionIds: ['orders.view'] });
  }
  const grown = await reads();
  // The only additional read is the new group. Its members are not linked, so none of them is read.
  expect(grown.length - before.length).toBe(1);
  expect(grown).not.toContain('a walk');
});
