/** Members that a later seed sets for the first time, on records that a seed created without them. */

import { describe, expect, test } from '@jest/globals';
import type { TSchema } from '@sinclair/typebox';
import { applySeed, type Directory, type Seed } from '../../../lib/directory/index.js';
import { seedSchema } from '../../../lib/directory/seed/schema.js';
import { silentLogger, testDirectory } from '../../support/service/test-directory.js';

type Members = Readonly<Record<string, unknown>>;
interface Kind {
  /** The schema of the record in a seed. */
  readonly schema: TSchema;
  /** Members that the record requires, and members that create or name it. */
  readonly fixed: readonly string[];
  readonly values: Members;
  readonly seed: (members: Members) => Seed;
  readonly stored: (directory: Directory) => Promise<Members | undefined>;
  /** Changes a member as an administrator does. */
  readonly change: (directory: Directory, patch: Members) => Promise<unknown>;
}

const permissions = [{ id: 'orders.view', name: 'Orders' }];
const membersOf = (schema: TSchema): Readonly<Record<string, TSchema>> => schema.properties;
const at = (schema: TSchema, ...path: readonly string[]): TSchema =>
  path.reduce((found, name) => {
    const inner = membersOf(found)[name] as TSchema;
    return inner.type === 'array' ? inner.items : inner;
  }, schema);

const id = (digit: number) => `0197a000-0000-7000-8000-00000000000${digit}`;
const tid = id(1);
const inTenant = (more: object): Seed => ({ permissions, tenants: [{ name: 'Acme', id: tid, ...more }] });
const person = { id: id(2), givenName: 'P', familyName: 'P' };

const kinds: Readonly<Record<string, Kind>> = {
  client: {
    schema: at(seedSchema, 'clients'),
    fixed: ['id', 'name', 'secret'],
    values: {
      metadata: { grant_types: ['client_credentials'], redirect_uris: [] },
      allowedScopes: ['openid'],
      requirePkce: false,
      fapi: '2.0',
      allowPlainPkce: true,
      requireConsent: true,
      accessTokenType: 'jwt',
      idTokenClaims: 'scopes',
      email: 'first',
      styles: { accentColor: '#123456' },
      lifetimes: { accessToken: 600 },
      allowedTenants: [tid],
      introspects: 'all',
      adminTenants: [tid],
      trustedLoginHint: true,
      corsOrigins: ['https://app.example'],
      postRegistrationUri: 'https://app.example/registered',
      impersonation: 'refuse',
      status: 'disabled',
    },
    seed: (members) => ({
      ...inTenant({}),
      clients: [
        { id: 'web', name: 'Web', metadata: { grant_types: ['client_credentials'] }, secret: 'a secret that is long enough', ...members },
      ],
    }),
    stored: async ({ clients }) => (await clients.get('web')) as unknown as Members,
    change: ({ clients }, patch) => clients.update('web', patch),
  },
  'API resource': {
    schema: at(seedSchema, 'apiResources'),
    fixed: ['id', 'name', 'scopes', 'secret'],
    values: {
      scopeDescriptions: { orders: 'Orders' },
      introspects: 'all',
      allowedTenants: [tid],
      introspectionSignedResponseAlg: 'RS256',
      impersonation: 'refuse',
      status: 'disabled',
    },
    seed: (members) => ({
      ...inTenant({}),
      apiResources: [{ id: 'orders', name: 'Orders', scopes: ['orders'], secret: 'a secret that is long enough', ...members }],
    }),
    stored: async ({ apiResources }) => (await apiResources.get('orders')) as unknown as Members,
    change: ({ apiResources }, patch) => apiResources.update('orders', patch),
  },
  permission: {
    schema: at(seedSchema, 'permissions'),
    fixed: ['id', 'name'],
    values: { description: 'May see orders' },
    seed: (members) => ({ permissions: [{ id: 'orders.view', name: 'Orders', ...members }] }),
    stored: async (directory) => (await directory.permissions.get('orders.view')) as unknown as Members,
    change: ({ permissions: of }, patch) => of.update('orders.view', patch),
  },
  tenant: {
    schema: at(seedSchema, 'tenants'),
    fixed: ['id', 'name', 'subsidiaries', 'groups', 'persons'],
    values: {
      organisationNumber: '1',
      signIn: { requireMfa: true },
      branding: { accentColor: '#123456' },
      locale: 'nb',
      selfService: ['phone'],
    },
    seed: inTenant,
    stored: async ({ tenants }) => (await tenants.get(tid)) as unknown as Members,
    change: ({ tenants }, patch) => tenants.update(tid, patch),
  },
  subsidiary: {
    schema: at(seedSchema, 'tenants', 'subsidiaries'),
    fixed: ['id', 'name'],
    values: { organisationNumber: '1' },
    seed: (members) => inTenant({ subsidiaries: [{ id: id(3), name: 'South', ...members }] }),
    stored: async (directory) => (await directory.forTenant(tid).subsidiaries.get(id(3))) as unknown as Members,
    change: (directory, patch) => directory.forTenant(tid).subsidiaries.update(id(3), patch),
  },
  group: {
    schema: at(seedSchema, 'tenants', 'groups'),
    // Rights are given one by one.
    fixed: ['id', 'name', 'permissions'],
    values: {},
    seed: (members) => inTenant({ groups: [{ id: id(4), name: 'Staff', ...members }] }),
    stored: async (directory) => (await directory.forTenant(tid).groups.get(id(4))) as unknown as Members,
    change: (directory, patch) => directory.forTenant(tid).groups.update(id(4), patch),
  },
  person: {
    schema: at(seedSchema, 'tenants', 'persons'),
    fixed: ['id', 'givenName', 'familyName', 'user', 'subsidiary', 'nationalId'],
    values: {
      email: 'p@acme.test',
      secondEmail: 'q@acme.test',
      phoneNumber: '+4712345678',
      phoneNumberVerified: true,
      pictureUrl: 'https://acme.test/p.png',
      externalId: '1',
      locale: 'nb',
      attributes: { department: 'South' },
    },
    seed: (members) => inTenant({ persons: [{ ...person, ...members }] }),
    stored: async (directory) => (await directory.forTenant(tid).persons.get(person.id)) as unknown as Members,
    change: (directory, patch) => directory.forTenant(tid).persons.update(person.id, patch),
  },
  user: {
    schema: at(seedSchema, 'tenants', 'persons', 'user'),
    // After the creation, other actors decide about status, password and parent.
    fixed: ['id', 'userName', 'status', 'devPassword', 'linkedTo', 'groups'],
    values: { emailVerified: true, externalIdentities: [{ idp: 'partner', subject: 'p' }] },
    seed: (members) => inTenant({ persons: [{ ...person, user: { id: id(5), userName: 'p@acme.test', ...members } }] }),
    async stored(directory) {
      const found = await directory.forTenant(tid).users.get(id(5));
      return found && { ...found.user, externalIdentities: found.user.externalIdentities.map(({ idp, subject }) => ({ idp, subject })) };
    },
    change: (directory, patch) => directory.forTenant(tid).users.update(id(5), patch),
  },
};

