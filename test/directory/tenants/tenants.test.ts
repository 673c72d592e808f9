import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { TenantInput } from '../../../lib/directory/index.js';
import { codeOf, testDirectory } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';

describe('tenants (design §3)', () => {
  test('created, changed, disabled and enabled', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const { id } = await tenants.create({ name: 'Acme', branding: { accentColor: '#112233' } });
    expect(await tenants.get(id)).toMatchObject({ name: 'Acme', status: 'active' });
    expect(await tenants.update(id, { name: 'Acme AS', branding: null })).not.toHaveProperty('branding');
    expect((await tenants.disable(id)).status).toBe('disabled');
    expect(await tenants.require(id)).toMatchObject({ name: 'Acme AS', status: 'disabled' });
    expect((await tenants.enable(id)).status).toBe('active');
    expect((await tenants.find()).map((tenant) => tenant.id)).toEqual([id]);
  });

  test.each([
    [{ name: '' }, '/name'],
    [{ name: 'x', id: 'acme' }, '/id'],
    [{ name: 'x', branding: { accentColor: 'red;}' } }, '/branding/accentColor'],
    [{ name: 'x', branding: { logoUri: 'javascript:alert(1)' } }, '/branding/logoUri'],
    [{ name: 'x', branding: { logoUri: 'http://acme.test/l.png' } }, '/branding/logoUri'],
    [{ name: 'x', branding: { logoUri: '//acme.test/l.png' } }, '/branding/logoUri'],
    [{ name: 'x', branding: { faviconUri: 'data:,' } }, '/branding/faviconUri'],
    [{ name: 'x', branding: { font: 'Comic Sans MS' } }, '/branding/font'],
    [{ name: 'x', branding: { accentColor: '#ffd400' } }, '/branding/accentColor'],
    [{ name: 'x', locale: 'abcd' }, '/locale'],
    [{ name: 'x', locale: 'en-a' }, '/locale'],
    [{ name: 'x', locale: 'de-1' }, '/locale'],
    [{ name: 'x', status: 'disabled' }, '/status'],
    [{ name: 'x', signIn: { methods: ['passkey'] } }, '/signIn/methods/0'],
    [{ name: 'x', signIn: { methods: ['password', 'totp'] } }, '/signIn/methods/1'],
    [{ name: 'x', signIn: { methods: [] } }, '/signIn/methods'],
    [{ name: 'x', signIn: { methods: ['password', 'password'] } }, '/signIn/methods'],
    [{ name: 'x', signIn: { requireMfa: 'yes' } }, '/signIn/requireMfa'],
  ])('%j is refused at %s', async (input, path) => {
    await using t = await testDirectory();
    await expect(t.directory.tenants.create(input as TenantInput)).rejects.toMatchObject({ code: 'invalid_record', details: { path } });
  });

  test.each(['nb', 'en-GB', 'zh-Hant-TW', 'es-419', 'de-1996', 'fil'])('a locale is a language tag: %s', async (locale) => {
    await using t = await testDirectory();
    expect(await t.directory.tenants.create({ name: 'x', locale })).toMatchObject({ locale });
    expect(() => new Intl.DateTimeFormat(locale)).not.toThrow();
  });

  const spellings = ['Acme AS', 'ACME as', 'Acme A.S.', '  Acme   AS ', 'Ａｃｍｅ ＡＳ'];

  test.each(spellings)('T3-CHAIN-CROWD2: the name of a tenant is no other’s: %j', async (name) => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const acme = await tenants.create({ name: 'Acme AS' });
    const globex = await tenants.create({ name: 'Globex' });
    const taken = { code: 'tenant_name_taken', details: { path: '/name' } };
    await expect(tenants.create({ name })).rejects.toMatchObject(taken);
    await expect(tenants.update(globex.id, { name, locale: 'nb' })).rejects.toMatchObject(taken);
    expect(await tenants.require(globex.id)).not.toHaveProperty('locale');
    expect((await tenants.update(acme.id, { name })).name).toBe(name);
    await expect(tenants.create({ name: 'Acme AS' })).rejects.toMatchObject(taken);

    await tenants.update(acme.id, { name: 'Initech' });
    expect((await tenants.update(globex.id, { name })).name).toBe(name);
    await tenants.remove(globex.id);
    expect((await tenants.create({ name })).name).toBe(name);
  });

  test('T3-CHAIN-CROWD2, X6: a name with characters that nobody sees is refused, and the character is named', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const acme = await tenants.create({ name: 'Acme AS' });
    for (const [name, character, position] of [
      ['Ac\u00adme AS', 'U+00AD', 3],
      ['Acme\u2800AS', 'U+2800', 5],
      ['Acme A\u034fS', 'U+034F', 7],
    ] as const) {
      const expected = `a text without ${character}: remove the character at position ${position}`;
      const refused = { code: 'invalid_record', details: { path: '/name', expected } };
      await expect(tenants.create({ name })).rejects.toMatchObject(refused);
      await expect(tenants.update(acme.id, { name })).rejects.toMatchObject(refused);
    }
    await expect(tenants.create({ name: 'A\u200dcme AS' })).rejects.toMatchObject({ code: 'tenant_name_taken' });
  });

  test('an id that is taken is told from a name', async () => {
    await using t = await testDirectory();
    const { id } = await t.directory.tenants.create({ name: 'Acme' });
    await expect(t.directory.tenants.create({ id, name: 'Other' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(t.directory.tenants.create({ id, name: 'Acme' })).rejects.toMatchObject({ code: 'tenant_name_taken' });
    await expect(t.directory.tenants.create({ name: ' .\u200b. ' })).rejects.toMatchObject({ details: { path: '/name' } });
  });

  test('of several that want a name at the same time, one gets it', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      await using t = await testDirectory({ store: jitteryDirectory(memoryDirectory(), seededRandom(seed)) });
      const { tenants } = t.directory;
      const before = await Promise.all(['One', 'Two'].map((name) => tenants.create({ name })));
      const writes = [
        ...before.map(({ id }) => tenants.update(id, { name: 'Acme' })),
        tenants.create({ name: 'ACME' }),
        tenants.create({ name: 'acme' }),
      ];
      const codes = await Promise.all(writes.map(codeOf));
      expect([seed, ...codes.filter((code) => code !== 'tenant_name_taken')]).toEqual([seed, undefined]);
    }
  });

  test('stored namesakes continue to work, and their name is no other tenant’s', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const stored = ['a', 'b'].map((letter) => `0197a000-0000-7000-8000-0000000000${letter}0`);
    const row = { name: 'Acme', nameKey: 'acme', status: 'active', createdAt: new Date(), updatedAt: new Date() };
    for (const id of stored) await t.store.collection('tenants').insert({ ...row, id });
    const globex = await tenants.create({ name: 'Globex' });
    for (const id of stored) {
      expect(await tenants.update(id, { locale: 'nb' })).toMatchObject({ name: 'Acme', locale: 'nb' });
      expect(await tenants.update(id, { name: 'Acme', organisationNumber: '1' })).toMatchObject({ name: 'Acme', organisationNumber: '1' });
      expect((await tenants.enable((await tenants.disable(id)).id)).status).toBe('active');
    }
    for (const write of [
      tenants.create({ name: 'ACME' }),
      tenants.update(globex.id, { name: 'Acme' }),
      tenants.update(stored[0]!, { name: 'ACME' }),
    ])
      expect(await codeOf(write)).toBe('tenant_name_taken');
    await tenants.update(stored[1]!, { name: 'Initech' });
    expect((await tenants.update(stored[0]!, { name: 'ACME' })).name).toBe('ACME');
  });

  test('an absent one is undefined to get and not_found to the others', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    expect(await tenants.get('none')).toBeUndefined();
    for (const call of [tenants.require('none'), tenants.update('none', {}), tenants.disable('none')]) {
      expect(await codeOf(call)).toBe('not_found');
    }
  });
});
