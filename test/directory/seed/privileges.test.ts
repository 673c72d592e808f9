/** A seed gives privileges only to records that a seed created. */
import { describe, expect, test } from '@jest/globals';
import { applySeed, type Directory, type Seed } from '../../../lib/directory/index.js';
import { seedIds } from '../../../lib/directory/seed/ids.js';
import { IdpError } from '../../../lib/errors.js';
import { ISSUER, testDirectory } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

const PRIVILEGE = 'idp.users:write';
const ids = seedIds(ISSUER);
const tid = ids.tenant({ name: 'Acme' });
const permissions = [PRIVILEGE, 'orders.view'].map((id) => ({ id, name: id }));
const first: Seed = { permissions, tenants: [{ name: 'Acme' }] };
const person = (groups: string[]) => ({ givenName: 'O', familyName: 'P', email: 'op@acme.test', user: { userName: 'op', groups } });
const release = (granted: string[], members: string[], groups = [{ name: 'Operators', permissions: granted }]): Seed => ({
  permissions,
  tenants: [{ name: 'Acme', groups, persons: [person(members)] }],
});

/** Applies seeds one after the other, and returns the log of the last one. */
async function apply(directory: Directory, ...seeds: readonly Seed[]): Promise<string> {
  let said: unknown[] = [];
  const note = (...words: unknown[]) => void said.push(words);
  for (const seed of seeds) {
    said = [];
    await applySeed(directory, seed, { debug() {}, info: note, warn: note, error: note });
  }
  return JSON.stringify(said);
}
const groupNamed = async (directory: Directory, name = 'Operators') => directory.forTenant(tid).groups.findByName(name);
const groupsOf = async (directory: Directory, userName = 'op') =>
  (await directory.forTenant(tid).users.findByUserName(userName))?.user.groupIds;

test('T3-SEED-GROUP: a group that an administrator made gets no privilege and no member of the seed', async () => {
  await using built = await testDirectory();
  const { directory } = built;
  await apply(directory, first);
  const { id } = await directory.forTenant(tid).groups.create({ name: 'Operators' });
  const said = await apply(directory, release([], []), release([PRIVILEGE, 'orders.view'], ['Operators']));
  expect((await groupNamed(directory))?.permissionIds).toEqual(['orders.view']);
  expect(await groupsOf(directory)).toEqual([]);
  expect(said).toContain(`groups:${ids.group(tid, { name: 'Operators' })} permission ${PRIVILEGE}`);
  expect(said).toContain('somebody else created');
  // A start with the same seed changes nothing.
  await apply(directory, release([PRIVILEGE, 'orders.view'], ['Operators']));
  expect([(await groupNamed(directory))?.id, (await groupNamed(directory))?.permissionIds]).toEqual([id, ['orders.view']]);
});

test('a group of the seed gets privileges and members of later releases', async () => {
  await using built = await testDirectory();
  const { directory } = built;
  await apply(directory, release([], []), release([PRIVILEGE], ['Operators']));
  const group = await groupNamed(directory);
  expect([group?.permissionIds, await groupsOf(directory)]).toEqual([[PRIVILEGE], [group?.id]]);
});

