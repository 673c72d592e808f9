import { describe, expect, test } from '@jest/globals';
import { createSealer } from '../../../lib/store/sealer.js';
import { codeOf, silentLogger, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';

const alice = { givenName: 'Alice', familyName: 'Ek' };

describe('persons (design §3)', () => {
  test('4.12 a person and a user are one document, with an event each', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons } = t.directory.forTenant(tid);
    const person = await persons.create({ ...alice, user: { userName: 'Alice@Acme.test' } });
    expect(person).toMatchObject({ tid, ...alice, phoneNumberVerified: false, attributes: {} });
    expect(person.user).toMatchObject({ userName: 'Alice@Acme.test', userNameKey: 'alice@acme.test', status: 'invited' });
    expect(await t.dispatchedOfPersons()).toMatchObject([
      { sequence: '0000000000000002', type: 'PersonCreated', data: { AggregateId: person.id } },
      { sequence: '0000000000000003', type: 'UserCreated', data: { AggregateId: person.user?.id, PersonId: person.id } },
    ]);
  });

  test('an update changes what is given, null takes away, and no change is no write', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons } = t.directory.forTenant(tid);
    const { id } = await persons.create({ ...alice, email: 'a@acme.test', externalId: 'e1' });
    const updated = await persons.update(id, { email: null, familyName: 'Lind', attributes: { shoe: 38 } });
    expect(updated).toMatchObject({ givenName: 'Alice', familyName: 'Lind', externalId: 'e1', attributes: { shoe: 38 } });
    expect(updated).not.toHaveProperty('email');
    await t.dispatchedOfPersons();
    const { version } = await persons.require(id);
    const same = await persons.update(id, { familyName: 'Lind', attributes: { shoe: 38 } });
    expect(same.version).toBe(version);
    expect((await t.dispatchedOfPersons()).map(({ type }) => type)).toEqual(['PersonCreated', 'PersonUpdated']);
  });

  test.each([
    [{ ...alice, givenName: 'a\nb' }, '/givenName'],
    [{ givenName: '', familyName: ' ', phoneNumber: '1' }, ''],
    [{ ...alice, email: 'nobody' }, '/email'],
    [{ ...alice, id: 'alice' }, '/id'],
    [{ ...alice, passwordHash: 'x' }, '/passwordHash'],
    [{ ...alice, user: { userName: 'x', passwordHash: 'x' } }, '/user/passwordHash'],
    [{ ...alice, user: { userName: 'x', parentUserId: 'x' } }, '/user/parentUserId'],
    [{ ...alice, user: { userName: 'a\u0000b' } }, '/user/userName'],
    [{ ...alice, user: { userName: '\u3000' } }, '/user/userName'],
    [{ ...alice, subsidiaryId: '00000000-0000-7000-8000-000000000000' }, '/subsidiaryId'],
  ])('%j is refused at %s', async (input, path) => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const refused = { code: 'invalid_record', details: { path } };
    await expect(t.directory.forTenant(tid).persons.create(input)).rejects.toMatchObject(refused);
    expect(await t.directory.forTenant(tid).persons.find({ limit: 10 })).toEqual([]);
  });

  test('J5 a national id is kept encrypted and found by its hash, in its tenant alone', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { id: other } = await t.directory.tenants.create({ name: 'Globex' });
    const { persons } = t.directory.forTenant(tid);
    const { id } = await persons.create({ ...alice, nationalId: '010190-12345' });
    const twin = await t.directory.forTenant(other).persons.create({ ...alice, nationalId: '010190-12345' });
    expect((await persons.findByNationalId(' 010190-12345'))?.id).toBe(id);
    expect(await persons.readNationalId(id)).toBe('010190-12345');
    const rows = JSON.stringify(await t.store.collection('persons').find({}));
    expect(rows).not.toContain('010190');
    expect((await persons.get(id))?.nationalIdHash).not.toBe(twin.nationalIdHash);

    // Runs of spaces count as one, as in user names.
    const spaced = await persons.create({ ...alice, nationalId: 'A  12\u00a0\u00a034' });
    expect((await persons.findByNationalId(' A 12 34'))?.id).toBe(spaced.id);
    await expect(persons.create({ ...alice, nationalId: 'A 12   34' })).rejects.toMatchObject({ code: 'conflict' });
    const { nationalId } = await persons.require(id);
    expect((await persons.update(id, { nationalId: '010190-12345' })).nationalId).toBe(nationalId);
    await expect(persons.create({ ...alice, nationalId: '010190-12345' })).rejects.toMatchObject({
      code: 'conflict',
      details: { path: '/nationalId' },
    });
    await persons.update(id, { nationalId: null });
    expect(await persons.findByNationalId('010190-12345')).toBeUndefined();
    expect(await persons.readNationalId(id)).toBeUndefined();
  });

  test('J5 a national id kept under an older secret is still found, read and unique', async () => {
    await using before = await testDirectory({ sealer: createSealer(['old secret']) });
    const { id: tid } = await before.directory.tenants.create({ name: 'Acme' });
    const { id } = await before.directory.forTenant(tid).persons.create({ ...alice, nationalId: '1' });
    for (const secrets of [['new secret', 'old secret'], ['new secret'], ['newest secret', 'new secret'], ['newest secret']]) {
      await using t = await testDirectory({ store: before.store, sealer: createSealer(secrets) });
      await t.directory.nationalIds.begin();
      const { persons } = t.directory.forTenant(tid);
      expect((await persons.findByNationalId('1'))?.id).toBe(id);
      expect(await persons.readNationalId(id)).toBe('1');
      expect(await codeOf(persons.create({ ...alice, nationalId: '1' }))).toBe('conflict');
    }
  });

  test('a node that does not know the new secret goes on with the keys of national ids that it read', async () => {
    await using before = await testDirectory({ sealer: createSealer(['old secret']) });
    const { id: tid } = await before.directory.tenants.create({ name: 'Acme' });
    const { persons } = before.directory.forTenant(tid);
    const { id } = await persons.create({ ...alice, nationalId: '1' });
    await using next = await testDirectory({ store: before.store, sealer: createSealer(['new secret', 'old secret']) });
    await next.directory.nationalIds.begin();
    expect(await persons.readNationalId(id)).toBe('1');
    expect(await codeOf(persons.create({ ...alice, nationalId: '1' }))).toBe('conflict');
    await persons.create({ ...alice, nationalId: '2' });
    expect(await codeOf(next.directory.forTenant(tid).persons.create({ ...alice, nationalId: '2' }))).toBe('conflict');
  });

  test('keys of national ids that cannot be read are told, and count again with their secret', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: unknown, message: string) => void warnings.push(message) };
    await using before = await testDirectory({ sealer: createSealer(['old secret']) });
    const { id: tid } = await before.directory.tenants.create({ name: 'Acme' });
    const { id } = await before.directory.forTenant(tid).persons.create({ ...alice, nationalId: '1' });
    await using lost = await testDirectory({ store: before.store, sealer: createSealer(['new secret']), logger });
    await lost.directory.nationalIds.begin();
    expect(warnings).toEqual([expect.stringContaining('a key for national ids is unreadable')]);
    expect(await codeOf(lost.directory.forTenant(tid).persons.readNationalId(id))).toBe('undecipherable');
    await lost.directory.forTenant(tid).persons.create({ ...alice, nationalId: '3' });
    await using t = await testDirectory({ store: before.store, sealer: createSealer(['new secret', 'old secret']), logger });
    await t.directory.nationalIds.begin();
    expect(await t.directory.forTenant(tid).persons.readNationalId(id)).toBe('1');
    expect(await codeOf(t.directory.forTenant(tid).persons.create({ ...alice, nationalId: '3' }))).toBe('conflict');
    expect(warnings).toHaveLength(1);
  });

  test('a conflict tells what was taken', async () => {
    await using t = await testDirectory();
    const { tid } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { persons } = t.directory.forTenant(tid);
    const { id } = await persons.create({ ...alice, externalId: 'e1' });
    await expect(persons.create({ ...alice, user: { userName: 'ALICE' } })).rejects.toMatchObject({ code: 'user_name_taken' });
    await expect(persons.create({ ...alice, externalId: 'e1' })).rejects.toMatchObject({ details: { path: '/externalId' } });
    await expect(persons.create({ ...alice, id })).rejects.toMatchObject({ code: 'conflict', details: { path: '/id' } });
  });

  test('pages come in the order of ids', async () => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { persons } = t.directory.forTenant(tid);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await persons.create(alice)).id);
    const first = await persons.find({ limit: 3 });
    const second = await persons.find({ limit: 3, after: first.at(-1)!.id });
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids);
  });

  test('erasing leaves nothing of the person, and its last events are told', async () => {
    await using t = await testDirectory();
    const { tid, personId, userId } = await tenantWithUser(t.directory, 'Acme', 'alice');
    const { persons, users } = t.directory.forTenant(tid);
    await t.directory.credentials.seedPassword(userId, 'alice');
    await t.directory.consents.allow(userId, 'web', ['openid']);
    const [first, second] = await Promise.all([codeOf(persons.remove(personId)), codeOf(persons.remove(personId))]);
    expect([first, second].sort()).toEqual(['not_found', undefined]);
    expect(await persons.get(personId)).toBeUndefined();
    expect(await users.get(userId)).toBeUndefined();
    expect(await t.directory.accounts.findByOid(userId)).toBeUndefined();
    expect((await t.dispatchedOfPersons()).map(({ type }) => type)).toEqual(['PersonCreated', 'UserCreated', 'PersonErased']);
    for (const name of ['persons', 'credentials', 'consents']) expect(await t.store.collection(name).find({})).toEqual([]);
    await persons.create({ ...alice, id: personId, user: { userName: 'alice' } });
  });
});
