/**
 * M18: the API names a record that cannot be read. The record can be removed, or repaired by writing its malformed members. The cases are
 * generated over the resources of the admin API, the members of a stored row of each, and invalid values.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';

type Stored = { readonly id: string; readonly version: number } & Record<string, unknown>;

const directory = memoryDirectory();
const service = useIdp({ directory, limits: { adminRequestsPerMinute: 1_000_000 }, seed: adminSeed as never });
let admin: AdminClient;
/** Client that administers only Acme. */
let ofAcme: AdminClient;
let tid = '';

beforeAll(async () => {
  admin = administer(service.issuer, await adminToken(service.issuer, 'root'));
  ofAcme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  ({ Acme: tid = '' } = await tenantIds(admin));
});

const secretOf = 'SECRET-OF-THE-ROW';
const values: readonly unknown[] = [
  undefined,
  null,
  42,
  [secretOf, null],
  { [secretOf]: null },
  secretOf,
  `${secretOf}${'x'.repeat(70_000)}`,
];

const short = (value: unknown) => String(JSON.stringify(value)).slice(0, 40);

interface Resource {
  readonly path: string;
  readonly collection: string;
  readonly create: () => Promise<string>;
  /** Values that repair the members, by the member's name in the stored row. */
  readonly repair: Readonly<Record<string, unknown>>;
}
let made = 0;
const created = async (path: string, body: object): Promise<string> => {
  const { status, json } = await admin.post(path, body);
  expect([path, status, status === 201 ? undefined : json]).toEqual([path, 201, undefined]);
  return json.id as string;
};
const count = (): number => {
  made += 1;
  return made;
};
const next = () => `Record ${count()}`;
const personOf = async () =>
  created(`/tenants/${tid}/persons`, {
    ...{ givenName: 'Ola', familyName: 'Nordmann', email: `u${count()}@acme.test`, phoneNumber: '+4722222222', attributes: { a: 'b' } },
    user: { userName: `user${made}` },
  });
const resources: readonly Resource[] = [
  {
    path: '/permissions',
    collection: 'permissions',
    create: () => created('/permissions', { id: `p:${count()}`, name: next() }),
    repair: { name: 'New' },
  },
  {
    ...{
      path: '/clients',
      collection: 'clients',
      create: () => created('/clients', { id: `client${count()}`, name: next(), metadata: { redirect_uris: ['https://a.test/'] } }),
    },
    repair: {
      name: 'New',
      allowedScopes: ['openid'],
      metadata: { redirect_uris: ['https://b.test/'] },
      corsOrigins: [],
      lifetimes: { accessToken: 60 },
    },
  },
  {
    path: '/api-resources',
    collection: 'apiResources',
    create: () => created('/api-resources', { id: `api${count()}`, name: next(), scopes: [`s${made}`] }),
    repair: { name: 'New' },
  },
  { path: '/tenants', collection: 'tenants', create: () => created('/tenants', { name: next() }), repair: { name: `New tenant` } },
  {
    path: '/tenants/{tid}/groups',
    collection: 'groups',
    create: () => created(`/tenants/${tid}/groups`, { name: next() }),
    repair: { name: 'New', permissionIds: [] },
  },
  {
    path: '/tenants/{tid}/subsidiaries',
    collection: 'subsidiaries',
    create: () => created(`/tenants/${tid}/subsidiaries`, { name: next() }),
    repair: { name: 'New' },
  },
  {
    ...{ path: '/tenants/{tid}/persons', collection: 'persons', create: personOf },
    repair: { givenName: 'Kari', familyName: 'Hansen', email: 'new@acme.test', phoneNumber: '+4733333333', attributes: { c: 'd' } },
  },
  {
    path: '/webhooks',
    collection: 'events.webhooks',
    create: () => created('/webhooks', { url: 'https://93.184.216.34/hook' }),
    repair: {},
  },
  {
    ...{ path: '/connections', collection: 'connections.connections', repair: {} },
    create: () =>
      created('/connections', {
        name: next(),
        issuer: 'https://93.184.216.34',
        clientId: 'c',
        clientSecret: 's'.repeat(40),
      } as never),
  },
];

