import { describe, expect, test } from '@jest/globals';
import type { PersonWithUser } from '../../../lib/store/records/records.js';
import { codeOf, tenantWithUser, testDirectory, userIn } from '../../support/service/test-directory.js';

describe('users (design §3)', () => {
  test('a person gets one user, once', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons, users } = t.directory.forTenant(tid);
    const { id } = await persons.create({ givenName: 'A', familyName: 'B' });
    const codes = await Promise.all(['a', 'b', 'c'].map((userName) => codeOf(users.create(id, { userName }))));
    expect(codes.sort()).toEqual(['person_has_user', 'person_has_user', undefined]);
    expect((await t.dispatchedOfPersons()).map(({ type }) => type)).toEqual(['PersonCreated', 'UserCreated']);
  });

  test('user names are compared by NFKC and lower case, and are unique in a tenant only', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'Ａlice@acme.test');
    const { users } = t.directory.forTenant(tid);
    expect((await users.findByUserName('  alice@ACME.test'))?.user.id).toBe(userId);
    const bob = await userIn(t.directory, tid, 'bob');
    expect(await codeOf(users.update(bob.userId, { userName: 'ALICE@acme.test' }))).toBe('user_name_taken');
    expect((await users.require(bob.userId)).user.userName).toBe('bob');
    await tenantWithUser(t.directory, 'Globex', 'alice@acme.test');
  });

  test('two users cannot take one name at once', async () => {
    await using t = await testDirectory();
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'someone');
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(userIn(t.directory, tid, 'alice'))));
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set([undefined, 'user_name_taken']));
  });

  test('4.12 groups by ids or by names, never both, and nothing is written on an error', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { users, groups } = t.directory.forTenant(tid);
    const staff = await groups.create({ name: 'staff' });
    const admins = await groups.create({ name: 'admins' });
    const byNames = await users.setGroups(userId, { names: ['staff', 'admins', 'staff'] });
    expect(byNames.user.groupIds).toEqual([staff.id, admins.id]);
    await expect(users.setGroups(userId, { ids: [staff.id], names: ['staff'] })).rejects.toMatchObject({
      code: 'group_refs_mixed',
      status: 422,
    });
    await expect(users.setGroups(userId, { names: ['staff', 'nobody'] })).rejects.toMatchObject({
      code: 'group_unknown',
      details: { unknown: ['nobody'] },
    });
    await expect(users.setGroups(userId, {})).rejects.toMatchObject({ code: 'invalid_record' });
    expect((await users.require(userId)).user.groupIds).toEqual([staff.id, admins.id]);
    expect((await users.setGroups(userId, { ids: [] })).user.groupIds).toEqual([]);
    const changes = (await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserGroupsChanged');
    expect(changes.map(({ data }) => data)).toEqual([
      { AggregateId: userId, GroupIds: [staff.id, admins.id] },
      { AggregateId: userId, GroupIds: [] },
    ]);
  });

  test('disabling voids sign-ins and tells once; enabling does not bring them back', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { users } = t.directory.forTenant(tid);
    const disabled = await users.disable(userId);
    expect(disabled.user).toMatchObject({ status: 'disabled', notBefore: expect.any(Date) });
    expect((await users.disable(userId)).user.notBefore).toEqual(disabled.user.notBefore);
    const enabled = await users.enable(userId);
    expect(enabled.user).toMatchObject({ status: 'active', notBefore: disabled.user.notBefore });
    expect((await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserDisabled')).toHaveLength(1);
  });

  test('a new user is invited unless it is said to be active', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons, users } = t.directory.forTenant(tid);
    const names = { givenName: 'A', familyName: 'B' };
    const made = async (userName: string, status?: 'invited' | 'active') => {
      const { id } = await persons.create(names);
      const together = await persons.create({ ...names, user: { userName, ...(status && { status }) } });
      return [together.user?.status, (await users.create(id, { userName: `${userName} 2`, ...(status && { status }) })).user.status];
    };
    expect(await made('a')).toEqual(['invited', 'invited']);
    expect(await made('b', 'invited')).toEqual(['invited', 'invited']);
    expect(await made('c', 'active')).toEqual(['active', 'active']);
    expect(await codeOf(made('d', 'disabled' as never))).toBe('invalid_record');
    expect(await t.directory.accounts.candidates('a')).toEqual([]);
    expect(await t.directory.accounts.candidates('c')).toHaveLength(1);
  });

  test('enabling restores the status from before, however often either is done', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons, users } = t.directory.forTenant(tid);
    const { user } = await persons.create({ givenName: 'A', familyName: 'B', user: { userName: 'a' } });
    const id = user?.id ?? '';
    const statusAfter = async (...steps: ('disable' | 'enable' | 'activate')[]) => {
      for (const step of steps) await users[step](id);
      return (await users.require(id)).user.status;
    };
    expect(await statusAfter('enable')).toBe('invited');
    expect(await statusAfter('disable', 'disable', 'enable', 'enable')).toBe('invited');
    expect(await statusAfter('disable', 'activate')).toBe('disabled');
    expect(await statusAfter('enable')).toBe('active');
    expect(await statusAfter('disable', 'disable', 'enable')).toBe('active');
    expect((await users.require(id)).user).not.toHaveProperty('statusBefore');
    await t.dispatched();
    const { version } = await users.require(id);
    expect((await users.activate(id)).version).toBe(version);
    expect((await users.enable(id)).version).toBe(version);
    // The user was disabled before the former status was stored.
    const rows = t.store.collection<PersonWithUser>('persons');
    await rows.update((await users.require(id)).id, (row) => ({ ...row, user: { ...row.user, status: 'disabled' } }));
    expect(await statusAfter('enable')).toBe('active');
  });

  test('signing out everywhere voids the sign-ins before it', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const before = Date.now();
    const { user } = await t.directory.forTenant(tid).users.signOutEverywhere(userId);
    expect(user.notBefore!.getTime()).toBeGreaterThanOrEqual(before);
    expect(user.status).toBe('active');
  });

  test('external identities are kept with what finds them', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const externalIdentities = [{ idp: 'eid', subject: '1' }];
    const { user, id } = await t.directory.forTenant(tid).users.update(userId, { externalIdentities, emailVerified: true });
    expect(user).toMatchObject({ externalIdentities, emailVerified: true, userName: 'alice' });
    const rows = await t.store.collection('persons').find({ byExternalIdentity: [user.externalIdentityKeys[0]!] });
    expect(rows.map((row) => row.id)).toEqual([id]);
  });
});
