import { describe, expect, test } from '@jest/globals';
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
});
