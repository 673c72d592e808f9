/** Issue 14, 4: a password is replaced, and a node crashes at each of the writes. */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { withCollections } from '../../store/with-collections.js';
import { testDirectory } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

/** Returns a store whose nth write of a change fails once, as if the node crashed there. The earlier writes are done. */
function deadly() {
  const store = memoryDirectory();
  const counted = ['deliveries', 'credentials', 'persons'];
  const state = { left: Number.POSITIVE_INFINITY, isDead: false };
  const written = async <T>(name: string, write: () => Promise<T>): Promise<T> => {
    if (!counted.includes(name) || state.left === Number.POSITIVE_INFINITY) return write();
    if (state.isDead) throw new Error('the node is gone');
    state.left -= 1;
    if (state.left < 0) {
      state.isDead = true;
      throw new Error('the node is gone');
    }
    return write();
  };
  const wrapped = withCollections(store, (rows, name) => ({
    insert: (row) => written(name, () => rows.insert(row)),
    update: (id, change) => written(name, () => rows.update(id, change)),
    remove: (id, version) => written(name, () => rows.remove(id, version)),
  }));
  return { store: wrapped, state };
}

describe('14.4 a reset that is cut short', () => {
  test.each([0, 1, 2, 3, 4, 5, 6])(
    'after %p writes: the link works again, or the new password is the user’s and all sign-ins end',
    async (writes) => {
      const { store, state } = deadly();
      await using t = await testDirectory({ store });
      const { directory } = t;
      const made = await Promise.all(
        ['Acme', 'Globex'].map(async (name) => {
          const { id } = await directory.tenants.create({ name });
          const person = { givenName: 'Fred', familyName: 'Forgot', email: `fred@${name}.test` };
          const { user } = await directory.forTenant(id).persons.create({ ...person, user: { userName: person.email, status: 'active' } });
          return { tid: id, oid: user?.id as string };
        }),
      );
      const [parent, child] = made as [(typeof made)[0], (typeof made)[0]];
      await directory.credentials.seedPassword(parent.oid, 'old');
      await directory.forTenant(child.tid).linking.link(child.oid, { tid: parent.tid, userId: parent.oid });
      const due = await directory.passwordResets.begin(parent.oid, { requestId: 'one' });
      const ref = directory.passwordResets.read(typeof due === 'object' ? String(due.url.split('/').at(-1)) : '');
      if (!ref) throw new Error('there is no link');
      const before = (await directory.accounts.findByOid(child.oid))?.person.user.notBefore?.getTime() ?? 0;

      state.left = writes;
      await directory.passwordResets.accept(ref, 'a new password that is long').catch(() => undefined);
      // Another node continues: the same store, which answers again.
      state.left = Number.POSITIVE_INFINITY;
      const isNamed = (await directory.accounts.findByOid(parent.oid))?.person.user.newPassword !== undefined;
      if (!isNamed) {
        expect((await directory.passwordResets.open(ref))?.state).toBe('pending');
        expect(await directory.credentials.hasPassword(parent.oid, 'old')).toBe(true);
        await directory.passwordResets.accept(ref, 'a new password that is long');
      }
      await until(() => directory.credentials.hasPassword(parent.oid, 'a new password that is long'));
      await until(async () => ((await directory.accounts.findByOid(child.oid))?.person.user.notBefore?.getTime() ?? 0) > before);
      expect((await directory.passwordResets.open(ref))?.state).toBe('used');
    },
  );

  test('of two passwords that are set at once the one that the document names counts, whatever the clocks say', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { id } = await directory.tenants.create({ name: 'Acme' });
    const { user } = await directory
      .forTenant(id)
      .persons.create({ givenName: 'Fred', familyName: 'Forgot', user: { userName: 'fred', status: 'active' } });
    const oid = user?.id as string;
    await directory.credentials.seedPassword(oid, 'old');
    // Another node, whose clock is ahead, wrote the credential.
    await t.store
      .collection<Row & { updatedAt: Date }>('credentials')
      .update(oid, (row) => ({ ...row, updatedAt: new Date(Date.now() + 12_000) }));
    const passwords = Array.from({ length: 8 }, (_, index) => `password of number ${index}`);
    await Promise.all(passwords.map((password) => directory.forTenant(id).credentials.setPassword(oid, password)));
    const fitting = await Promise.all(passwords.map((password) => directory.credentials.hasPassword(oid, password)));
    expect(fitting.filter(Boolean)).toHaveLength(1);
    expect(await t.store.collection('credentials').find({})).toHaveLength(1);
  });
});

describe('a change by the user that is cut short', () => {
  test.each([0, 1, 2, 3, 4, 5])(
    'after %p writes: nothing changed, or the new password is the user’s and all sign-ins but one end',
    async (writes) => {
      const { store, state } = deadly();
      await using t = await testDirectory({ store });
      const { accounts, credentials, ownPasswords, ...directory } = t.directory;
      const { id } = await directory.tenants.create({ name: 'Acme' });
      const { user } = await directory
        .forTenant(id)
        .persons.create({ givenName: 'Fred', familyName: 'Forgot', user: { userName: 'fred', status: 'active' } });
      const oid = user?.id ?? '';
      await credentials.seedPassword(oid, 'old');
      const change = async (spared: string): Promise<boolean> => {
        const account = await accounts.findByOid(oid);
        if (!account || !(await ownPasswords.isCurrent(account, 'old'))) return false;
        const password = 'a new password that is long';
        return ownPasswords.change(account, { password, current: 'old', spared, vouchedBy: undefined, by: { actor: `user:${oid}` } });
      };
      state.left = writes;
      await change('first').catch(() => undefined);
      state.left = Number.POSITIVE_INFINITY;
      const named = (await accounts.findByOid(oid))?.person.user;
      if (named?.newPassword === undefined) {
        expect([named?.spared, named?.notBefore, await credentials.hasPassword(oid, 'old')]).toEqual([undefined, undefined, true]);
        expect(await change('second')).toBe(true);
      }
      await until(() => credentials.hasPassword(oid, 'a new password that is long'));
      const after = (await accounts.findByOid(oid))?.person.user;
      expect(after?.spared).toMatchObject({ session: named?.newPassword === undefined ? 'second' : 'first', notBefore: after?.notBefore });
      // The former password no longer proves the user, before and after the change is complete.
      expect(await change('third')).toBe(false);
    },
  );
});