describe('T3-SEED-GROUP: a group of the seed with a member', () => {
  const staff = [{ name: 'Operators', permissions: [] as string[] }];
  const privileged = [{ name: 'Operators', permissions: [PRIVILEGE, 'orders.view'] }];

  test('whom an administrator put there gets no privilege of a later seed, until the member has left', async () => {
    await using built = await testDirectory();
    const { directory } = built;
    const { persons, users } = directory.forTenant(tid);
    await apply(directory, release([], ['Operators'], staff));
    const made = await persons.create({ givenName: 'M', familyName: 'M', user: { userName: 'mallory', groups: { names: ['Operators'] } } });
    const later = release([], ['Operators'], privileged);
    for (const _ of ['a start', 'the next start']) {
      const said = await apply(directory, later);
      expect((await groupNamed(directory))?.permissionIds).toEqual(['orders.view']);
      expect(said).toContain(`groups:${ids.group(tid, { name: 'Operators' })} permission ${PRIVILEGE}`);
      expect(said).toContain('groups with members of somebody else');
    }
    await users.setGroups(made.user?.id ?? '', { ids: [] });
    await apply(directory, later);
    expect((await groupNamed(directory))?.permissionIds).toEqual(['orders.view', PRIVILEGE]);
    // From now on, administrators decide about the members and the permission.
    await users.setGroups(made.user?.id ?? '', { names: ['Operators'] });
    await directory.forTenant(tid).groups.update((await groupNamed(directory))?.id ?? '', { permissionIds: [] });
    await apply(directory, later);
    expect((await groupNamed(directory))?.permissionIds).toEqual([]);
  });

  test('that is the seed’s own gets the privilege', async () => {
    await using built = await testDirectory();
    const { directory } = built;
    await apply(directory, release([], ['Operators'], staff), release([], ['Operators'], privileged));
    expect((await groupNamed(directory))?.permissionIds).toEqual([PRIVILEGE, 'orders.view']);
  });

  test.each(['made by somebody else', 'made by the seed, and put there by somebody else'])('%s gets none', async (whose) => {
    await using built = await testDirectory();
    const { directory } = built;
    const { persons, users } = directory.forTenant(tid);
    const isOwn = whose.startsWith('made by the seed');
    await apply(directory, isOwn ? release([], [], staff) : { permissions, tenants: [{ name: 'Acme', groups: staff }] });
    if (!isOwn) await persons.create({ givenName: 'M', familyName: 'M', user: { userName: 'op' } });
    if (isOwn) await users.addGroups((await users.findByUserName('op'))?.user.id ?? '', { names: ['Operators'] });
    else await apply(directory, release([], [], staff), release([], ['Operators'], staff));
    expect(await groupsOf(directory)).toHaveLength(1);
    await apply(directory, release([], isOwn ? [] : ['Operators'], privileged));
    expect((await groupNamed(directory))?.permissionIds).toEqual(['orders.view']);
  });
});

test('a user that an administrator made gets no privileged group of the seed, and other groups', async () => {
  await using built = await testDirectory();
  const { directory } = built;
  await apply(directory, first);
  await directory.forTenant(tid).persons.create({ givenName: 'M', familyName: 'M', user: { userName: 'op' } });
  const groups = [
    { name: 'Operators', permissions: [PRIVILEGE] },
    { name: 'Staff', permissions: ['orders.view'] },
  ];
  const said = await apply(directory, release([], [], groups), release([], ['Operators', 'Staff'], groups));
  expect(await groupsOf(directory)).toEqual([(await groupNamed(directory, 'Staff'))?.id]);
  expect(said).toContain('no privileges to records that somebody else created');
});

test.each(['the user', 'the person'] as const)(
  'R-SEED: %s that is removed and made again with the same ids is not the seed’s',
  async (what) => {
    await using built = await testDirectory();
    const { directory } = built;
    const { persons, users } = directory.forTenant(tid);
    const seed = release([PRIVILEGE], ['Operators']);
    await apply(directory, seed);
    const made = await users.findByUserName('op');
    const { id, user } = { id: made?.id ?? '', user: { id: made?.user.id ?? '', userName: 'op' } };
    expect(made?.user.groupIds).toHaveLength(1);
    if (what === 'the user') {
      await users.remove(user.id);
      // The id of the user is free again, because its tombstone was lost.
      await built.store
        .collection('removedUsers')
        .find({})
        .then((rows) => Promise.all(rows.map((row) => built.store.collection('removedUsers').remove(row.id))));
      await users.create(id, user);
    } else {
      await persons.remove(id);
      await built.store
        .collection('removedUsers')
        .find({})
        .then((rows) => Promise.all(rows.map((row) => built.store.collection('removedUsers').remove(row.id))));
      // The id is free after the events of the removal were dispatched.
      const remade = () => persons.create({ id, givenName: 'M', familyName: 'M', user }).catch(IdpError.unless('conflict'));
      await until(async () => (await remade()) !== undefined);
    }
    await apply(directory, seed);
    await apply(directory, {
      ...seed,
      tenants: [{ ...seed.tenants?.[0], persons: [{ ...person(['Operators']), email: 'other@acme.test' }] }],
    } as never);
    expect(await groupsOf(directory)).toEqual([]);
  },
);

const rights = { introspects: 'all', impersonation: 'allow' } as const;
const clientRights = { ...rights, adminTenants: ['*'], allowedScopes: ['openid', PRIVILEGE], trustedLoginHint: true };
const none = { introspects: 'own', impersonation: 'refuse' } as const;
const clientNone = { ...none, adminTenants: [], allowedScopes: ['openid'], trustedLoginHint: false };
const plain = { name: 'Portal', secret: 'portal-secret' };
const credentials = { metadata: { grant_types: ['client_credentials'] } };
/** Records with a secret: how an administrator creates one, a seed without rights for it, and a seed with each right. */
const holders = {
  clients: {
    make: ({ clients }: Directory) => clients.create({ id: 'portal', ...plain, ...credentials, ...clientNone }),
    seed: (given: object): Seed => ({ clients: [{ id: 'portal', ...plain, ...credentials, ...clientNone, ...given }] }),
    ...{ given: clientRights, stays: clientNone },
  },
  apiResources: {
    make: ({ apiResources }: Directory) => apiResources.create({ id: 'portal', ...plain, ...none, scopes: [] }),
    seed: (given: object): Seed => ({ apiResources: [{ id: 'portal', ...plain, ...none, scopes: [], ...given }] }),
    ...{ given: rights, stays: none },
  },
};
const withScopes = () => testDirectory({ identityScopes: new Set(['openid', PRIVILEGE]) });

