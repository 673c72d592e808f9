import { describe, expect, test } from '@jest/globals';
import { codeOf, testDirectory } from '../../support/service/test-directory.js';

const alice = { givenName: 'Alice', familyName: 'Adams', email: 'alice@acme.test', password: 'a password that is long' };

describe('self-registration', () => {
  test('is for tenants that let people, and only while they are active', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const { id } = await tenants.create({ name: 'Acme' });
    const { registration } = t.directory.forTenant(id);
    expect([await registration.rules(), await codeOf(registration.register(alice))]).toEqual([undefined, 'not_found']);
    await tenants.update(id, { signIn: { selfRegistration: true } });
    expect(await registration.rules()).toEqual({ passwordLength: 15 });
    await tenants.update(id, { signIn: { selfRegistration: true, requireMfa: true } });
    expect([await registration.rules(), await codeOf(registration.register(alice))]).toEqual([undefined, 'not_found']);
    await tenants.update(id, { signIn: { selfRegistration: true, methods: ['password'] } });
    expect(await registration.rules()).toEqual({ passwordLength: 15 });
    await tenants.disable(id);
    expect([await registration.rules(), await codeOf(registration.register(alice))]).toEqual([undefined, 'not_found']);
    expect(await codeOf(t.directory.forTenant('none').registration.register(alice))).toBe('not_found');
  });

  test('makes a person, a user and a password; what is wrong leaves nothing behind', async () => {
    await using t = await testDirectory();
    const { id } = await t.directory.tenants.create({ name: 'Acme', signIn: { selfRegistration: true } });
    const { registration, persons } = t.directory.forTenant(id);
    const { credentials, accounts } = t.directory;
    for (const [field, value] of Object.entries({ givenName: 'x'.repeat(201), familyName: 'a\nb', email: 'nobody', password: 'short' }))
      expect(await codeOf(registration.register({ ...alice, [field]: value }))).toBe('invalid_record');
    expect(await codeOf(registration.register({ ...alice, password: alice.email }))).toBe('invalid_record');
    expect(await persons.find({ limit: 10 })).toEqual([]);
    expect(await t.store.collection('credentials').find({})).toEqual([]);

    const { user, email } = await registration.register(alice);
    expect([user.userName, user.emailVerified, user.status, email]).toEqual(['alice@acme.test', false, 'active', 'alice@acme.test']);
    expect(await credentials.checkPassword(await accounts.candidates('alice@acme.test'), alice.password)).toHaveLength(1);
    expect(await codeOf(registration.register({ ...alice, password: 'another that is long enough' }))).toBe('user_name_taken');
    expect(await t.store.collection('credentials').find({})).toHaveLength(1);
    expect(await credentials.checkPassword(await accounts.candidates('alice@acme.test'), alice.password)).toHaveLength(1);
    expect((await t.dispatchedOfPersons()).map(({ type }) => type)).toEqual(['PersonCreated', 'UserCreated']);
  });
});
