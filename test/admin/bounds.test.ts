/** T3-DOS-GROUPNAMES, -GROUPIDS, -PERMS, -HOOKS: lists of a request are bounded and read together; a record that has more keeps them. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const memory = memoryDirectory();
let reads = 0;
/** Counts reads of groups and permissions. */
const directory = Object.assign(Object.create(memory) as DirectoryStore, {
  collection<R extends Row>(name: string): Collection<R> {
    const rows = memory.collection<R>(name);
    if (name !== 'groups' && name !== 'permissions') return rows;
    const calls = ['get', 'find', 'range'];
    return new Proxy(rows, {
      get(target, member) {
        const value = Reflect.get(target, member) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (calls.includes(String(member))) reads += 1;
          return value.apply(target, args) as unknown;
        };
      },
    });
  },
});
const service = useIdp({
  directory,
  seed: adminSeed,
  keys: { encryption: ['what the keys are encrypted with in this test'] },
  limits: { adminRequestsPerMinute: 100_000 },
});
let root: AdminClient;
let acme: AdminClient;
let tid: string;
let user: Json;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  acme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  tid = (await tenantIds(root)).Acme ?? '';
  user = (await root(`/tenants/${tid}/users?limit=1`)).json.items[0];
  // The groups skip the admin API, because there are many.
  const [like] = await memory.collection<Row>('groups').find({ byTenant: [tid] });
  for (let index = 0; index < 1000; index += 1)
    await memory.collection<Row>('groups').insert({ ...like, id: crypto.randomUUID(), name: `G${index}`, permissionIds: [] } as never);
});

const names = (count: number) => Array.from({ length: count }, (_, index) => `G${index}`);
const ids = (count: number) => Array.from({ length: count }, () => crypto.randomUUID());
const permissions = (count: number) => Array.from({ length: count }, (_, index) => `permission.${index}`);
const identities = (count: number) => Array.from({ length: count }, (_, index) => ({ idp: 'up', subject: `s${index}` }));
let made = 0;
const person = (more: object) => {
  made += 1;
  return { givenName: 'A', familyName: 'B', email: `bound-${made}@acme.test`, user: { userName: `bound-${made}@acme.test`, ...more } };
};

/** Operations with a bounded list. Each sends a body with the given number of entries. */
const lists: readonly (readonly [name: string, most: number, send: (client: AdminClient, count: number) => ReturnType<AdminClient>])[] = [
  ...(['PUT', 'POST', 'DELETE'] as const).flatMap((method) =>
    [['names', names] as const, ['ids', ids] as const].map(
      ([member, of]) =>
        [
          `${member} of ${method} groups of a user`,
          1000,
          (client: AdminClient, count: number) =>
            client(`/tenants/${tid}/users/${user.id}/groups`, { method, body: { [member]: of(count) } }),
        ] as const,
    ),
  ),
  [
    'groups.names of a new person',
    1000,
    (client, count) => client.post(`/tenants/${tid}/persons`, person({ groups: { names: names(count) } })),
  ],
  ['groups.ids of a new person', 1000, (client, count) => client.post(`/tenants/${tid}/persons`, person({ groups: { ids: ids(count) } }))],
  [
    'permissionIds of a new group',
    1000,
    (client, count) => client.post(`/tenants/${tid}/groups`, { name: `New ${count}`, permissionIds: permissions(count) }),
  ],
  [
    'permissionIds of a group',
    1000,
    async (client, count) => {
      const { json } = await root(`/tenants/${tid}/groups?limit=1`);
      return client.patch(`/tenants/${tid}/groups/${json.items[0].id}`, { permissionIds: permissions(count) });
    },
  ],
  [
    'externalIdentities of a user',
    100,
    (client, count) => client.patch(`/tenants/${tid}/users/${user.id}`, { externalIdentities: identities(count) }),
  ],
  [
    'externalIdentities of a new person',
    100,
    (client, count) => client.post(`/tenants/${tid}/persons`, person({ externalIdentities: identities(count) })),
  ],
];

