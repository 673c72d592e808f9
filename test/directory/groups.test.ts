import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { withCollections } from '../store/with-collections.js';
import { codeOf, tenantWithUser, testDirectory } from '../support/service/test-directory.js';

describe('permissions and groups (design §3)', () => {
  test('a group holds permissions of the catalogue only', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { id: tid } = await directory.tenants.create({ name: 'Acme' });
    const { groups } = directory.forTenant(tid);
    await directory.permissions.create({ id: 'orders.approve', name: 'Approve orders' });
    const unknown = { code: 'permission_unknown', details: { unknown: ['orders.delete'] } };
    const permissionIds = ['orders.approve', 'orders.delete'];
    await expect(groups.create({ name: 'staff', permissionIds })).rejects.toMatchObject(unknown);
    const { id } = await groups.create({ name: 'staff', permissionIds: ['orders.approve'] });
    await expect(groups.update(id, { permissionIds })).rejects.toMatchObject(unknown);
    expect((await groups.require(id)).permissionIds).toEqual(['orders.approve']);
    expect(await codeOf(groups.create({ name: 'staff' }))).toBe('conflict');
  });

  test('removing a permission takes it out of the groups, removing a group out of the users', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { tid, userId } = await tenantWithUser(directory, 'Acme', 'alice');
    const { groups, users } = directory.forTenant(tid);
    await directory.permissions.create({ id: 'p', name: 'P' });
    const { id } = await groups.create({ name: 'staff', permissionIds: ['p'] });
    await users.setGroups(userId, { ids: [id] });
    await directory.permissions.remove('p');
    expect((await groups.require(id)).permissionIds).toEqual([]);
    await groups.remove(id);
    expect((await users.require(userId)).user.groupIds).toEqual([]);
    expect((await t.dispatchedOfPersons()).at(-1)).toMatchObject({ type: 'UserGroupsChanged', data: { GroupIds: [] } });
    expect(await codeOf(directory.permissions.remove('p'))).toBe('not_found');
  });

  test('a permission whose removal fails at a group can be removed again', async () => {
    let isDown = false;
    const store = withCollections(memoryDirectory(), (rows, name) => ({
      async update(id, change) {
        if (isDown && name === 'groups') throw new Error('away');
        return rows.update(id, change);
      },
    }));
    await using t = await testDirectory({ store });
    const { directory } = t;
    const { id: tid } = await directory.tenants.create({ name: 'Acme' });
    const { groups } = directory.forTenant(tid);
    await directory.permissions.create({ id: 'p', name: 'P' });
    const { id } = await groups.create({ name: 'staff', permissionIds: ['p'] });
    isDown = true;
    await expect(directory.permissions.remove('p')).rejects.toThrow('away');
    isDown = false;
    await directory.permissions.remove('p');
    expect((await groups.require(id)).permissionIds).toEqual([]);
    expect(await directory.permissions.get('p')).toBeUndefined();
  });

  test('a permission is renamed, and its id is a scope token', async () => {
    await using t = await testDirectory();
    const { permissions } = t.directory;
    await permissions.create({ id: 'p', name: 'P' });
    expect(await permissions.update('p', { description: 'All of it' })).toMatchObject({ name: 'P', description: 'All of it' });
    expect(await codeOf(permissions.create({ id: 'p', name: 'P' }))).toBe('conflict');
    expect(await codeOf(permissions.create({ id: 'two words', name: 'P' }))).toBe('invalid_record');
    expect(await permissions.find()).toHaveLength(1);
  });
});
