/**
 * M18: a `PATCH` repairs only the malformed parts that it writes with a value. Other malformed parts stay, and count as the most that they
 * may have been. The cases are generated over the resources of the admin API, the parts of a stored row of each, and invalid values.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';

type Stored = { readonly id: string; readonly version: number } & Readonly<Record<string, unknown>>;

const PRIVILEGE = 'idp.exports:read';
const lowScopes = adminScopes.filter((scope) => scope !== PRIVILEGE);
const directory = memoryDirectory();
const service = useIdp({
  directory,
  limits: { adminRequestsPerMinute: 1_000_000 },
  seed: {
    ...adminSeed,
    tenants: [...adminSeed.tenants, { name: 'Org', groups: [{ name: 'Privileged', permissions: [PRIVILEGE] }] }],
    clients: [...adminSeed.clients, adminClient('low', ['*'], lowScopes), adminClient('org', ['Org'], lowScopes)],
  } as never,
});
let root: AdminClient;
/** Client that administers all tenants, without the privilege. */
let low: AdminClient;
/** Client that administers one tenant, without the privilege. */
let ofOrg: AdminClient;
let tid = '';

beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  low = administer(service.issuer, await adminToken(service.issuer, 'low', lowScopes.join(' ')));
  ofOrg = administer(service.issuer, await adminToken(service.issuer, 'org', lowScopes.join(' ')));
  ({ Org: tid = '' } = await tenantIds(root));
});

const rowsOf = (name: string) => ({
  get: async (id: string) => (await directory.collection<Stored>(name).get(id)) as Stored,
  put: (row: object) => directory.collection<Stored>(name).put(row as Stored),
});
const created = async (path: string, body: object): Promise<Readonly<Record<string, unknown>> & { readonly id: string }> => {
  const { status, json } = await root.post(path, body);
  expect([path, status, status === 201 ? undefined : json]).toEqual([path, 201, undefined]);
  return json as never;
};
const idOf = async (path: string, body: object) => (await created(path, body)).id;
const redirects = { redirect_uris: ['https://a.test/'] };
const branding = { logoUri: 'https://a.test/logo.png', radius: 4 };

/** Resources. Each record is created with every optional member that a caller can write. */
const resources: readonly (readonly [string, string, () => Promise<string>])[] = [
  ['/permissions', 'permissions', () => idOf('/permissions', { id: `p:${randomUUID()}`, name: 'P', description: 'D' })],
  [
    '/clients',
    'clients',
    () =>
      idOf('/clients', {
        ...{
          id: randomUUID(),
          name: randomUUID(),
          metadata: redirects,
          allowedScopes: ['openid'],
          allowedTenants: [tid],
          adminTenants: [tid],
        },
        ...{ lifetimes: { accessToken: 60 }, corsOrigins: ['https://a.test'], styles: branding, requirePkce: true, requireConsent: true },
      }),
  ],
  [
    '/api-resources',
    'apiResources',
    () => idOf('/api-resources', { id: randomUUID(), name: 'A', scopes: [randomUUID()], allowedTenants: [tid] }),
  ],
  ['/tenants', 'tenants', () => idOf('/tenants', { name: randomUUID(), signIn: { requireMfa: true, methods: ['password'] }, branding })],
  ['/tenants/{tid}/groups', 'groups', () => idOf(`/tenants/${tid}/groups`, { name: randomUUID(), permissionIds: [PRIVILEGE] })],
  ['/tenants/{tid}/subsidiaries', 'subsidiaries', () => idOf(`/tenants/${tid}/subsidiaries`, { name: randomUUID() })],
  [
    '/tenants/{tid}/persons',
    'persons',
    () => {
      const address = `${randomUUID()}@a.test`;
      return idOf(`/tenants/${tid}/persons`, { givenName: 'O', email: address, attributes: { a: 'b' }, user: { userName: address } });
    },
  ],
];

type Path = readonly string[];
/** Returns the paths of the value's members, and of the members within them. */
const partsOf = (value: object, at: Path = []): readonly Path[] =>
  Object.entries(value).flatMap(([name, member]) => {
    const path = [...at, name];
    const isObject = typeof member === 'object' && member !== null && !(member instanceof Date);
    return [path, ...(isObject ? partsOf(member as object, path) : [])];
  });
