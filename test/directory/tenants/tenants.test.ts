import { describe, expect, test } from '@jest/globals';
import type { TenantInput } from '../../../lib/directory/index.js';
import { codeOf, testDirectory } from '../../support/service/test-directory.js';

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

  test('an absent one is undefined to get and not_found to the others', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    expect(await tenants.get('none')).toBeUndefined();
    for (const call of [tenants.require('none'), tenants.update('none', {}), tenants.disable('none')]) {
      expect(await codeOf(call)).toBe('not_found');
    }
  });
});
