import { describe, expect, test } from '@jest/globals';
import { isSameAddress } from '../../lib/text/compared.js';
import { testDirectory } from '../support/service/test-directory.js';

const spellings = [
  'ola@bücher.example',
  'ola@BÜCHER.example',
  'ola@bu\u0308cher.example',
  'ola@xn--bcher-kva.example',
  'ola@Xn--bcher-KVA.Example',
];
const others = ['ola@bucher.example', 'Ola@bücher.example', 'ola@bücher.example.test', 'ola@xn--bcher-kvb.example', 'ola.@bücher.example'];

describe('one address in several spellings', () => {
  test('goes to one mailbox', () => {
    for (const spelling of spellings) expect([spelling, isSameAddress('ola@bücher.example', spelling)]).toEqual([spelling, true]);
    for (const other of others) expect([other, isSameAddress('ola@bücher.example', other)]).toEqual([other, false]);
    expect([isSameAddress(undefined, 'a@b'), isSameAddress(undefined, undefined)]).toEqual([false, true]);
  });

  test.each(spellings)('%s is one user name, and finds the account', async (spelling) => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons, users } = t.directory.forTenant(tid);
    const [address = ''] = spellings;
    const made = await persons.create({
      givenName: 'Ola',
      familyName: 'Ek',
      email: address,
      user: { userName: address, status: 'active', emailVerified: true },
    });
    const again = { givenName: 'Ola', familyName: 'Ek', user: { userName: spelling } };
    await expect(persons.create(again)).rejects.toMatchObject({ code: 'user_name_taken' });
    expect((await users.findByUserName(spelling))?.id).toBe(made.id);
    expect((await persons.list({ email: spelling })).items.map(({ id }) => id)).toEqual([made.id]);
    expect((await t.directory.accounts.candidates(spelling)).map(({ person }) => person.id)).toEqual([made.id]);
    expect((await t.directory.accounts.withEmail(`\u200b${spelling}\u00a0`, undefined)).map(({ person }) => person.id)).toEqual([made.id]);

    // Another spelling of a proven address is proven, and no event says that the address changed.
    await t.dispatchedOfPersons();
    const changed = await persons.update(made.id, { email: spelling });
    expect(changed).toMatchObject({ email: spelling, user: { emailVerified: true } });
    expect(changed.user).not.toHaveProperty('formerEmails');
    expect((await t.dispatchedOfPersons()).map(({ type }) => type)).not.toContain('UserEmailChanged');

    // Another mailbox is not proven.
    expect((await persons.update(made.id, { email: 'Ola@bücher.example' })).user).toMatchObject({ emailVerified: false });
  });
});
