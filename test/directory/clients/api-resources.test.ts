import { describe, expect, test } from '@jest/globals';
import { codeOf, testDirectory } from '../../support/service/test-directory.js';

const web = { id: 'web', name: 'Web', metadata: { redirect_uris: ['https://app.example.com/cb'] } };

describe('API resources (design §3)', () => {
  const orders = { id: 'orders', name: 'Orders', scopes: ['orders.read'] };

  test('an id is of a client or of an API resource, and of one where both are created at the same time', async () => {
    await using t = await testDirectory();
    const { clients, apiResources } = t.directory;
    await clients.create(web);
    await apiResources.create(orders);
    await expect(apiResources.create({ ...orders, id: 'web', scopes: [] })).rejects.toMatchObject({
      code: 'conflict',
      details: { path: '/id' },
    });
    await expect(clients.create({ ...web, id: 'orders' })).rejects.toMatchObject({ code: 'conflict', details: { path: '/id' } });
    await Promise.allSettled([clients.create({ ...web, id: 'both' }), apiResources.create({ ...orders, id: 'both', scopes: [] })]);
    expect([await clients.get('both'), await apiResources.get('both')].filter((row) => row !== undefined).length).toBe(1);
  });

  test('a scope has one owner', async () => {
    await using t = await testDirectory();
    const { apiResources } = t.directory;
    await apiResources.create(orders);
    const refused = { code: 'conflict', details: { path: '/scopes' } };
    await expect(apiResources.create({ ...orders, id: 'other' })).rejects.toMatchObject(refused);
    await apiResources.create({ ...orders, id: 'other', scopes: [] });
    await apiResources.create({ ...orders, id: 'third', scopes: [] });
    await expect(apiResources.update('other', { scopes: ['x', 'orders.read'] })).rejects.toMatchObject(refused);
    await expect(apiResources.create(orders)).rejects.toMatchObject({ details: { path: '/id' } });
  });

  test('pages §3.2: a scope has words, one text or one for each language, which are checked and go with the scope', async () => {
    await using t = await testDirectory();
    const { apiResources } = t.directory;
    const scopes = ['orders.read', 'orders.write'];
    const scopeDescriptions = { 'orders.read': 'Read your orders', 'orders.write': { en: 'Change your orders', nb: 'Endre ordrene dine' } };
    const { apiResource } = await apiResources.create({ ...orders, scopes, scopeDescriptions });
    expect(apiResource.scopeDescriptions).toEqual(scopeDescriptions);
    const refused = (path: unknown) => ({ code: 'invalid_record', details: { path } });
    const update = (given: object) => apiResources.update('orders', { scopeDescriptions: given as never });
    await expect(update({ 'orders/x': 'X' })).rejects.toMatchObject(refused('/scopeDescriptions/orders~1x'));
    for (const wrong of [{}, { fr: 'Lire' }, { en: '' }, 7, '', 'a\nb']) {
      const given = { 'orders.read': wrong } as never;
      await expect(update(given)).rejects.toMatchObject({ code: 'invalid_record' });
      await expect(apiResources.create({ ...orders, id: 'x', scopeDescriptions: given })).rejects.toMatchObject(
        refused(expect.stringMatching(/^\/scopeDescriptions\/orders\.read(?:\/(?:fr|en))?$/)),
      );
    }
    await expect(apiResources.create({ ...orders, id: 'other', scopes: [], scopeDescriptions })).rejects.toMatchObject(
      refused('/scopeDescriptions/orders.read'),
    );
    expect((await apiResources.update('orders', { scopes: ['orders.write'] })).scopeDescriptions).toEqual({
      'orders.write': scopeDescriptions['orders.write'],
    });
    expect((await apiResources.update('orders', { scopeDescriptions: null })).scopeDescriptions).toBeUndefined();
  });

  test('§4 the live set of API scopes follows every change', async () => {
    await using t = await testDirectory();
    const { apiResources, apiScopes } = t.directory;
    const owners = async () => [...(await apiScopes())].map(([scope, { id }]) => [scope, id]);
    expect(await owners()).toEqual([]);
    await apiResources.create(orders);
    expect(await owners()).toEqual([['orders.read', 'orders']]);
    await apiResources.update('orders', { scopes: ['orders.read', 'orders.write'] });
    expect(await owners()).toEqual([
      ['orders.read', 'orders'],
      ['orders.write', 'orders'],
    ]);
    await apiResources.update('orders', { status: 'disabled' });
    expect(await owners()).toEqual([]);
    await apiResources.remove('orders');
    expect(await apiResources.get('orders')).toBeUndefined();
  });

  test('J5 its secret is shown once, kept hashed, rotated', async () => {
    await using t = await testDirectory();
    const { apiResources } = t.directory;
    const { secret = '' } = await apiResources.create(orders);
    const { secret: next } = await apiResources.rotateSecret('orders');
    expect((await apiResources.checkSecret('orders', secret))?.id).toBe('orders');
    expect((await apiResources.checkSecret('orders', next))?.id).toBe('orders');
    expect(await apiResources.checkSecret('orders', 'wrong')).toBeUndefined();
    expect((await apiResources.create({ ...orders, id: 'own', scopes: [], secret: 'brought along' })).secret).toBeUndefined();
    expect((await apiResources.checkSecret('own', 'brought along'))?.id).toBe('own');
  });
});

describe('M9: a secret that a host brings for an API resource', () => {
  const long = 's'.repeat(32);
  const create = async (production: boolean, secret: string) => {
    const t = await testDirectory(production ? { ownSecretLength: 32 } : {});
    return { t, created: codeOf(t.directory.apiResources.create({ id: 'orders', name: 'Orders', scopes: [], secret })) };
  };

  test.each([
    [true, 's'.repeat(31), 'invalid_record'],
    [true, long, undefined],
    [false, 's', undefined],
    [false, '', 'invalid_record'],
    [true, `${long}\u00e6`, 'invalid_record'],
  ])('in production: %s, %j when created comes to %s, and so when rotated', async (production, secret, code) => {
    const { t, created } = await create(production, secret);
    expect(await created).toBe(code);
    if (code) await t.directory.apiResources.create({ id: 'orders', name: 'Orders', scopes: [], secret: long });
    expect(await codeOf(t.directory.apiResources.rotateSecret('orders', secret))).toBe(code);
    expect(await codeOf(t.directory.apiResources.rotateSecret('orders'))).toBeUndefined();
    await t[Symbol.asyncDispose]();
  });
});