describe.each(Object.entries(holders))('Y2: %s', (collection, { make, seed, given, stays }) => {
  test('one that somebody else made gets no right of the seed, and the log says so', async () => {
    await using built = await withScopes();
    const { directory, store } = built;
    await apply(directory, {});
    await make(directory);
    const said = await apply(directory, seed({}), seed({ ...given, name: 'Portal 2' }));
    for (const right of Object.keys(given)) expect(said).toContain(`${collection}:portal ${right} `);
    expect(await store.collection(collection).get('portal')).toMatchObject({ ...stays, name: 'Portal 2' });
    await apply(directory, seed(given));
    expect(await store.collection(collection).get('portal')).toMatchObject(stays);
    // Rights that an administrator gave in the meantime stay.
    await directory[collection as 'clients'].update('portal', given);
    await apply(directory, seed({ ...given, name: 'Portal 3' }));
    expect(await store.collection(collection).get('portal')).toMatchObject(given);
  });

  test.each(['somebody', 'the seed'])('one whose id was taken at first, and that %s made then', async (maker) => {
    await using built = await withScopes();
    const { directory, store } = built;
    const other = holders[collection === 'clients' ? 'apiResources' : 'clients'];
    await apply(directory, {});
    await other.make(directory);
    expect(await apply(directory, seed({}))).toContain(`${collection}:portal`);
    await (collection === 'clients' ? directory.apiResources : directory.clients).remove('portal');
    await built.dispatched();
    if (maker === 'somebody') await make(directory);
    await apply(directory, seed({}), seed(given));
    expect(await store.collection(collection).get('portal')).toMatchObject(maker === 'somebody' ? stays : given);
  });

  test('one that a seed made gets them', async () => {
    await using built = await withScopes();
    const { directory, store } = built;
    await apply(directory, seed({}), seed(given));
    expect(await store.collection(collection).get('portal')).toMatchObject(given);
  });
});

test('Y5: a client of the seed with a secret of a client administrator gets no privilege of a later seed until it is confirmed', async () => {
  await using built = await withScopes();
  const { directory } = built;
  const robot = (more: object): Seed => ({ clients: [{ id: 'robot', name: 'Robot', secret: 'robot-secret', ...more }] });
  const later = robot({ allowedScopes: ['openid', PRIVILEGE], introspects: 'all', trustedLoginHint: true });
  await apply(directory, robot({}));
  const low = directory.as({ actor: 'client:low' }, { by: 'tenant', tids: [], permissionIds: [] });
  await low.clients.rotateSecret('robot');
  const { id: tenantId } = await directory.tenants.create({ name: 'Privileged' });
  await directory.permissions.create({ id: PRIVILEGE, name: 'Privilege' });
  await directory.forTenant(tenantId).groups.create({ name: 'Operators', permissionIds: [PRIVILEGE] });
  const said = await apply(directory, later);
  expect(await directory.clients.get('robot')).toMatchObject({ allowedScopes: ['openid'], introspects: 'all', trustedLoginHint: false });
  expect(said).toContain(`clients:robot allowedScopes ${PRIVILEGE}`);
  expect(said).toContain('clients:robot trustedLoginHint true');
  await directory.clients.update('robot', {}, undefined, true);
  await apply(directory, later);
  expect((await directory.clients.get('robot'))?.allowedScopes).toEqual(['openid', PRIVILEGE]);
});

test('a client of the seed gets privileges of later seeds, also after the host made a secret for it', async () => {
  await using built = await withScopes();
  const { directory } = built;
  const robot = (more: object): Seed => ({ clients: [{ id: 'robot', name: 'Robot', secret: 'robot-secret', ...more }] });
  await apply(directory, robot({}));
  await directory.clients.rotateSecret('robot');
  await apply(directory, robot({ allowedScopes: [PRIVILEGE], trustedLoginHint: true }));
  expect(await directory.clients.get('robot')).toMatchObject({ allowedScopes: [PRIVILEGE], trustedLoginHint: true });
});
