import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { withCollections } from '../../store/with-collections.js';
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
