import { describe, expect, test } from '@jest/globals';
import { codeOf, tenantWithUser, testDirectory } from '../support/test-directory.js';

describe('tenants (design §3)', () => {
  test('created, changed, disabled and enabled', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const { id } = await tenants.create({ name: 'Acme', branding: { accentColor: '#112233' } });
    expect(await tenants.get(id)).toMatchObject({ name: 'Acme', status: 'active' });
    expect(await tenants.update(id, { name: 'Acme AS', branding: null })).not.toHaveProperty('branding');
    expect((await tenants.disable(id)).status).toBe('disabled');
    expect(await tenants.require(id)).toMatchObject({ name: 'Acme AS', status: 'disabled' });
    expect((await tenants.enable(id)).status).toBe('active');
    expect((await tenants.find()).map((tenant) => tenant.id)).toEqual([id]);
  });

  test.each([
    [{ name: '' }, '/name'],
    [{ name: 'x', id: 'acme' }, '/id'],
    [{ name: 'x', branding: { accentColor: 'red;}' } }, '/branding/accentColor'],
    [{ name: 'x', branding: { logoUri: 'javascript:alert(1)' } }, '/branding/logoUri'],
    [{ name: 'x', status: 'disabled' }, '/status'],
  ])('%j is refused at %s', async (input, path) => {
    await using t = await testDirectory();
    await expect(t.directory.tenants.create(input)).rejects.toMatchObject({ code: 'invalid_record', details: { path } });
  });

  test('an absent one is undefined to get and not_found to the others', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    expect(await tenants.get('none')).toBeUndefined();
    for (const call of [tenants.require('none'), tenants.update('none', {}), tenants.disable('none')]) {
      expect(await codeOf(call)).toBe('not_found');
    }
  });
});

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
    expect((await t.dispatched()).at(-1)).toMatchObject({ type: 'UserGroupsChanged', data: { GroupIds: [] } });
    expect(await codeOf(directory.permissions.remove('p'))).toBe('not_found');
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

describe('subsidiaries (design §3)', () => {
  test('a person assigned to one that is removed belongs to the tenant itself', async () => {
    await using t = await testDirectory();
    const { tid, personId, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { persons, subsidiaries, users } = t.directory.forTenant(tid);
    const subsidiary = await subsidiaries.create({ name: 'Acme North', organisationNumber: '1' });
    await persons.update(personId, { subsidiaryId: subsidiary.id });
    const person = await users.require(userId);
    expect(await t.directory.accounts.subsidiary(person)).toMatchObject({ name: 'Acme North' });
    expect(await subsidiaries.update(subsidiary.id, { organisationNumber: null })).not.toHaveProperty('organisationNumber');
    await subsidiaries.remove(subsidiary.id);
    expect(await t.directory.accounts.subsidiary(person)).toBeUndefined();
  });
});

describe('consents (design §6)', () => {
  test('what is allowed adds up, also at once, and is withdrawn as a whole', async () => {
    await using t = await testDirectory();
    const { consents } = t.directory;
    await Promise.all(['openid', 'profile', 'email'].map((scope) => consents.allow('alice', 'web', ['openid', scope])));
    expect(new Set((await consents.get('alice', 'web'))?.scopes)).toEqual(new Set(['openid', 'profile', 'email']));
    const { version } = (await consents.get('alice', 'web'))!;
    expect((await consents.allow('alice', 'web', ['email'])).version).toBe(version);
    expect(await consents.get('bob', 'web')).toBeUndefined();
    expect(await consents.find('alice')).toHaveLength(1);
    expect(await consents.withdraw('alice', 'web')).toBe(true);
    expect(await consents.withdraw('alice', 'web')).toBe(false);
    expect(await consents.get('alice', 'web')).toBeUndefined();
  });
});
