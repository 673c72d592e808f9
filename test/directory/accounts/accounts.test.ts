import { describe, expect, test } from '@jest/globals';
import { isUsable, subOf } from '../../../lib/directory/index.js';
import { tenantWithUser, testDirectory, userIn } from '../../support/service/test-directory.js';

describe('accounts (design §3)', () => {
  test('an oid finds the account in whatever tenant', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    expect(await t.directory.accounts.findByOid(userId)).toMatchObject({ person: { tid, user: { id: userId } }, tenant: { id: tid } });
    for (const oid of ['', 'alice', '00000000-0000-7000-8000-000000000000', tid]) {
      expect(await t.directory.accounts.findByOid(oid)).toBeUndefined();
    }
  });

  test('a family is the same seen from each account, itself first, and shares one sub', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const [parent, first, second, stranger] = await Promise.all(
      ['Acme', 'Globex', 'Initech', 'Umbrella'].map((name) => tenantWithUser(directory, name, 'alice')),
    );
    for (const child of [first!, second!]) await directory.forTenant(child.tid).linking.link(child.userId, parent!);
    for (const member of [parent!, first!, second!]) {
      const account = (await directory.accounts.findByOid(member.userId))!;
      const family = await directory.accounts.family(account.person);
      expect(family[0]?.person.user.id).toBe(member.userId);
      expect(family.map(({ tenant }) => tenant.id).sort()).toEqual([parent!.tid, first!.tid, second!.tid].sort());
      expect(new Set(family.map(({ person }) => subOf(person.user)))).toEqual(new Set([parent!.userId]));
    }
    const alone = (await directory.accounts.findByOid(stranger!.userId))!;
    expect((await directory.accounts.family(alone.person)).map(({ person }) => person.user.id)).toEqual([stranger!.userId]);
  });

  test('usable: an active user of an active tenant, signed in since notBefore', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { tid, userId } = await tenantWithUser(directory, 'Acme', 'alice');
    const { users } = directory.forTenant(tid);
    const usable = async (at?: Date) => isUsable((await directory.accounts.findByOid(userId))!, at);
    expect(await usable(new Date(0))).toBe(true);
    const { notBefore } = (await users.signOutEverywhere(userId)).user;
    expect(await usable(new Date(notBefore!.getTime() - 1))).toBe(false);
    expect(await usable(notBefore)).toBe(true);
    expect(await usable()).toBe(true);
    await directory.tenants.disable(tid);
    expect(await usable()).toBe(false);
    await directory.tenants.enable(tid);
    await users.disable(userId);
    expect(await usable()).toBe(false);
  });

  test('candidates: the name in every tenant, or in some, of three credential owners at most', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const names = ['Acme', 'Globex', 'Initech', 'Umbrella', 'Hooli'];
    const all = await Promise.all(names.map((name) => tenantWithUser(directory, name, 'Alice')));
    const tidsOf = async (narrowed?: { tids: string[] }) =>
      (await directory.accounts.candidates('ALICE', narrowed)).map(({ tenant }) => tenant.id);
    expect(await tidsOf()).toHaveLength(3);
    expect(await tidsOf({ tids: [all[4]!.tid] })).toEqual([all[4]!.tid]);
    expect(await tidsOf({ tids: [] })).toEqual([]);
    const many = [...Array.from({ length: 40 }, (_, index) => `absent-${index}`), all[3]!.tid];
    expect(await tidsOf({ tids: many })).toEqual([all[3]!.tid]);

    // Linked accounts share one credential owner.
    for (const child of all.slice(1, 4)) await directory.forTenant(child.tid).linking.link(child.userId, all[0]!);
    expect((await tidsOf()).sort()).toEqual(all.map(({ tid }) => tid).sort());
  });

  test('M11 candidates: accounts that people made themselves come last, unless their e-mail is verified', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const selfMade = await Promise.all(
      ['Open A', 'Open B', 'Open C', 'Open D'].map(async (name) => {
        const { id } = await directory.tenants.create({ name, signIn: { selfRegistration: true } });
        const person = { givenName: 'Alice', familyName: 'Other', email: 'alice@acme.test', password: 'a password of her own' };
        return { tid: id, userId: (await directory.forTenant(id).registration.register(person)).user.id };
      }),
    );
    const real = await tenantWithUser(directory, 'Acme', 'alice@acme.test');
    const found = async () => (await directory.accounts.candidates('alice@acme.test')).map(({ person }) => person.user.id);
    expect((await found())[0]).toBe(real.userId);
    expect(await found()).toHaveLength(3);
    const last = selfMade[3]!;
    await directory.forTenant(last.tid).users.update(last.userId, { emailVerified: true });
    expect((await found()).slice(0, 2).sort()).toEqual([real.userId, last.userId].sort());
  });

  test('M11 candidates: of an organisation, by the name or number of its tenant or of a subsidiary', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const names = ['Acme AS', 'Globex', 'Initech', 'Umbrella', 'Hooli'];
    const all = await Promise.all(names.map((name) => tenantWithUser(directory, name, 'alice')));
    await directory.tenants.update(all[4]!.tid, { organisationNumber: '910 000 005' });
    const { subsidiaries, persons } = directory.forTenant(all[3]!.tid);
    const { id: subsidiaryId } = await subsidiaries.create({ name: 'Umbrella Norge', organisationNumber: '920000004' });
    await persons.update(all[3]!.personId, { subsidiaryId });
    const tenantsOf = async (organisation: string) =>
      (await directory.accounts.candidates('alice', { organisation })).map(({ tenant }) => tenant.name);
    for (const [said, name] of [
      ['acme as', 'Acme AS'],
      [' ACME  AS. ', 'Acme AS'],
      ['ａｃｍｅ ＡＳ', 'Acme AS'],
      ['910000005', 'Hooli'],
      ['hooli', 'Hooli'],
      ['umbrella norge', 'Umbrella'],
      ['920 000 004', 'Umbrella'],
      ['Umbrella', 'Umbrella'],
    ] as const)
      expect([said, await tenantsOf(said)]).toEqual([said, [name]]);
    for (const said of ['acme', 'nobody', '*', all[0]!.tid]) expect(await tenantsOf(said)).toEqual([]);
    for (const said of ['', '  ', '.']) expect(await tenantsOf(said)).toHaveLength(3);
    const oids = all.map(({ userId }) => userId);
    const { candidatesAmong } = directory.accounts;
    expect((await candidatesAmong(oids, 'ALICE', { organisation: 'Hooli' })).map(({ tenant }) => tenant.name)).toEqual(['Hooli']);
    expect(await candidatesAmong(oids, 'bob')).toEqual([]);
    expect((await candidatesAmong(oids, 'alice', { tids: [all[1]!.tid] })).map(({ tenant }) => tenant.name)).toEqual(['Globex']);
  });

  test('candidates: nobody by odd names, and none that cannot be used', async () => {
    await using t = await testDirectory();
    const { tid, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { candidates } = t.directory.accounts;
    for (const name of ['', '  ', 'x'.repeat(300), '__proto__']) expect(await candidates(name)).toEqual([]);
    await t.directory.forTenant(tid).users.disable(userId);
    expect(await candidates('alice')).toEqual([]);
  });

  test('groups are those of the user that still exist', async () => {
    await using t = await testDirectory();
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { groups, users } = t.directory.forTenant(tid);
    const staff = await groups.create({ name: 'staff' });
    const { userId } = await userIn(t.directory, tid, 'bob');
    const person = await users.setGroups(userId, { names: ['staff'] });
    expect((await t.directory.accounts.groups(person)).map(({ name }) => name)).toEqual(['staff']);
    await groups.remove(staff.id);
    expect(await t.directory.accounts.groups(person)).toEqual([]);
  });
});