describe.each(lists)('T3-DOS: %s', (_name, most, send) => {
  test.each(['root', 'acme'])('may have that many by %s, in few reads, and no more', async (who) => {
    const client = who === 'root' ? root : acme;
    reads = 0;
    const answer = await send(client, most);
    expect([200, 201, 403, 422]).toContain(answer.status);
    expect(answer.json.code ?? 'taken').not.toBe('invalid_record');
    expect(reads).toBeLessThan(40);
    reads = 0;
    const refused = await send(client, most + 1);
    expect([refused.status, refused.json.code]).toEqual([422, 'invalid_record']);
    expect(reads).toBeLessThan(10);
  });
});

test('a group and a user that have more keep them when another member changes', async () => {
  const { json: group } = await root.post(`/tenants/${tid}/groups`, { name: 'Large' });
  await memory.collection<Row>('groups').update(group.id, (row) => ({ ...row, permissionIds: permissions(1500) }));
  const changed = await root.patch(`/tenants/${tid}/groups/${group.id}`, { name: 'Larger' });
  expect([changed.status, changed.json.permissionIds.length]).toEqual([200, 1500]);
  expect((await root(`/tenants/${tid}/groups/${group.id}`)).json.permissionIds).toHaveLength(1500);

  const { id: personId, user: of } = (await root.post(`/tenants/${tid}/persons`, person({}))).json;
  const many = identities(150);
  await memory.collection<Row>('persons').update(personId, (row) => ({
    ...row,
    user: {
      ...(row as Json).user,
      externalIdentities: many,
      externalIdentityKeys: many.map(({ idp, subject }) => JSON.stringify([idp, subject])),
    },
  }));
  const answer = await root.patch(`/tenants/${tid}/users/${of.id}`, { userName: 'many@acme.test' });
  expect([answer.status, answer.json.externalIdentities.length]).toEqual([200, 150]);
});

describe('T3-DOS-HOOKS: webhooks', () => {
  const hook = (more: object = {}) => ({ url: 'https://hooks.example/x', ...more });
  test('of a tenant are 20 at most, also when many are created at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => acme.post(`/tenants/${tid}/webhooks`, hook())));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 422]));
    const all = async () => (await root(`/tenants/${tid}/webhooks?limit=200`)).json.items as Json[];
    expect((await all()).length).toBeLessThanOrEqual(20);
    while ((await all()).length < 20) expect((await acme.post(`/tenants/${tid}/webhooks`, hook())).status).toBe(201);
    expect((await root.post(`/tenants/${tid}/webhooks`, hook())).status).toBe(422);
    const [first] = await all();
    expect((await acme.patch(`/tenants/${tid}/webhooks/${first?.id}`, { description: 'changed' })).status).toBe(200);
    expect((await acme.remove(`/tenants/${tid}/webhooks/${first?.id}`)).status).toBe(204);
    expect((await acme.post(`/tenants/${tid}/webhooks`, hook())).status).toBe(201);
  });

  test('are of types that exist', async () => {
    const refused = await root.post('/webhooks', hook({ types: ['UserCreated', 'UserCreatd'] }));
    expect([refused.status, refused.json.errors]).toMatchObject([422, [{ pointer: '/types/1' }]]);
    const { json } = await root.post('/webhooks', hook({ types: ['UserCreated', 'WebhookCreated', 'ImpersonationStarted'] }));
    expect((await root.patch(`/webhooks/${json.id}`, { types: ['Nothing'] })).status).toBe(422);
    await memory.collection<Row>('events.webhooks').update(json.id, (row) => ({ ...row, types: ['GoneWithAnExtension'] }));
    expect((await root.patch(`/webhooks/${json.id}`, { description: 'another member' })).status).toBe(200);
  });
});

describe('openapi.json', () => {
  const url = () => `${service.issuer}/idp/api/v1/openapi.json`;
  test('has a validator that stays, and is answered 304 to who has it', async () => {
    const first = await fetch(url());
    const etag = first.headers.get('etag') ?? '';
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    const text = await first.text();
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await fetch(url(), { headers: { 'if-none-match': condition } });
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    }
    const other = await fetch(url(), { headers: { 'if-none-match': '"x"' } });
    expect([other.status, other.headers.get('etag'), await other.text()]).toEqual([200, etag, text]);
    expect((await fetch(url(), { method: 'HEAD' })).headers.get('etag')).toBe(etag);
  });
});
