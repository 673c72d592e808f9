/**
 * T3-SEED-SQUAT: ids of a seed are derived from issuer and names, so anybody can compute them. A record that another actor created with
 * such an id is not the seed's.
 */
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { applySeed, type Directory, type Seed } from '../../../lib/directory/index.js';
import { seedIds } from '../../../lib/directory/seed/ids.js';
import { IdpError } from '../../../lib/errors.js';
import { ISSUER, silentLogger, testDirectory } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';

const olga = { givenName: 'Olga', familyName: 'Ek', email: 'olga@acme.test', user: { userName: 'olga', groups: ['Operators'] } };
const plain = { givenName: 'Per', familyName: 'Ask', email: 'per@acme.test' };
const acme = {
  name: 'Acme',
  subsidiaries: [{ name: 'North', organisationNumber: '1' }],
  groups: [{ name: 'Operators', permissions: ['orders.approve'] }],
  persons: [olga, plain],
};
const seed: Seed = { permissions: [{ id: 'orders.approve', name: 'Approve' }], tenants: [acme] };
const ids = seedIds(ISSUER);
const tid = ids.tenant(acme);

/** The first release has only the tenants. At this time, another actor can compute the ids of the next release. */
const first: Seed = { tenants: [{ name: 'Acme' }, { name: 'Globex' }] };
const squatted = {
  subsidiaries: ids.subsidiary(tid, acme.subsidiaries[0]!),
  groups: ids.group(tid, acme.groups[0]!),
  'persons with a user': ids.person(tid, olga as never),
  persons: ids.person(tid, plain as never),
} as const;
type Kind = keyof typeof squatted;
const kinds = Object.keys(squatted) as readonly Kind[];
const places = { 'the same tenant': 'Acme', 'another tenant': 'Globex' } as const;

async function squat(directory: Directory, kind: Kind, place: string): Promise<void> {
  const { persons, groups, subsidiaries } = directory.forTenant(ids.tenant({ name: place }));
  const id = squatted[kind];
  if (kind === 'subsidiaries') await subsidiaries.create({ id, name: 'Mine' });
  else if (kind === 'groups') await groups.create({ id, name: 'Mine' });
  else await persons.create({ id, givenName: 'M', familyName: 'Allory', email: 'mallory@evil.test' });
}

const snapshotOf = async (directory: Directory) => {
  const { persons, groups, subsidiaries } = directory.forTenant(tid);
  const [operators] = (await groups.find()).filter(({ name }) => name === 'Operators');
  return {
    subsidiaries: (await subsidiaries.find()).filter(({ name }) => name === 'North').map(({ organisationNumber }) => organisationNumber),
    permissions: operators?.permissionIds,
    members: (await persons.find({ limit: 10 }))
      .filter(({ user }) => user?.groupIds.includes(operators?.id ?? ''))
      .map(({ email }) => email),
    users: (await persons.find({ limit: 10 })).flatMap(({ email, user }) => (user ? [`${email} ${user.userName}`] : [])),
    plain: (await persons.find({ limit: 10 })).filter(({ givenName }) => givenName === 'Per').map(({ email }) => email),
  };
};
const whole = {
  subsidiaries: ['1'],
  permissions: ['orders.approve'],
  members: ['olga@acme.test'],
  users: ['olga@acme.test olga'],
  plain: ['per@acme.test'],
};

const cases = kinds.flatMap((kind) => Object.entries(places).map(([words, place]) => [kind, words, place] as const));
describe.each(cases)('T3-SEED-SQUAT: %s, taken in %s', (kind, _, place) => {
  test('are made with other ids, once, and the log says so', async () => {
    await using t = await testDirectory();
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
    await applySeed(t.directory, first, logger);
    await squat(t.directory, kind, place);
    const collection = kind.split(' ')[0] ?? '';
    const before = await t.store.collection(collection).get(squatted[kind]);
    for (let start = 0; start < 3; start += 1) await applySeed(t.directory, seed, logger);
    expect(await snapshotOf(t.directory)).toEqual(whole);
    const after = await t.store.collection(collection).get(squatted[kind]);
    expect({ ...after, version: 0, outbox: 0, pendingEvents: 0 }).toEqual({ ...before, version: 0, outbox: 0, pendingEvents: 0 });
    expect(warnings).toEqual([{ records: [`${collection}:${squatted[kind]}`] }]);

    // A removed record is not created again, whichever id it has.
    const { persons, groups, subsidiaries } = t.directory.forTenant(tid);
    for (const { id, name } of await groups.find()) if (name === 'Operators') await groups.remove(id);
    for (const { id, name } of await subsidiaries.find()) if (name === 'North') await subsidiaries.remove(id);
    for (const { id, email } of await persons.find({ limit: 10 })) if (email?.endsWith('@acme.test')) await persons.remove(id);
    await applySeed(t.directory, seed, logger);
    expect(await snapshotOf(t.directory)).toEqual({ subsidiaries: [], permissions: undefined, members: [], users: [], plain: [] });
  });

  test('are made once by nodes that start at the same time', async () => {
    const store = memoryDirectory();
    await using before = await testDirectory({ store });
    await applySeed(before.directory, first, silentLogger);
    await squat(before.directory, kind, place);
    const nodes = await Promise.all([1, 2, 3].map((round) => testDirectory({ store: jitteryDirectory(store, seededRandom(round)) })));
    await Promise.all(nodes.map(({ directory }) => applySeed(directory, seed, silentLogger)));
    expect(await snapshotOf(before.directory)).toEqual(whole);
    for (const node of nodes) await node[Symbol.asyncDispose]();
  });
});

