/** Design §1: a refusal names the path of every mistake of a seed, before anything is written. */
import { describe, expect, test } from '@jest/globals';
import { applySeed, type Seed } from '../../../lib/directory/index.js';
import type { ConfigProblem } from '../../../lib/errors.js';
import { silentLogger, testDirectory } from '../../support/service/test-directory.js';

describe('seed (design §1)', () => {
  test('every name that means nothing is told at once, with its path, and nothing is written', async () => {
    await using t = await testDirectory();
    const wrong: Seed = {
      tenants: [
        {
          name: 'Acme',
          groups: [{ name: 'staff', permissions: ['orders.aprove'] }],
          persons: [
            {
              givenName: 'A',
              familyName: 'B',
              subsidiary: 'North',
              user: { userName: 'a', groups: ['stuff'], linkedTo: { userName: 'x', tenant: 'Globox' } },
            },
            { givenName: 'A', familyName: 'B', user: { userName: 'b', linkedTo: { userName: 'nobody', tenant: 'Globex' } } },
          ],
        },
        { name: 'Globex' },
        { name: 'Acme' },
      ],
      permissions: [{ id: 'orders.approve', name: 'x' }],
      clients: [{ id: 'web', name: 'Web', allowedTenants: ['Akme'] }],
      apiResources: [{ id: 'orders', name: 'Orders', scopes: [] }],
    };
    const error = await applySeed(t.directory, wrong, silentLogger).catch((thrown: unknown) => thrown);
    const { problems } = error as { problems: ConfigProblem[] };
    expect(problems.map(({ path, didYouMean }) => [path, didYouMean])).toEqual([
      ['seed.tenants[0].groups[0].permissions[0]', 'orders.approve'],
      ['seed.tenants[0].persons[0].subsidiary', undefined],
      ['seed.tenants[0].persons[0].user.groups[0]', 'staff'],
      ['seed.tenants[0].persons[0].user.linkedTo.tenant', 'Globex'],
      ['seed.tenants[0].persons[1].user.linkedTo.userName', undefined],
      ['seed.tenants[2].name', undefined],
      ['seed.clients[0].allowedTenants[0]', 'Acme'],
      ['seed.clients[0].secret', undefined],
      ['seed.apiResources[0].secret', undefined],
    ]);
    expect(await t.store.collection('tenants').find({})).toEqual([]);
  });

  const scoped = (scopes: readonly string[], allowedScopes: readonly string[]): Seed => ({
    clients: [{ id: 'web', name: 'Web', secret: 'web-secret', allowedScopes: [...allowedScopes] }],
    ...(scopes.length > 0 ? { apiResources: [{ id: 'orders', name: 'Orders', secret: 'orders-secret', scopes: [...scopes] }] } : {}),
  });

  test('scopes of its clients are those of claims, of its API resources and of those that are there; others are told before anything is written', async () => {
    await using t = await testDirectory();
    await applySeed(t.directory, undefined, silentLogger);
    await t.directory.apiResources.create({ id: 'bills', name: 'Bills', scopes: ['bills.read'] });
    const wrong = scoped(['orders.read'], ['openid', 'orders.raed', 'bills.reed', 'nonsense']);
    const error = await applySeed(t.directory, wrong, silentLogger).catch((thrown: unknown) => thrown);
    expect((error as { problems: ConfigProblem[] }).problems.map(({ path, didYouMean }) => [path, didYouMean])).toEqual([
      ['seed.clients[0].allowedScopes[1]', 'orders.read'],
      ['seed.clients[0].allowedScopes[2]', 'bills.read'],
      ['seed.clients[0].allowedScopes[3]', undefined],
    ]);
    expect(await t.directory.apiResources.get('orders')).toBeUndefined();
    await applySeed(t.directory, scoped(['orders.read'], ['openid', 'orders.read', 'bills.read']), silentLogger);
    expect(await t.directory.clients.require('web')).toMatchObject({ allowedScopes: ['openid', 'orders.read', 'bills.read'] });
  });

  test('what an administrator took away is no mistake of the seed: clients keep their scopes, new ones do not get them', async () => {
    await using t = await testDirectory();
    const { clients, apiResources } = t.directory;
    await applySeed(t.directory, undefined, silentLogger);
    await apiResources.create({ id: 'bills', name: 'Bills', scopes: ['bills.read'] });
    const first = scoped(['orders.read'], ['openid', 'orders.read', 'bills.read']);
    await applySeed(t.directory, first, silentLogger);
    await apiResources.remove('bills');
    await apiResources.remove('orders');
    const next = { ...first, clients: [...first.clients!, { ...scoped([], ['openid', 'orders.read']).clients![0]!, id: 'new' }] };
    for (let start = 0; start < 2; start += 1) await applySeed(t.directory, next, silentLogger);
    expect(await apiResources.get('orders')).toBeUndefined();
    expect((await clients.require('web')).allowedScopes).toEqual(['openid', 'orders.read', 'bills.read']);
    expect((await clients.require('new')).allowedScopes).toEqual(['openid']);

    await clients.update('web', { allowedScopes: ['openid'] });
    await applySeed(t.directory, first, silentLogger);
    expect((await clients.require('web')).allowedScopes).toEqual(['openid']);
    await clients.remove('web');
    await applySeed(t.directory, first, silentLogger);
    expect(await clients.get('web')).toBeUndefined();
  });

  test('a person whom nothing names is told with its path', async () => {
    await using t = await testDirectory();
    const persons = [{ user: { userName: 'a' } }, { givenName: ' ', phoneNumber: '1' }, { email: 'a@acme.test' }];
    const error = await applySeed(t.directory, { tenants: [{ name: 'Acme', persons }] }, silentLogger).catch((thrown: unknown) => thrown);
    expect((error as { problems: ConfigProblem[] }).problems).toEqual([
      { path: 'seed.tenants[0].persons[1]', expected: 'at least one of givenName, familyName, email and user' },
    ]);
  });

  test('what is not of the form of a seed is told with its path', async () => {
    await using t = await testDirectory();
    const wrong = { tenants: [{ name: 'Acme', persons: [{ givenName: 'A', user: { userName: 'a', passwordHash: 'x' } }] }], user: [] };
    const error = await applySeed(t.directory, wrong as unknown as Seed, silentLogger).catch((thrown: unknown) => thrown);
    expect(new Set((error as { problems: ConfigProblem[] }).problems.map(({ path }) => path))).toEqual(
      new Set(['seed.user', 'seed.tenants[0].persons[0].user.passwordHash']),
    );
  });
});
