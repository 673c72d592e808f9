import { describe, expect, test } from '@jest/globals';
import { tenantWithUser, testDirectory } from '../../support/service/test-directory.js';

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
