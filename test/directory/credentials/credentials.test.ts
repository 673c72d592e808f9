import { describe, expect, test } from '@jest/globals';
import type { Credential } from '../../../lib/store/records/records.js';
import { cheapHasher, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';

describe('credentials (design §3)', () => {
  const setUp = async () => {
    const hasher = cheapHasher();
    const t = await testDirectory({ hasher });
    const acme = await tenantWithUser(t.directory, 'Acme', 'alice@acme.test');
    return { t, hasher, acme, ...t.directory };
  };

  test.each([
    ['fourteen chars', 'at least 15 characters'],
    ['x'.repeat(129), 'at most 128 characters'],
    ['ALICE@acme.test', 'something other than the user name'],
  ])('the policy refuses %j', async (password, expected) => {
    const { t, acme } = await setUp();
    await using _ = t;
    const refused = { code: 'invalid_record', details: { path: '/password', expected } };
    await expect(t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, password)).rejects.toMatchObject(refused);
    expect(await t.store.collection('credentials').find({})).toEqual([]);
  });

  test('M3: no flag of the tenant makes fewer characters do, as none is asked for beside a password', async () => {
    const { t, tenants, acme } = await setUp();
    await using _ = t;
    await tenants.update(acme.tid, { signIn: { requireMfa: true } });
    await t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, '😀'.repeat(15));
    await expect(t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, 'x'.repeat(14))).rejects.toMatchObject({
      code: 'invalid_record',
    });
    await expect(t.directory.forTenant(acme.tid).credentials.setPassword('none', 'x'.repeat(20))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('a password signs in the accounts whose owner has it', async () => {
    const { t, credentials, accounts, acme } = await setUp();
    await using _ = t;
    const globex = await tenantWithUser(t.directory, 'Globex', 'alice@acme.test');
    await t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, 'the password of Acme');
    await t.directory.forTenant(globex.tid).credentials.setPassword(globex.userId, 'the password of Globex');
    const signsIn = async (password: string) => {
      const fitting = await credentials.checkPassword(await accounts.candidates('alice@acme.test'), password);
      return fitting.map(({ tenant }) => tenant.name).sort();
    };
    expect(await signsIn('the password of Acme')).toEqual(['Acme']);
    expect(await signsIn('the password of Globex')).toEqual(['Globex']);
    expect(await signsIn('another')).toEqual([]);

    const { linking } = t.directory.forTenant(globex.tid);
    await linking.link(globex.userId, acme);
    expect(await signsIn('the password of Acme')).toEqual(['Acme', 'Globex']);
    expect(await signsIn('the password of Globex')).toEqual([]);
    await linking.unlink(globex.userId, acme.userId);
    expect(await signsIn('the password of Globex')).toEqual(['Globex']);
  });

  test('G2 every check costs a hash: nobody, no password, a wrong one, the right one', async () => {
    const { t, hasher, credentials, accounts, acme } = await setUp();
    await using _ = t;
    const cost = async (name: string, password: string) => {
      const before = hasher.count;
      await credentials.checkPassword(await accounts.candidates(name), password);
      return hasher.count - before;
    };
    expect(await cost('nobody', 'x')).toBe(1);
    expect(await cost('alice@acme.test', 'x')).toBe(1);
    await t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, 'the right password');
    expect([await cost('alice@acme.test', 'x'), await cost('alice@acme.test', 'the right password')]).toEqual([1, 1]);
    await t.directory.forTenant(acme.tid).users.disable(acme.userId);
    expect(await cost('alice@acme.test', 'the right password')).toBe(1);
  });

  test('M16: a check costs as many hashes as it is told to, however many have the name', async () => {
    const { t, hasher, credentials, accounts, acme } = await setUp();
    await using _ = t;
    await t.directory.forTenant(acme.tid).credentials.setPassword(acme.userId, 'the right password');
    for (const name of ['alice@acme.test', 'nobody'])
      for (const password of ['the right password', 'x'])
        for (const hashes of [1, 3]) {
          const before = hasher.count;
          const fitting = await credentials.checkPassword(await accounts.candidates(name), password, { hashes });
          expect([fitting.length, hasher.count - before]).toEqual([name !== 'nobody' && password !== 'x' ? 1 : 0, hashes]);
        }
  });

  test('M4: who is locked has the wrong password, at the same cost and with nothing written', async () => {
    const { t, hasher, credentials, accounts, acme } = await setUp();
    await using _ = t;
    const rows = t.store.collection<Credential>('credentials');
    await rows.insert({ id: acme.userId, passwordHash: 'old:pw', createdAt: new Date(), updatedAt: new Date() });
    const locked = new Set([acme.userId]);
    expect(await credentials.checkPassword(await accounts.candidates('alice@acme.test'), 'pw', { hashes: 3, locked })).toEqual([]);
    expect(hasher.count).toBe(3);
    expect((await rows.get(acme.userId))?.passwordHash).toBe('old:pw');
  });

  test('an outdated hash is made anew by a sign-in, not by a failed one', async () => {
    const { t, credentials, accounts, acme } = await setUp();
    await using _ = t;
    const rows = t.store.collection<Credential>('credentials');
    await rows.insert({ id: acme.userId, passwordHash: 'old:pw', createdAt: new Date(), updatedAt: new Date() });
    const candidates = await accounts.candidates('alice@acme.test');
    expect(await credentials.checkPassword(candidates, 'wrong')).toEqual([]);
    expect((await rows.get(acme.userId))?.passwordHash).toBe('old:pw');
    expect(await credentials.checkPassword(candidates, 'pw')).toHaveLength(1);
    expect((await rows.get(acme.userId))?.passwordHash).toBe('cheap:pw');
  });
});