const within = ([name = '', ...rest]: Path, value: unknown): unknown =>
  rest.length === 0 ? { [name]: value } : { [name]: within(rest, value) };
const withPart = <T>(value: T, [name = '', ...rest]: Path, part: unknown): T => {
  const members = value as Readonly<Record<string, unknown>>;
  const next = rest.length === 0 ? part : withPart(members[name], rest, part);
  return (Array.isArray(value) ? value.map((each, index) => (String(index) === name ? next : each)) : { ...members, [name]: next }) as T;
};

describe.each(resources)('M18: PATCH %s/{id}', (path, collection, create) => {
  test('leaves each malformed part that it does not write with a value', async () => {
    const rows = rowsOf(collection);
    const sound = await rows.get(await create());
    const ids = [sound.id, String((sound.user as Stored | undefined)?.id)];
    const urls = [`${path.replace('{tid}', tid)}/${ids[0]}`, ...(sound.user ? [`/tenants/${tid}/users/${ids[1]}`] : [])];
    let tried = 0;
    for (const part of partsOf(sound).filter(([name]) => !['id', 'version', 'tid'].includes(name as string)))
      for (const value of [42, [null]]) {
        const put = await rows.put(withPart(sound, part, value)).then(
          () => true,
          () => false,
        );
        const [url = ''] = urls;
        if (!put || (await root(url)).status !== 409) continue;
        const damaged = await rows.get(sound.id);
        const nameOfUser = part[0] === 'user' ? part.slice(1) : part;
        const bodies = [{}, within(part, null), within(part, {}), { metadata: {} }, { signIn: {} }, { lifetimes: {} }];
        const ofUser = nameOfUser.length > 0 ? [within(nameOfUser, null), within(nameOfUser, {})] : [];
        for (const each of urls)
          for (const body of [...bodies, ...ofUser]) {
            // The form refuses some bodies. A user whose look-up is malformed is not found.
            const { status } = await root.patch(each, body);
            expect([part, value, body, [404, 409, 422].includes(status) || status]).toEqual([part, value, body, true]);
            expect([part, value, body, await rows.get(sound.id)]).toEqual([part, value, body, damaged]);
          }
        expect((await root.patch(url, {})).json).toMatchObject({ code: 'record_unreadable' });
        tried += 1;
      }
    await rows.put(sound);
    expect(tried).toBeGreaterThan(5);
  }, 60_000);
});

/** Members that a `PATCH` can write, with a value of the same form. */
const repairs: Readonly<Record<string, (sound: Stored) => readonly (readonly [string, unknown])[]>> = {
  tenants: (sound) => ['name', 'signIn'].map((name) => [name, sound[name]]),
  persons: () => [['givenName', 'Third']],
};

describe.each(resources)('X-1: PATCH %s/{id} of a record that broke since it was read', (path, collection, create) => {
  const repairsOf = repairs[collection] ?? (() => [['name', 'Third']] as const);

  test('repairs it, with the first request', async () => {
    const rows = rowsOf(collection);
    for (const bad of [5, [null]])
      for (const [name, value] of repairsOf(await rows.get(await create()))) {
        const sound = await rows.get(await create());
        const url = `${path.replace('{tid}', tid)}/${sound.id}`;
        const written = name === 'name' ? randomUUID() : value;
        expect((await root(url)).status).toBe(200);
        await rows.put({ ...(await rows.get(sound.id)), [name]: bad });
        expect([name, bad, (await root.patch(url, { [name]: written })).status]).toEqual([name, bad, 200]);
        expect((await root(url)).json[name]).toEqual(written);
      }
  });

  test('says what is malformed if the request does not write it, and again when retried', async () => {
    const rows = rowsOf(collection);
    const sound = await rows.get(await create());
    const url = `${path.replace('{tid}', tid)}/${sound.id}`;
    expect((await root(url)).status).toBe(200);
    await rows.put({ ...sound, createdAt: 5 });
    for (const _ of [1, 2]) {
      const { status, json } = await root.patch(url, { [collection === 'persons' ? 'givenName' : 'name']: randomUUID() });
      expect([status, json.code, json.errors?.[0].pointer]).toEqual([409, 'record_unreadable', '/createdAt']);
    }
    expect((await root(url)).status).toBe(409);
    await rows.put({ ...sound, version: (await rows.get(sound.id)).version });
  });
});