/** Returns the collection, which the service opens when it starts. */
const rowsOf = (name: string) => ({
  get: (id: string) => directory.collection<Stored>(name).get(id),
  put: (row: Stored) => directory.collection<Stored>(name).put(row),
});
const put = (rows: ReturnType<typeof rowsOf>, row: Stored, member: string, value: unknown) =>
  rows.put({ ...row, [member]: value }).then(
    () => true,
    () => false,
  );
const pointersOf = ({ json }: { json: Record<string, unknown> }) =>
  ((json.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer);

describe.each(resources.map((resource) => [resource.path, resource] as const))('M18: %s/{id}', (path, { collection, create, repair }) => {
  const rows = rowsOf(collection);
  const urlOf = (id: string) => `${path.replace('{tid}', tid)}/${id}`;

  test('each malformed member is named, and no value of it; the record can be repaired, and removed', async () => {
    let unreadable = 0;
    let repaired = 0;
    const members = Object.keys((await rows.get(await create())) as Stored).filter((name) => !['id', 'version'].includes(name));
    for (const member of members)
      for (const value of values) {
        const id = await create();
        const row = (await rows.get(id)) as Stored;
        if (!(await put(rows, row, member, value))) continue;
        const read = await admin(urlOf(id));
        // A text may be the id of another tenant.
        const others = member === 'tid' && typeof value === 'string' ? [200, 404] : [200];
        expect([member, short(value), read.status]).toEqual([member, short(value), others.includes(read.status) ? read.status : 409]);
        if (read.status !== 409) continue;
        unreadable += 1;
        expect([read.json.code, pointersOf(read)[0]?.split('/')[1]]).toEqual(['record_unreadable', member]);
        expect(JSON.stringify(read.json)).not.toContain(secretOf);
        if (member in repair) {
          const changed = await admin.patch(urlOf(id), { [member]: repair[member] });
          expect([member, short(value), changed.status, changed.status === 200 ? undefined : changed.json]).toEqual([
            member,
            short(value),
            200,
            undefined,
          ]);
          expect((await admin(urlOf(id))).json).toMatchObject({ [member]: repair[member] });
          repaired += 1;
          await put(rows, (await rows.get(id)) as Stored, member, value);
        } else if (path !== '/webhooks' && path !== '/connections') {
          const other = await admin.patch(urlOf(id), Object.fromEntries(Object.entries(repair).slice(0, 1)));
          expect([member, other.status]).toEqual([member, 409]);
        }
        const removed = await admin.remove(urlOf(id));
        expect([member, short(value), removed.status, removed.status === 204 ? undefined : removed.json]).toEqual([
          member,
          short(value),
          204,
          undefined,
        ]);
        expect((await admin(urlOf(id))).status).toBe(404);
      }
    expect(unreadable).toBeGreaterThan(members.length);
    if (Object.keys(repair).length > 0) expect(repaired).toBeGreaterThan(1);
  });
});

describe('M18: administrators of one tenant', () => {
  const subsidiaries = rowsOf('subsidiaries');
  const groups = rowsOf('groups');
  const broken = async (rows: typeof subsidiaries, id: string, members: object) => {
    await rows.put({ ...((await rows.get(id)) as Stored), ...members });
    return id;
  };

  test('see, repair and remove unreadable records of their tenant that give nothing', async () => {
    const id = await broken(subsidiaries, await created(`/tenants/${tid}/subsidiaries`, { name: next() }), { name: 5 });
    const url = `/tenants/${tid}/subsidiaries/${id}`;
    expect([(await ofAcme(url)).json.code, pointersOf(await ofAcme(url))]).toEqual(['record_unreadable', ['/name']]);
    expect((await ofAcme.patch(url, { name: 'Repaired' })).json).toMatchObject({ id, name: 'Repaired' });
    await broken(subsidiaries, id, { name: 5 });
    expect((await ofAcme.remove(url)).status).toBe(204);
    expect((await ofAcme(url)).status).toBe(404);
  });

  test('do not change records whose malformed member may have given privileges', async () => {
    const id = await broken(groups, await created(`/tenants/${tid}/groups`, { name: next() }), { permissionIds: 5 });
    const url = `/tenants/${tid}/groups/${id}`;
    expect((await ofAcme(url)).json.code).toBe('record_unreadable');
    expect((await ofAcme.patch(url, { permissionIds: [] })).json.code).toBe('all_tenants_required');
    expect((await ofAcme.remove(url)).json.code).toBe('all_tenants_required');
    expect((await admin.remove(url)).status).toBe(204);
  });

  test('know nothing of records of other tenants, nor of records whose tenant cannot be read', async () => {
    const { Globex: other = '' } = await tenantIds(admin);
    const foreign = await broken(subsidiaries, await created(`/tenants/${other}/subsidiaries`, { name: next() }), { name: 5 });
    const nobodys = await broken(subsidiaries, await created(`/tenants/${tid}/subsidiaries`, { name: next() }), { tid: 5 });
    for (const id of [foreign, nobodys])
      for (const url of [`/tenants/${tid}/subsidiaries/${id}`, `/tenants/${other}/subsidiaries/${id}`]) {
        const answers = [await ofAcme(url), await ofAcme.patch(url, { name: 'Mine' }), await ofAcme.remove(url)];
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
      }
    expect((await admin(`/tenants/${tid}/subsidiaries/${nobodys}`)).json.code).toBe('record_unreadable');
    expect((await admin.remove(`/tenants/${tid}/subsidiaries/${nobodys}`)).status).toBe(204);
  });
});

describe('M18: a user within an unreadable person', () => {
  const persons = rowsOf('persons');
  const malformed = async (members: object) => {
    const id = await personOf();
    const row = (await persons.get(id)) as Stored & { user: { id: string } };
    await persons.put({ ...row, user: { ...row.user, ...members } });
    return { id, row, person: `/tenants/${tid}/persons/${id}`, user: `/tenants/${tid}/users/${row.user.id}` };
  };

  test.each(['disable', 'enable', 'sign-out', 'groups', 'links', 'sessions', 'factors'])('%s says what is malformed', async (sub) => {
    const { user } = await malformed({ groupIds: ['a', 5] });
    const answer = await admin(`${user}/${sub}`, { method: ['groups', 'links', 'sessions', 'factors'].includes(sub) ? 'GET' : 'POST' });
    expect([answer.json.code, pointersOf(answer)]).toEqual(['record_unreadable', ['/user/groupIds/1']]);
  });

  test('a malformed user name is written anew, and the rest stays', async () => {
    const { user, id, row } = await malformed({ userName: 5 });
    const { status, json } = await admin.patch(user, { userName: `repaired${id}` });
    expect([status, json.userName]).toEqual([200, `repaired${id}`]);
    expect(await persons.get(id)).toMatchObject({ email: row.email, user: { id: row.user.id, groupIds: [] } });
  });

  test('the user is removed, and the person stays and is readable', async () => {
    const { user, person, row } = await malformed({ emailVerified: 'perhaps' });
    expect((await admin.remove(user)).status).toBe(204);
    expect((await admin(person)).json).toMatchObject({ givenName: row.givenName, email: row.email });
  });

  test('the person is removed with the password, and the address and the user name are free', async () => {
    const { person, id, row } = await malformed({ status: 'no such status', externalIdentityKeys: 7 });
    const credentials = rowsOf('credentials');
    const now = new Date();
    await credentials.put({ id: row.user.id, passwordHash: 'x', createdAt: now, updatedAt: now } as never);
    expect((await admin.remove(person)).status).toBe(204);
    expect([await credentials.get(row.user.id), (await admin(person)).status]).toEqual([undefined, 404]);
    const again = await admin.post(`/tenants/${tid}/persons`, {
      givenName: 'A',
      user: { userName: (row.user as never as { userName: string }).userName },
    });
    expect([again.status, again.json.id === id]).toEqual([201, false]);
  });
});
