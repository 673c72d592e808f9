import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import { applySeed, type Seed } from '../../lib/directory/index.js';
import type { ConfigProblem } from '../../lib/errors.js';
import { collections } from '../../lib/store/collections.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import type { PersonWithUser } from '../../lib/store/records.js';
import { jitteryDirectory, seededRandom } from '../support/jittery-directory.js';
import { testDirectory } from '../support/test-directory.js';

const seed: Seed = {
  permissions: [{ id: 'orders.approve', name: 'Approve orders' }],
  apiResources: [{ id: 'orders', name: 'Orders', scopes: ['orders.read'], secret: 'orders-secret' }],
  tenants: [
    {
      name: 'Globex',
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Ek',
          user: { userName: 'alice@globex.test', linkedTo: { userName: 'Alice@acme.test', tenant: 'Acme' } },
        },
        { givenName: 'Bob', familyName: 'Ask', user: { userName: 'bob@globex.test', devPassword: 'bob' } },
      ],
    },
    {
      name: 'Acme',
      branding: { accentColor: '#336699' },
      subsidiaries: [{ name: 'Acme North', organisationNumber: '2' }],
      groups: [{ name: 'approvers', permissions: ['orders.approve'] }],
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Ek',
          email: 'alice@acme.test',
          nationalId: '010190-12345',
          subsidiary: 'Acme North',
          user: { userName: 'alice@acme.test', emailVerified: true, groups: ['approvers'], devPassword: 'alice' },
        },
        { givenName: 'Carl', familyName: 'Berg' },
      ],
    },
  ],
  clients: [
    { id: 'web', name: 'Web', secret: 'web-secret', allowedScopes: ['openid'], allowedTenants: ['Acme'], adminTenants: ['*'] },
    { id: 'spa', name: 'SPA', metadata: { token_endpoint_auth_method: 'none' } },
  ],
};

/** All that is kept, but for how often the dispatcher wrote it. */
async function snapshot(store: DirectoryStore): Promise<unknown> {
  const names = Object.keys(collections).filter((name) => name !== 'changes');
  return Promise.all(names.map((name) => store.collection(name).find({})));
}