describe('M18: a malformed voucher', () => {
  const persons = rowsOf('persons');

  test.each([[5], [null], [{ by: 'no such' }], ['privileges'], [{ by: 'tenant', tids: 5 }]])(
    '%j covers nothing, and stays until somebody confirms',
    async (given) => {
      const groups = (await root(`/tenants/${tid}/groups?limit=200`)).json.items as { id: string; name: string }[];
      const group = groups.find(({ name }) => name === 'Privileged')?.id;
      const { id, user } = await created(`/tenants/${tid}/persons`, { givenName: 'P', user: { userName: randomUUID() } });
      const url = `/tenants/${tid}/users/${(user as Stored).id}`;
      const identities = [{ idp: 'evil', subject: randomUUID() }];
      expect((await ofOrg.patch(url, { externalIdentities: identities })).status).toBe(200);
      const row = await persons.get(id);
      const vouchedBy = given === 'privileges' ? { by: 'no such', tids: [tid], permissionIds: [PRIVILEGE] } : given;
      await persons.put(withPart(row, ['user', 'externalIdentities', '0', 'vouchedBy'], vouchedBy));
      for (const body of [{}, { emailVerified: false }, { externalIdentities: null }])
        expect((await root.patch(url, body)).status).not.toBe(200);
      // Written with a value, the list is readable. The identity is the former one, so nobody has vouched for it.
      expect((await root.patch(url, { externalIdentities: identities })).status).toBe(200);
      const refused = await root.post(`${url}/groups`, { ids: [group] });
      expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
      expect((await root.post(`${url}/groups`, { ids: [group], confirm: true })).status).toBe(200);
    },
  );

  test('of a client stays, whatever is written', async () => {
    const id = await idOf('/clients', { id: randomUUID(), name: 'C', metadata: redirects });
    const clients = rowsOf('clients');
    await clients.put({ ...(await clients.get(id)), vouchedBy: 5 });
    for (const body of [{}, { name: 'D' }, { metadata: { redirect_uris: ['https://b.test/'] } }, { confirm: true }])
      expect((await root.patch(`/clients/${id}`, body)).json).toMatchObject({
        code: 'record_unreadable',
        errors: [{ pointer: '/vouchedBy' }],
      });
    expect(await clients.get(id)).toMatchObject({ vouchedBy: 5 });
  });
});

describe('M18: an unreadable client', () => {
  const clients = rowsOf('clients');
  const damaged = async (allowedScopes: readonly string[], members: object) => {
    const id = await idOf('/clients', { id: randomUUID(), name: 'C', metadata: { grant_types: ['client_credentials'] }, allowedScopes });
    await clients.put({ ...(await clients.get(id)), ...members });
    return `/clients/${id}`;
  };

  test.each([
    ['a scope that the caller does not hold', [PRIVILEGE], { name: 5 }],
    ['scopes that cannot be read', ['openid'], { allowedScopes: 5 }],
    ['a scope that cannot be read', ['openid'], { allowedScopes: ['openid', 5] }],
  ])('with %s is removed and changed only by callers that hold every such scope', async (_, scopes, members) => {
    const url = await damaged(scopes, members);
    const fix = 'name' in members ? { name: 'D' } : { allowedScopes: ['openid'] };
    for (const answer of [await low.remove(url), await low.patch(url, fix)])
      expect([answer.status, answer.json.code]).toEqual([403, 'grant_exceeds_own']);
    expect((await root.patch(url, fix)).status).toBe(200);
    const again = await damaged(scopes, members);
    expect((await root.remove(again)).status).toBe(204);
  });

  test('with a trust that cannot be read is changed only by callers that may trust', async () => {
    const url = await damaged(['openid'], { trustedLoginHint: 'perhaps' });
    expect((await low.patch(url, { trustedLoginHint: false })).json.code).toBe('grant_exceeds_own');
    expect((await root.patch(url, { trustedLoginHint: false })).status).toBe(200);
  });

  test('that gives nothing beyond the caller is removed by the caller', async () => {
    expect((await low.remove(await damaged(['openid'], { name: 5 }))).status).toBe(204);
  });
});
