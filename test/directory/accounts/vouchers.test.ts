/** Vouchers of recorded identities, by their writer. */
import { expect, test } from '@jest/globals';
import type { Authority, Directory, Vouching } from '../../../lib/directory/index.js';
import { testDirectory, userIn } from '../../support/service/test-directory.js';

const authority = (tids: readonly string[], ...permissionIds: readonly string[]): Authority => ({
  ofAllTenants: tids.includes('*'),
  permissionIds,
  administers: (tid) => tids.includes(tid),
  holds: (id) => permissionIds.includes(id),
});

const identity = { idp: 'up', subject: 'somebody' };
const recorded = async (directory: Directory, tid: string, userId: string) =>
  (await directory.forTenant(tid).users.require(userId)).user.externalIdentities;

test('T3-POS-IDENTITY: an identity keeps who wrote it, and what that writer held', async () => {
  await using built = await testDirectory({ privileged: ['support.act'] });
  const { directory } = built;
  const { id: tid } = await directory.tenants.create({ name: 'Acme' });
  const ofTenant = authority([tid, 'other'], 'idp.users:write', 'orders.view', 'support.act');
  const voucher = { by: 'tenant', tids: [tid], permissionIds: ['idp.users:write', 'support.act'] };
  const writers: readonly (readonly [Vouching | undefined, object])[] = [
    [undefined, { by: 'operator' }],
    [{ by: 'person' }, { by: 'person' }],
    [authority(['*'], 'idp.users:write'), { by: 'operator' }],
    [ofTenant, voucher],
  ];
  for (const [index, [vouching, vouchedBy]] of writers.entries()) {
    const as = directory.as({ actor: 'client:writer' }, vouching).forTenant(tid);
    const { userId } = await userIn(directory, tid, `u${index}`);
    await as.users.addIdentity(userId, identity);
    expect(await recorded(directory, tid, userId)).toEqual([{ ...identity, vouchedBy }]);
    const user = { userName: `n${index}`, externalIdentities: [identity] };
    const made = await as.persons.create({ givenName: 'N', familyName: 'N', user });
    expect(made.user?.externalIdentities).toEqual([{ ...identity, vouchedBy }]);
    const person = await as.persons.create({ givenName: 'N', familyName: 'N' });
    expect((await as.users.create(person.id, { ...user, userName: `m${index}` })).user.externalIdentities).toEqual([
      { ...identity, vouchedBy },
    ]);
  }
});

test('a change of identities leaves the vouchers of those that stay, and an operator raises one by recording the identity again', async () => {
  await using built = await testDirectory();
  const { directory } = built;
  const { id: tid } = await directory.tenants.create({ name: 'Acme' });
  const { userId } = await userIn(directory, tid, 'olga');
  const { users } = directory.as({ actor: 'client:low' }, authority([tid])).forTenant(tid);
  const other = { idp: 'up', subject: 'other' };
  await directory.forTenant(tid).users.addIdentity(userId, identity);
  await users.update(userId, { externalIdentities: [other, identity] });
  const low = { by: 'tenant', tids: [tid], permissionIds: [] };
  const kept = [
    { ...other, vouchedBy: low },
    { ...identity, vouchedBy: { by: 'operator' } },
  ];
  expect(await recorded(directory, tid, userId)).toEqual(kept);
  await directory.forTenant(tid).users.update(userId, { externalIdentities: [other, identity] });
  await users.addIdentity(userId, other);
  expect(await recorded(directory, tid, userId)).toEqual(kept);
  await directory.forTenant(tid).users.addIdentity(userId, other);
  expect(await recorded(directory, tid, userId)).toEqual([kept[1], { ...other, vouchedBy: { by: 'operator' } }]);
});

test('a voucher covers the tenants of linked children that the writer administers', async () => {
  await using built = await testDirectory();
  const { directory } = built;
  const [acme, globex, initech] = [
    await directory.tenants.create({ name: 'Acme' }),
    await directory.tenants.create({ name: 'Globex' }),
    await directory.tenants.create({ name: 'Initech' }),
  ];
  const parent = await userIn(directory, acme.id, 'parent');
  for (const { id } of [globex, initech]) {
    const child = await userIn(directory, id, 'child');
    await directory.forTenant(id).linking.link(child.userId, { tid: acme.id, userId: parent.userId });
  }
  const caller = authority([acme.id, globex.id, 'unrelated'], 'idp.users:write');
  await directory.as({}, caller).forTenant(acme.id).users.addIdentity(parent.userId, identity);
  const [kept] = await recorded(directory, acme.id, parent.userId);
  expect(kept?.vouchedBy).toEqual({ by: 'tenant', tids: [acme.id, globex.id], permissionIds: ['idp.users:write'] });
});