const all = Object.entries(kinds).flatMap(([name, kind]) => Object.keys(kind.values).map((member) => [name, member, kind] as const));
const apply = (directory: Directory, seed: Seed) => applySeed(directory, seed, silentLogger);

test.each(Object.entries(kinds))('each member of a seeded %s is known here', (_, { schema, fixed, values }) => {
  expect([...fixed, ...Object.keys(values)].sort()).toEqual(Object.keys(membersOf(schema)).sort());
});

describe('a member that a later seed says for the first time', () => {
  test.each(all)('is given to a %s that nobody touched: %s', async (_, member, { seed, stored, values }) => {
    await using built = await testDirectory();
    const { directory } = built;
    await apply(directory, seed({}));
    const before = (await stored(directory))?.[member];
    expect(before).not.toEqual(values[member]);
    await apply(directory, seed({ [member]: values[member] }));
    expect((await stored(directory))?.[member]).toEqual(values[member]);
    // A seed that sets the first value again takes effect too.
    if (before === undefined || typeof before === 'object') return;
    await apply(directory, seed({ [member]: before }));
    expect((await stored(directory))?.[member]).toEqual(before);
  });

  test.each([
    ['client', { email: 'first' }, { email: 'all' }],
    ['client', { accessTokenType: 'jwt' }, { accessTokenType: 'reference' }],
    ['person', { attributes: { a: 1 } }, { attributes: { a: 2 } }],
    ['user', { externalIdentities: [{ idp: 'a', subject: 'a' }] }, { externalIdentities: [{ idp: 'b', subject: 'b' }] }],
  ] as const)('is not given to a %s if somebody else changed the member: %j', async (name, changed, said) => {
    await using built = await testDirectory();
    const { directory } = built;
    const { seed, stored, change } = kinds[name] as Kind;
    await apply(directory, seed({}));
    await change(directory, changed);
    await apply(directory, seed(said));
    expect(await stored(directory)).toMatchObject(changed);
  });

  test('is not given to a client that somebody else made with the default', async () => {
    await using built = await testDirectory();
    const { directory } = built;
    await apply(directory, inTenant({}));
    await directory.clients.create({ id: 'web', name: 'Web', requireConsent: false });
    const { seed, stored } = kinds.client as Kind;
    await apply(directory, seed({}));
    await apply(directory, seed({ requireConsent: true }));
    expect(await stored(directory)).toMatchObject({ requireConsent: false });
  });
});