describe('seed (design §1)', () => {
  test('makes tenants, persons, users, groups, links, clients and API resources', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed);
    const { accounts, credentials } = directory;
    const [alice] = await accounts.candidates('alice@acme.test');
    expect(alice).toMatchObject({
      tenant: { name: 'Acme', branding: { accentColor: '#336699' } },
      person: { email: 'alice@acme.test', user: { emailVerified: true, isParent: true } },
    });
    expect(await accounts.groups(alice!.person)).toMatchObject([{ name: 'approvers', permissionIds: ['orders.approve'] }]);
    expect(await accounts.subsidiary(alice!.person)).toMatchObject({ name: 'Acme North' });
    expect((await accounts.family(alice!.person)).map(({ tenant }) => tenant.name)).toEqual(['Acme', 'Globex']);
    const [bob] = await accounts.candidates('bob@globex.test');
    expect(await credentials.checkPassword([bob!], 'bob')).toEqual([bob]);
    expect(await credentials.checkPassword(await accounts.candidates('alice@globex.test'), 'alice')).toHaveLength(1);
    expect(await directory.clients.checkSecret('web', 'web-secret')).toMatchObject({
      allowedTenants: [alice!.tenant.id],
      adminTenants: ['*'],
    });
    expect((await directory.clients.require('spa')).secrets).toEqual([]);
    expect(await directory.apiResources.checkSecret('orders', 'orders-secret')).toBeDefined();
    expect(JSON.stringify(await snapshot(t.store))).not.toMatch(/web-secret|orders-secret|010190/);
  });

  test('a user is active who is said to be, or how they sign in; else invited', async () => {
    await using t = await testDirectory();
    const linkedTo = { userName: 'own@acme.test', tenant: 'Acme' };
    const users = {
      Acme: [
        { userName: 'own@acme.test', status: 'active' },
        { userName: 'plain@acme.test' },
        { userName: 'dev@acme.test', devPassword: 'x' },
      ],
      Globex: [
        { userName: 'child@globex.test', linkedTo },
        { userName: 'asked@globex.test', devPassword: 'x', status: 'invited' },
      ],
    } as const;
    const persons = (tenant: keyof typeof users) => users[tenant].map((user) => ({ givenName: 'A', familyName: user.userName, user }));
    await applySeed(t.directory, {
      tenants: [
        { name: 'Acme', persons: persons('Acme') },
        { name: 'Globex', persons: persons('Globex') },
      ],
    });
    const rows = (await t.store.collection('persons').find({})) as unknown as PersonWithUser[];
    expect(Object.fromEntries(rows.map(({ user }) => [user.userName, user.status]))).toEqual({
      'own@acme.test': 'active',
      'plain@acme.test': 'invited',
      'dev@acme.test': 'active',
      'child@globex.test': 'active',
      'asked@globex.test': 'invited',
    });
  });

  test('applied again it writes nothing', async () => {
    await using t = await testDirectory();
    await applySeed(t.directory, seed);
    await t.dispatched();
    const before = await snapshot(t.store);
    await applySeed(t.directory, seed);
    await t.dispatched();
    expect(await snapshot(t.store)).toEqual(before);
  });

  test.each([1, 2, 3])('applied by many nodes at once it makes each record once (round %i)', async (round) => {
    const store = memoryDirectory();
    await using first = await testDirectory({ store: jitteryDirectory(store, seededRandom(round)) });
    await using second = await testDirectory({ store: jitteryDirectory(store, seededRandom(round + 100)) });
    await using third = await testDirectory({ store: jitteryDirectory(store, seededRandom(round + 200)) });
    await Promise.all([first, second, third].map(({ directory }) => applySeed(directory, seed)));
    const events = await first.dispatched();
    const count = (name: string) => events.filter(({ type }) => type === name).length;
    expect([count('PersonCreated'), count('UserCreated'), count('UserClaimAdded')]).toEqual([4, 3, 1]);
    expect((await store.collection('tenants').find({})).length).toBe(2);
    const clients = (await store.collection('clients').find({})) as unknown as { id: string; secrets: unknown[] }[];
    expect(clients.map(({ id, secrets }) => [id, secrets.length])).toEqual([
      ['spa', 0],
      ['web', 1],
    ]);

    const before = await snapshot(store);
    await applySeed(second.directory, seed);
    expect(await snapshot(store)).toEqual(before);
  });

  test('what differs is changed, what an administrator added stays', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed);
    const [alice] = await directory.accounts.candidates('alice@acme.test');
    const { persons, groups } = directory.forTenant(alice!.tenant.id);
    await groups.create({ name: 'more' });
    await persons.update(alice!.person.id, { givenName: 'Alicia', phoneNumber: '+47 1' });
    await directory.clients.rotateSecret('web');
    await directory.clients.update('web', { requireConsent: true });
    await applySeed(directory, seed);
    expect(await persons.require(alice!.person.id)).toMatchObject({ givenName: 'Alice', phoneNumber: '+47 1' });
    expect((await groups.find()).map(({ name }) => name).sort()).toEqual(['approvers', 'more']);
    expect(await directory.clients.checkSecret('web', 'web-secret')).toMatchObject({ requireConsent: true });
  });

  test('a record made by hand is taken for the one of the seed by its name', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { id } = await directory.tenants.create({ name: 'Acme' });
    const { groups, persons } = directory.forTenant(id);
    const group = await groups.create({ name: 'staff' });
    const person = await persons.create({ givenName: 'A', familyName: 'B', user: { userName: 'alice' } });
    await applySeed(directory, {
      tenants: [
        {
          id,
          name: 'Acme',
          groups: [{ name: 'staff' }],
          persons: [{ givenName: 'Alice', familyName: 'B', user: { userName: 'Alice', groups: ['staff'] } }],
        },
      ],
    });
    expect((await groups.find()).length).toBe(1);
    expect(await persons.require(person.id)).toMatchObject({ givenName: 'Alice', user: { userName: 'Alice', groupIds: [group.id] } });
  });

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
    const error = await applySeed(t.directory, wrong).catch((thrown: unknown) => thrown);
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

  test('what is not of the form of a seed is told with its path', async () => {
    await using t = await testDirectory();
    const wrong = { tenants: [{ name: 'Acme', persons: [{ givenName: 'A', user: { userName: 'a', passwordHash: 'x' } }] }], user: [] };
    const error = await applySeed(t.directory, wrong as unknown as Seed).catch((thrown: unknown) => thrown);
    expect(new Set((error as { problems: ConfigProblem[] }).problems.map(({ path }) => path))).toEqual(
      new Set(['seed.user', 'seed.tenants[0].persons[0].familyName', 'seed.tenants[0].persons[0].user.passwordHash']),
    );
  });
});
