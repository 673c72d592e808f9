import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { collections } from '../../../lib/store/records/collections.js';
import { withCollections } from '../../store/with-collections.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { testDirectory } from '../../support/service/test-directory.js';

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

  test('a withdrawal raises one event, and so does the end of a client without a consent', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const tenant = await directory.tenants.create({ name: 'Acme' });
    const { user } = await directory.forTenant(tenant.id).persons.create({ givenName: 'A', familyName: 'B', user: { userName: 'alice' } });
    const id = user?.id ?? '';
    const by = { actor: 'client:help-desk', requestId: 'request-1' };
    const { consents } = directory.as(by);
    await consents.allow(id, 'web', ['openid']);
    await Promise.all([consents.withdraw(id, 'web'), consents.withdraw(id, 'web')]);
    await consents.endClient(id, 'web');
    const data = { AggregateId: id, ClientId: 'web' };
    expect(await recordedEvents(t.store, 'ConsentWithdrawn')).toEqual([expect.objectContaining({ ...by, tid: tenant.id, data })]);
    expect(await recordedEvents(t.store, 'UserSignedOutOfClient')).toEqual([expect.objectContaining({ ...by, tid: tenant.id, data })]);
  });

  test('a consent whose row is damaged is withdrawn', async () => {
    await using t = await testDirectory();
    const { consents } = t.directory;
    const { id } = await consents.allow('alice', 'web', ['openid']);
    await t.store.collection(collections.consents.name).put({ id, userId: 'alice', clientId: 'web', scopes: 'openid' } as never);
    expect([await consents.get('alice', 'web'), await consents.find('alice')]).toEqual([undefined, []]);
    expect([await consents.withdraw('alice', 'web'), await consents.withdraw('alice', 'web')]).toEqual([true, false]);
  });

  test('a client whose removal fails at a consent can be removed again, and leaves none to a namesake', async () => {
    let isDown = false;
    const store = withCollections(memoryDirectory(), (rows, name) => ({
      async remove(id, version) {
        if (isDown && name === 'consents') throw new Error('away');
        return rows.remove(id, version);
      },
    }));
    await using t = await testDirectory({ store });
    const { clients, consents } = t.directory;
    await clients.create({ id: 'web', name: 'Web' });
    await consents.allow('alice', 'web', ['openid']);
    isDown = true;
    await expect(clients.remove('web')).rejects.toThrow('away');
    isDown = false;
    await clients.remove('web');
    await clients.create({ id: 'web', name: 'Another' });
    expect(await consents.get('alice', 'web')).toBeUndefined();
  });
});
