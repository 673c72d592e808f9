/** Design §1: records that a seed creates, changes and leaves unchanged. */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { applySeed, type Seed } from '../../../lib/directory/index.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { collections } from '../../../lib/store/records/collections.js';
import type { PersonWithUser } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';
import { silentLogger, testDirectory } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';

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

/** Returns all stored rows, without the number of the dispatcher's writes. */
async function snapshot(store: DirectoryStore): Promise<unknown> {
  const names = Object.keys(collections).filter((name) => name !== 'changes');
  return Promise.all(names.map((name) => store.collection(name).find({})));
}

/** Returns a store whose node crashes after so many writes. */
function dyingAfter(store: DirectoryStore, writes: number): DirectoryStore {
  let left = writes;
  const write =
    <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      if (left-- <= 0) throw new Error('killed');
      return call(...given);
    };
  return withCollections(store, (rows) => ({
    insert: write(rows.insert),
    put: write(rows.put),
    update: write(rows.update),
    remove: write(rows.remove),
  }));
}

describe('seed (design §1)', () => {
  test('makes tenants, persons, users, groups, links, clients and API resources', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed, silentLogger);
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
    await applySeed(
      t.directory,
      {
        tenants: [
          { name: 'Acme', persons: persons('Acme') },
          { name: 'Globex', persons: persons('Globex') },
        ],
      },
      silentLogger,
    );
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
    await applySeed(t.directory, seed, silentLogger);
    await t.dispatchedOfPersons();
    const before = await snapshot(t.store);
    await applySeed(t.directory, seed, silentLogger);
    await t.dispatchedOfPersons();
    expect(await snapshot(t.store)).toEqual(before);
  });

  test.each([1, 2, 3])('applied by many nodes at once it makes each record once (round %i)', async (round) => {
    const store = memoryDirectory();
    await using first = await testDirectory({ store: jitteryDirectory(store, seededRandom(round)) });
    await using second = await testDirectory({ store: jitteryDirectory(store, seededRandom(round + 100)) });
    await using third = await testDirectory({ store: jitteryDirectory(store, seededRandom(round + 200)) });
    await Promise.all([first, second, third].map(({ directory }) => applySeed(directory, seed, silentLogger)));
    const events = await first.dispatchedOfPersons();
    const count = (name: string) => events.filter(({ type }) => type === name).length;
    expect([count('PersonCreated'), count('UserCreated'), count('UserClaimAdded')]).toEqual([4, 3, 1]);
    expect((await store.collection('tenants').find({})).length).toBe(2);
    const clients = (await store.collection('clients').find({})) as unknown as { id: string; secrets: unknown[] }[];
    expect(clients.map(({ id, secrets }) => [id, secrets.length])).toEqual([
      ['spa', 0],
      ['web', 1],
    ]);

    const before = await snapshot(store);
    await applySeed(second.directory, seed, silentLogger);
    expect(await snapshot(store)).toEqual(before);
  });

  test('says nothing of what an administrator changed or added', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed, silentLogger);
    const [alice] = await directory.accounts.candidates('alice@acme.test');
    const { persons, groups } = directory.forTenant(alice!.tenant.id);
    await groups.create({ name: 'more' });
    await persons.update(alice!.person.id, { givenName: 'Alicia', phoneNumber: '+47 1' });
    await directory.clients.update('web', { requireConsent: true });
    await applySeed(directory, seed, silentLogger);
    expect(await persons.require(alice!.person.id)).toMatchObject({ givenName: 'Alicia', phoneNumber: '+47 1' });
    expect((await groups.find()).map(({ name }) => name).sort()).toEqual(['approvers', 'more']);
    expect(await directory.clients.checkSecret('web', 'web-secret')).toMatchObject({ requireConsent: true });
  });

  /** The seed of a next release: each kind of record has a new value, and one record of each kind is new. */
  const release: Seed = {
    permissions: [
      { id: 'orders.approve', name: 'Approve all orders' },
      { id: 'orders.view', name: 'See orders' },
    ],
    apiResources: [{ id: 'orders', name: 'Orders', scopes: ['orders.read', 'orders.write'], secret: 'orders-secret-2' }],
    tenants: [
      { name: 'Globex', persons: seed.tenants![0]!.persons! },
      {
        name: 'Acme',
        branding: { accentColor: '#000000', radius: 4 },
        subsidiaries: [{ name: 'Acme North', organisationNumber: '3' }],
        groups: [{ name: 'approvers', permissions: ['orders.view'] }, { name: 'viewers' }],
        persons: [
          {
            givenName: 'Alice',
            familyName: 'Lund',
            email: 'alice@acme.test',
            nationalId: '020290-54321',
            user: { userName: 'alice@acme.test', emailVerified: false, groups: ['approvers', 'viewers'], devPassword: 'alice 2' },
          },
          { givenName: 'Carl', familyName: 'Berg' },
        ],
      },
    ],
    clients: [
      { id: 'web', name: 'Web 2', secret: 'web-secret-2', allowedScopes: ['openid', 'email'], allowedTenants: ['Acme', 'Globex'] },
      { id: 'spa', name: 'SPA', metadata: { token_endpoint_auth_method: 'none', client_uri: 'https://spa.test' } },
    ],
  };

  test('changes what a seed said and nobody else has changed since', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed, silentLogger);
    await applySeed(directory, release, silentLogger);
    const [alice] = await directory.accounts.candidates('alice@acme.test');
    expect(alice).toMatchObject({
      tenant: { branding: { accentColor: '#000000', radius: 4 } },
      person: { familyName: 'Lund', user: { emailVerified: false } },
    });
    const { groups, persons, subsidiaries } = directory.forTenant(alice!.tenant.id);
    expect(await directory.accounts.groups(alice!.person)).toMatchObject([
      { name: 'approvers', permissionIds: ['orders.view'] },
      { name: 'viewers' },
    ]);
    expect(await groups.findByName('viewers')).toBeDefined();
    expect(await persons.readNationalId(alice!.person.id)).toBe('020290-54321');
    expect(await subsidiaries.find()).toMatchObject([{ organisationNumber: '3' }]);
    expect(await directory.permissions.require('orders.approve')).toMatchObject({ name: 'Approve all orders' });
    expect(await directory.clients.require('web')).toMatchObject({ name: 'Web 2', allowedScopes: ['openid', 'email'] });
    expect((await directory.clients.require('web')).allowedTenants).toHaveLength(2);
    expect(await directory.clients.checkSecret('web', 'web-secret-2')).toBeDefined();
    expect((await directory.clients.require('spa')).metadata).toMatchObject({ client_uri: 'https://spa.test' });
    expect(await directory.apiResources.checkSecret('orders', 'orders-secret-2')).toMatchObject({
      scopes: ['orders.read', 'orders.write'],
    });
    expect(await directory.credentials.checkPassword([alice!], 'alice 2')).toHaveLength(1);

    const before = await snapshot(t.store);
    await applySeed(directory, release, silentLogger);
    expect(await snapshot(t.store)).toEqual(before);
  });

  test('with mode create it makes what is new, and changes nothing', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    await applySeed(directory, seed, silentLogger);
    await applySeed(directory, { ...release, mode: 'create' }, silentLogger);
    const [alice] = await directory.accounts.candidates('alice@acme.test');
    expect(alice).toMatchObject({
      tenant: { branding: { accentColor: '#336699' } },
      person: { familyName: 'Ek', user: { emailVerified: true } },
    });
    expect(await directory.accounts.groups(alice!.person)).toMatchObject([{ name: 'approvers', permissionIds: ['orders.approve'] }]);
    expect(await directory.forTenant(alice!.tenant.id).groups.findByName('viewers')).toBeDefined();
    expect(await directory.permissions.get('orders.view')).toBeDefined();
    expect(await directory.clients.require('web')).toMatchObject({ name: 'Web', allowedScopes: ['openid'] });
    expect(await directory.clients.checkSecret('web', 'web-secret-2')).toBeUndefined();
    expect(await directory.apiResources.require('orders')).toMatchObject({ scopes: ['orders.read'] });
    expect(await directory.credentials.checkPassword([alice!], 'alice')).toHaveLength(1);
  });

  test('a node that died while it made a record is followed by one that completes it', async () => {
    const store = memoryDirectory();
    for (let start = 0; start < 20; start += 1) {
      await using dying = await testDirectory({ store: dyingAfter(store, (start * 3) % 11) });
      await applySeed(dying.directory, seed, silentLogger).catch(() => undefined);
    }
    await using t = await testDirectory({ store });
    await applySeed(t.directory, seed, silentLogger);
    const [alice] = await t.directory.accounts.candidates('alice@globex.test');
    expect(alice?.person.user.parentUserId).toBeDefined();
    expect(await t.directory.credentials.checkPassword([alice!], 'alice')).toHaveLength(1);
    expect(await t.directory.clients.checkSecret('web', 'web-secret')).toBeDefined();
    expect((await store.collection('persons').find({})).length).toBe(4);
  });

  test('a record made by hand is taken for the one of the seed by its name, and left as it is', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { id } = await directory.tenants.create({ name: 'Acme' });
    const { groups, persons } = directory.forTenant(id);
    await groups.create({ name: 'staff' });
    const person = await persons.create({ givenName: 'A', familyName: 'B', user: { userName: 'alice' } });
    const staff: Seed = {
      tenants: [
        {
          id,
          name: 'Acme',
          groups: [{ name: 'staff' }],
          persons: [{ givenName: 'Alice', familyName: 'B', user: { userName: 'Alice', groups: ['staff'], devPassword: 'x' } }],
        },
      ],
    };
    for (let start = 0; start < 2; start += 1) await applySeed(directory, staff, silentLogger);
    expect((await groups.find()).length).toBe(1);
    expect(await persons.require(person.id)).toMatchObject({ givenName: 'A', user: { userName: 'alice', groupIds: [] } });
    expect(await t.store.collection('credentials').find({})).toEqual([]);
  });
});
