/** A record that was removed and created again is not the seed's, even with the same id. */
import { describe, expect, test } from '@jest/globals';
import { applySeed, type Directory, type Seed } from '../../../lib/directory/index.js';
import { seedIds } from '../../../lib/directory/seed/ids.js';
import { ISSUER, silentLogger, testDirectory } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

const PRIVILEGE = 'idp.users:write';
const ids = seedIds(ISSUER);
const tid = ids.tenant({ name: 'Acme' });
const named = { givenName: 'Per', familyName: 'Ask', externalId: 'per' };
const subsidiaryId = ids.subsidiary(tid, { name: 'North' });
const groupId = ids.group(tid, { name: 'Operators' });
const personId = ids.person(tid, named);

/** @param rights that a later release adds */
const release = (number: string, rights: readonly string[]): Seed => ({
  permissions: [PRIVILEGE, 'orders.view'].map((id) => ({ id, name: `${id} ${number}` })),
  tenants: [
    { name: 'Initech', organisationNumber: number },
    {
      name: 'Acme',
      subsidiaries: [{ name: 'North', organisationNumber: number }],
      groups: [{ name: 'Operators', permissions: [...rights] }],
      persons: [{ ...named, email: `per${number}@acme.test` }],
    },
  ],
  clients: [
    {
      ...{ id: 'portal', name: `Portal ${number}`, secret: 'portal-secret', metadata: { grant_types: ['client_credentials'] } },
      ...(rights.length > 0 && { adminTenants: ['*'], allowedScopes: [...rights], trustedLoginHint: true }),
    },
  ],
  apiResources: [{ id: 'orders', name: `Orders ${number}`, secret: 'orders-secret', scopes: [`orders.${number}`] }],
});

const scene = () => testDirectory({ identityScopes: new Set(['openid', PRIVILEGE]), settledMs: 0 });

interface Kind {
  readonly collection: string;
  readonly id: string;
  readonly remove: (directory: Directory) => Promise<unknown>;
  readonly make: (directory: Directory) => Promise<unknown>;
}
const initech = ids.tenant({ name: 'Initech' });
const kinds: readonly Kind[] = [
  {
    ...{ collection: 'permissions', id: 'orders.view' },
    remove: ({ permissions }) => permissions.remove('orders.view'),
    make: ({ permissions }) => permissions.create({ id: 'orders.view', name: 'orders.view 1' }),
  },
  {
    ...{ collection: 'tenants', id: initech },
    remove: ({ tenants }) => tenants.remove(initech),
    make: ({ tenants }) => tenants.create({ id: initech, name: 'Initech', organisationNumber: '1' }),
  },
  {
    ...{ collection: 'subsidiaries', id: subsidiaryId },
    remove: (directory) => directory.forTenant(tid).subsidiaries.remove(subsidiaryId),
    make: (directory) => directory.forTenant(tid).subsidiaries.create({ id: subsidiaryId, name: 'North', organisationNumber: '1' }),
  },
  {
    ...{ collection: 'groups', id: groupId },
    remove: (directory) => directory.forTenant(tid).groups.remove(groupId),
    make: (directory) => directory.forTenant(tid).groups.create({ id: groupId, name: 'Operators' }),
  },
  {
    ...{ collection: 'persons', id: personId },
    remove: (directory) => directory.forTenant(tid).persons.remove(personId),
    make: (directory) => directory.forTenant(tid).persons.create({ ...named, id: personId, email: 'per1@acme.test' }),
  },
  {
    ...{ collection: 'clients', id: 'portal' },
    remove: ({ clients }) => clients.remove('portal'),
    make: ({ clients }) => clients.create({ id: 'portal', name: 'Portal 1', metadata: { grant_types: ['client_credentials'] } }),
  },
  {
    ...{ collection: 'apiResources', id: 'orders' },
    remove: ({ apiResources }) => apiResources.remove('orders'),
    make: ({ apiResources }) => apiResources.create({ id: 'orders', name: 'Orders 1', scopes: ['orders.1'] }),
  },
];

describe.each(kinds)('Y1: $collection', ({ collection, id, remove, make }) => {
  test('a record that was made again under the id of the seed’s is left, and the log tells', async () => {
    await using built = await scene();
    const { directory, store } = built;
    await applySeed(directory, release('1', []), silentLogger);
    directory.tenantRemoval.start();
    await remove(directory);
    await until(async () => (await store.collection('removals').find({})).length === 0);
    await built.dispatched();
    await make(directory);
    const before = await store.collection(collection).get(id);
    const told: unknown[] = [];
    for (let start = 0; start < 2; start += 1)
      await applySeed(directory, release('2', [PRIVILEGE]), { ...silentLogger, info: (fields) => void told.push(fields) });
    const after = await store.collection(collection).get(id);
    const plain = { version: 0, outbox: 0, pendingEvents: 0 };
    expect({ ...after, ...plain }).toEqual({ ...before, ...plain });
    expect(JSON.stringify(told)).toContain(`${collection}:${id}`);
  });

  test('a record that nobody removed is changed by a later release', async () => {
    await using built = await scene();
    const { directory, store } = built;
    await applySeed(directory, release('1', []), silentLogger);
    await applySeed(directory, release('2', [PRIVILEGE]), silentLogger);
    expect(JSON.stringify(await store.collection(collection).get(id))).toMatch(/ 2"|per2@|"2"|idp\.users:write/);
  });
});

test('Y1: the kinds are those that a seed makes', async () => {
  await using built = await scene();
  await applySeed(built.directory, release('1', []), silentLogger);
  const entries = (await built.store.collection('seeds').find({})).map((row) => row.id.split(':')[0]);
  expect(new Set(kinds.map(({ collection }) => collection))).toEqual(new Set(entries.filter((name) => name !== 'origin')));
});

test.each([true, false])('Y1: a record of an extension that was made again is left (made again: %s)', async (isRemade) => {
  await using built = await scene();
  let row: { id: string; name: string; createdAt: string } | undefined;
  const apply = (name: string) =>
    applySeed(built.directory, {}, silentLogger, () => [
      {
        ...{ collection: 'notes.entries', id: 'one', fields: { name } },
        find: async () => row,
        create: async () => {
          row = { id: 'one', name, createdAt: '2026-01-01T00:00:00.000Z' };
        },
        update: async (_, patch) => void Object.assign(row!, patch),
      },
    ]);
  await apply('1');
  if (isRemade) row = { ...row!, createdAt: '2026-01-02T00:00:00.000Z' };
  await apply('2');
  expect(row?.name).toBe(isRemade ? '1' : '2');
});