test('T3-SEED-SQUAT: a person with an id that the seed says gets no user of the seed, if somebody else made the person', async () => {
  await using t = await testDirectory();
  const id = '0197a000-0000-7000-8000-0000000000e1';
  await applySeed(t.directory, first, silentLogger);
  const { persons } = t.directory.forTenant(tid);
  await persons.create({ id, givenName: 'M', familyName: 'Allory', email: 'mallory@evil.test' });
  for (let start = 0; start < 2; start += 1)
    await applySeed(t.directory, { ...seed, tenants: [{ ...acme, persons: [{ ...olga, id }] }] }, silentLogger);
  expect(await persons.require(id)).toMatchObject({ email: 'mallory@evil.test' });
  expect(await persons.require(id)).not.toHaveProperty('user');
});

test('a name of a tenant that another tenant took is told, and given once the other tenant has another', async () => {
  await using t = await testDirectory();
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
  await applySeed(t.directory, first, logger);
  const globex = ids.tenant({ name: 'Globex' });
  await t.directory.tenants.update(globex, { name: 'Initech' });
  const renamed = '0197a000-0000-7000-8000-0000000000e2';
  await t.directory.tenants.create({ id: renamed, name: 'Umbrella' });
  const next: Seed = { tenants: [{ name: 'Initech' }, { id: renamed, name: 'Umbrella' }] };
  await applySeed(t.directory, next, logger);
  expect(warnings).toEqual([{ records: [`tenants:${ids.tenant({ name: 'Initech' })}`] }]);
  await applySeed(t.directory, { tenants: [{ id: renamed, name: 'INITECH' }] }, logger);
  expect((await t.directory.tenants.require(renamed)).name).toBe('Umbrella');
  expect(warnings[1]).toEqual({ records: [`tenants:${renamed}`] });
  await t.directory.tenants.update(globex, { name: 'Globex' });
  await applySeed(t.directory, next, logger);
  expect((await t.directory.tenants.require(ids.tenant({ name: 'Initech' }))).name).toBe('Initech');
});

describe('T3-SEED-SQUAT: what somebody else did stops no start', () => {
  const logged: unknown[] = [];
  const note = (fields: unknown) => void logged.push(fields);
  const logger = { ...silentLogger, info: note, warn: note };
  const told = (id: string) => logged.filter((fields) => JSON.stringify(fields).includes(id)).length > 0;

  test('a national id that another person has', async () => {
    await using t = await testDirectory();
    const withId = (nationalId: string): Seed => ({ tenants: [{ name: 'Acme', persons: [{ ...plain, nationalId }] }] });
    await applySeed(t.directory, withId('1'), logger);
    await t.directory.forTenant(tid).persons.create({ givenName: 'M', familyName: 'Allory', nationalId: '2' });
    await applySeed(t.directory, withId('2'), logger);
    expect(told(`persons:${squatted.persons}`)).toBe(true);
    expect(await t.directory.forTenant(tid).persons.readNationalId(squatted.persons)).toBe('1');
  });

  test('a parent who was linked to another parent meanwhile', async () => {
    await using t = await testDirectory();
    const user = (userName: string, linkedTo?: { userName: string; tenant: string }) => ({
      ...{ givenName: 'A', familyName: userName },
      user: { userName, status: 'active' as const, ...(linkedTo && { linkedTo }) },
    });
    const parents = ['Acme', 'Initech'].map((name) => ({ name, persons: [user(`of ${name}`)] }));
    await applySeed(t.directory, { tenants: parents }, logger);
    const [child, parent] = await Promise.all(
      ['of Acme', 'of Initech'].map(async (name) => (await t.directory.accounts.candidates(name))[0]!),
    );
    const { linking } = t.directory.forTenant(tid);
    await linking.link(child!.person.user.id, { tid: parent!.tenant.id, userId: parent!.person.user.id });
    const globex = { name: 'Globex', persons: [user('of Globex', { userName: 'of Acme', tenant: 'Acme' })] };
    for (let start = 0; start < 2; start += 1) await applySeed(t.directory, { tenants: [...parents, globex] }, logger);
    expect(told(`users:${ids.user(ids.tenant(globex), { userName: 'of Globex' })} linkedTo`)).toBe(true);
  });

  test('a sign-in method of the seed whose id another tenant has: the policy is not another one', async () => {
    await using t = await testDirectory();
    const refused = async () => {
      throw new IdpError('conflict', { path: '/id' });
    };
    const piece = {
      collection: 'connections.connections',
      id: 'sso',
      fields: {},
      find: async () => undefined,
      create: refused,
      update: refused,
    } as const;
    const methods: Seed = { tenants: [{ name: 'Acme', signIn: { methods: ['sso'] } }] };
    for (let start = 0; start < 2; start += 1) await applySeed(t.directory, methods, logger, () => [piece]);
    expect([await t.directory.tenants.get(tid), told(`tenants:${tid}`)]).toEqual([undefined, true]);
    await applySeed(t.directory, { tenants: [{ name: 'Acme' }] }, logger);
    await applySeed(t.directory, methods, logger, () => [piece]);
    expect(await t.directory.tenants.require(tid)).not.toHaveProperty('signIn');
  });
});
