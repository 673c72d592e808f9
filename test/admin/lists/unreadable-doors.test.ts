/**
 * M18: doors to records that are damaged beyond their members: invitations, factors, members of a later release, references to missing
 * records.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminToken } from '../../support/administration/admin.js';
import { type ListedRecords, type StoredRow, useListedWorld } from '../../support/administration/listed-world.js';
import { Agent, titleOf } from '../../support/client/agent.js';
import { until } from '../../support/time/until.js';

const world = useListedWorld();
let root: AdminClient;
let ofAcme: AdminClient;
let records: ListedRecords;
let tenant = '';
beforeAll(async () => {
  root = await world.root();
  ofAcme = administer(world.issuer, await adminToken(world.issuer, 'acme'));
  records = await world.fill();
  tenant = `/tenants/${records.tid}`;
});

const rowsOf = (name: string) => world.directory.collection<StoredRow>(name);
const broken = async (name: string, id: string, members: object): Promise<StoredRow> => {
  const row = (await rowsOf(name).get(id)) as StoredRow;
  await rowsOf(name).put({ ...row, ...members });
  return row;
};
const said = ({ status, json }: { status: number; json: Record<string, unknown> }) => [
  status,
  json.code,
  ((json.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer),
];
/** Creates another invited user of Acme. */
const invited = async () => {
  const name = randomUUID();
  const { id, user } = (await root.post(`${tenant}/persons`, { givenName: 'I', user: { userName: name } })).json;
  const invitation = (await root.post(`${tenant}/invitations`, { userId: user.id, send: false })).json.id as string;
  return { person: String(id), user: String(user.id), invitation, url: `${tenant}/invitations/${invitation}` };
};

describe('X-3: the link of an invitation whose', () => {
  test.each([
    ['person does not exist', () => ({ personId: randomUUID() })],
    ['user does not exist', () => ({ userId: randomUUID() })],
    ['user is another person', () => ({ userId: records.user })],
    ['person has another user', () => ({ personId: records.person })],
  ])('%s does not work, and the invitation is removed', async (_, members) => {
    const { person, invitation, url } = await invited();
    const link = String((await root(`${url}/link`)).json.url);
    const agent = new Agent();
    const page = await agent.get(link);
    expect([page.status, page.body.includes('type="password"')]).toEqual([200, true]);
    await broken('invitations', invitation, members());
    const dead = [404, 'This link does not work'];
    for (const answer of [
      await new Agent().get(link),
      await agent.follow(await agent.submit(page, { password: 'a password that is long' })),
    ])
      expect([answer.status, titleOf(answer)]).toEqual(dead);
    expect((await rowsOf('persons').get(person))?.user).toMatchObject({ status: 'invited' });
    for (const answer of [await ofAcme(url), await ofAcme.post(`${url}/revoke`)]) expect(answer.status).toBe(409);
    expect((await ofAcme.remove(url)).status).toBe(204);
    expect(titleOf(await new Agent().get(link))).toBe(dead[1]);
  });
});

describe('M18: an invitation that cannot be read', () => {
  const damages: Readonly<Record<string, object>> = {
    status: { status: 5 },
    personId: { personId: 5 },
    userId: { userId: null },
    expiresAt: { expiresAt: 'soon' },
  };

  test.each(Object.keys(damages))(
    'with a bad %s says so at each door, and is removed by an administrator of its tenant',
    async (member) => {
      const { invitation, url, user } = await invited();
      const { url: link } = (await root(`${url}/link`)).json;
      await broken('invitations', invitation, damages[member] as object);
      for (const [path, method] of [
        ['', 'GET'],
        ['/link', 'GET'],
        ['/resend', 'POST'],
        ['/revoke', 'POST'],
      ] as const)
        expect([path, ...said(await ofAcme(url + path, { method }))]).toEqual([path, 409, 'record_unreadable', [`/${member}`]]);
      const { unreadable } = (await ofAcme(`${tenant}/invitations?limit=200`)).json;
      expect(unreadable).toContainEqual({ id: invitation, path: `/${member}` });
      expect((await ofAcme.remove(url)).status).toBe(204);
      expect([(await root(url)).status, await rowsOf('invitations').get(invitation)]).toEqual([404, undefined]);
      expect((await fetch(link)).status).toBeLessThan(500);
      expect((await root.post(`${tenant}/invitations`, { userId: user, send: false })).status).toBe(201);
    },
  );

  test.each([
    ['person', '/personId', { personId: randomUUID() }],
    ['user', '/userId', { userId: randomUUID() }],
  ])('whose %s does not exist is named with the reference, and removed', async (_, path, members) => {
    const { invitation, url } = await invited();
    await broken('invitations', invitation, members);
    expect(said(await ofAcme(url))).toEqual([409, 'record_unreadable', [path]]);
    expect((await ofAcme(`${tenant}/invitations?limit=200`)).json.unreadable).toContainEqual({ id: invitation, path });
    expect((await ofAcme.remove(url)).status).toBe(204);
    expect((await root(url)).status).toBe(404);
  });

  test('whose person cannot be read is named with the reference at each door, and works again after the repair', async () => {
    const { invitation, url, person } = await invited();
    const row = await broken('persons', person, { attributes: 5 });
    const doors = [
      ['', 'GET'],
      ['/link', 'GET'],
      ['/resend', 'POST'],
      ['/revoke', 'POST'],
    ] as const;
    for (const [path, method] of doors)
      expect([path, ...said(await ofAcme(url + path, { method }))]).toEqual([path, 409, 'record_unreadable', ['/personId']]);
    expect((await ofAcme(`${tenant}/invitations?limit=200`)).json.unreadable).toContainEqual({ id: invitation, path: '/personId' });
    await rowsOf('persons').put(row);
    expect((await ofAcme(url)).json).toMatchObject({ id: invitation, status: 'pending' });
    const { url: link } = (await root(`${url}/link`)).json;
    expect(await (await fetch(link)).text()).toContain('name="password"');
    await broken('persons', person, { attributes: 5 });
    expect((await ofAcme.remove(url)).status).toBe(204);
    await rowsOf('persons').put(row);
    expect(await (await fetch(link)).text()).not.toContain('name="password"');
  });

  test('a sound one that waits is revoked, so that its link opens nothing, and then removed', async () => {
    const { person, url, invitation } = await invited();
    expect((await ofAcme.remove(url)).status).toBe(204);
    expect([(await root(url)).status, (await rowsOf('persons').get(person))?.user]).toEqual([
      404,
      expect.not.objectContaining({ invitation }),
    ]);
    expect((await ofAcme.remove(url)).status).toBe(404);
  });

  test('of another tenant is unknown', async () => {
    const { invitation } = await invited();
    await broken('invitations', invitation, { status: 5, tid: randomUUID() });
    expect((await ofAcme.remove(`${tenant}/invitations/${invitation}`)).status).toBe(404);
  });
});

test('M18: a factor that names no user is removed by a caller of all tenants alone', async () => {
  const [factor] = await rowsOf('factors.enrolled').find({});
  const url = `${tenant}/users/${records.user}/factors/${factor?.id}`;
  await broken('factors.enrolled', String(factor?.id), { userId: 5, personId: 5 });
  expect(said(await ofAcme.remove(url))).toEqual([409, 'record_unreadable', ['/userId']]);
  expect((await root.remove(url)).status).toBe(204);
  expect((await root.remove(url)).status).toBe(404);
});

describe('M18: a member that a later release stored within a member', () => {
  const damages: readonly (readonly [path: () => string, collection: string, id: () => string, members: object, patch: object])[] = [
    [() => '/clients/web', 'clients', () => 'web', { lifetimes: { other: 1 } }, { lifetimes: { accessToken: 60 } }],
    [() => tenant, 'tenants', () => records.tid, { signIn: { other: 1 }, branding: { radius: 4, other: 1 } }, { branding: { radius: 5 } }],
  ];

  test.each(damages)(
    '%s: is left out of answers, stays through other changes, and goes with a write of its member',
    async (at, name, id, members, patch) => {
      await broken(name, id(), members);
      const [[member = '']] = Object.entries(patch) as [[string, unknown]];
      const read = await until(
        () => root(at()),
        ({ text }) => text.includes(member),
      );
      expect([read.status, read.text.includes('other')]).toEqual([200, false]);
      expect((await root.patch(at(), { name: `Renamed ${name}` })).status).toBe(200);
      expect((await rowsOf(name).get(id()))?.[member]).toHaveProperty('other');
      expect((await root.patch(at(), patch)).json).toMatchObject(patch);
      expect((await rowsOf(name).get(id()))?.[member]).not.toHaveProperty('other');
    },
  );
});

describe('M18: the line of the log', () => {
  const linesOf = (message: string, id: string) =>
    world.logged.filter(([fields, text]) => text.startsWith(message) && JSON.stringify(fields).includes(id)).length;

  test('of an unreadable record comes again after a repair and another break, by the API or in the store', async () => {
    const url = `${tenant}/subsidiaries/${records.subsidiary}`;
    const times = () => linesOf('a stored record is malformed', records.subsidiary);
    const [row] = [await broken('subsidiaries', records.subsidiary, { name: 5 })];
    for (let read = 0; read < 3; read += 1) await root(url);
    expect(times()).toBe(1);
    expect((await root.patch(url, { name: 'Repaired' })).status).toBe(200);
    await broken('subsidiaries', records.subsidiary, { name: 5 });
    for (let read = 0; read < 3; read += 1) await root(url);
    expect(times()).toBe(2);
    await rowsOf('subsidiaries').put(row);
    await root(url);
    await broken('subsidiaries', records.subsidiary, { name: 5 });
    await root(url);
    expect(times()).toBe(3);
    await rowsOf('subsidiaries').put(row);
  });

  test('of an item that a list cannot carry comes again after the list carried it', async () => {
    const { user: _, ...rest } = await broken('persons', records.person, {});
    const whole = (await rowsOf('persons').get(records.person)) as StoredRow;
    for (let round = 1; round <= 2; round += 1) {
      await rowsOf('persons').put(rest as StoredRow);
      for (let read = 0; read < 2; read += 1) await root(`${tenant}/users`);
      expect(linesOf('a list left out', records.person)).toBe(round);
      await rowsOf('persons').put(whole);
      await root(`${tenant}/users`);
    }
  });
});

describe('a linked account whose parent does not exist', () => {
  test('is read and listed, cannot sign in, and is unlinked by a caller of all tenants', async () => {
    const gone = randomUUID();
    const { person, user } = await invited();
    const row = (await rowsOf('persons').get(person)) as StoredRow & { user: object };
    await rowsOf('persons').put({ ...row, user: { ...row.user, status: 'active', parentUserId: gone }, isLinked: 'yes' });
    const url = `${tenant}/users/${user}`;
    expect((await root(url)).json).toMatchObject({ id: user, sub: gone, parentUserId: gone });
    expect((await root(`${url}/links`)).json).toEqual({ parent: { userId: gone }, children: [] });
    expect((await root(`${tenant}/users?limit=200`)).json.items).toContainEqual(expect.objectContaining({ id: user }));
    const account = await world.idp.directory.accounts.findByOid(user);
    expect([account?.person.user.id, account?.owner]).toEqual([user, undefined]);
    expect((await ofAcme.remove(`${url}/link/${gone}`)).status).toBe(404);
    expect((await root.remove(`${url}/link/${gone}`)).json).toMatchObject({ id: user, sub: user });
  });
});

test('unreadable groups of a user, children of a link, and parts of an export are named', async () => {
  await broken('groups', records.group, { permissionIds: 5 });
  await world.forget(() => world.idp.directory.forTenant(records.tid).groups.update(records.group, { name: 'Forgotten' }));
  const named = { id: records.group, path: '/permissionIds' };
  expect((await root(`${tenant}/users/${records.user}/groups`)).json.unreadable).toEqual([named]);
  const [invitation] = (await root(`${tenant}/invitations?limit=1`)).json.items;
  await broken('invitations', invitation.id, { send: 5 });
  const exported = (await root(`${tenant}/persons/${records.person}/export`)).json;
  expect(exported.unreadable).toEqual([{ collection: 'groups', ...named }]);
  const ofInvited = (await root(`${tenant}/persons/${invitation.personId}/export`)).json;
  expect(ofInvited.unreadable).toEqual([{ collection: 'invitations', id: invitation.id, path: '/send' }]);
  const [child] = (await rowsOf('persons').find({})).filter(({ user }) => (user as StoredRow | undefined)?.parentUserId === records.user);
  await broken('persons', String(child?.id), { attributes: 5 });
  expect((await root(`${tenant}/users/${records.user}/links`)).json.unreadable).toEqual([{ id: child?.id, path: '/attributes' }]);
  // The child is in a tenant that this caller does not administer.
  expect((await ofAcme(`${tenant}/users/${records.user}/links`)).json.unreadable).toBeUndefined();
});

test.each<[string, (proof: StoredRow) => object]>([
  ['/user/emailProof', () => 5 as never],
  ['/user/emailProof/expiresAt', (proof) => ({ ...proof, expiresAt: 'soon' })],
  ['/user/emailProof/address', ({ address: _, ...proof }) => proof],
])('an export of a person whose requested address is malformed at %s names the member', async (path, damaged) => {
  const { person } = await invited();
  const { user } = (await rowsOf('persons').get(person)) as StoredRow;
  const proof = { id: '', version: 1, serial: 1, requestId: 'r', address: 'next@acme.test', expiresAt: new Date(Date.now() + 60_000) };
  await broken('persons', person, { user: { ...(user as object), emailProof: damaged(proof) } });
  expect(said(await ofAcme(`${tenant}/persons/${person}/export`))).toEqual([409, 'record_unreadable', [path]]);
});

describe('X-2: an export of a person whose reference names a record of another tenant', () => {
  const references: Readonly<Record<string, (row: StoredRow, id: string) => object>> = {
    groups: (row, id) => ({ user: { ...(row.user as object), groupIds: [id] } }),
    subsidiaries: (_, id) => ({ subsidiaryId: id }),
  };
  const states: readonly object[] = [{}, { name: 5 }, { createdAt: 5 }, { tid: 5 }];

  test.each(Object.keys(references).flatMap((collection) => states.map((members) => [collection, members] as const)))(
    'of %s with %j says nothing of that record',
    async (collection, members) => {
      const elsewhere = (await root.post('/tenants', { name: randomUUID() })).json.id as string;
      const name = randomUUID();
      const { id } = (await root.post(`/tenants/${elsewhere}/${collection}`, { name })).json;
      const { person } = await invited();
      const row = (await rowsOf('persons').get(person)) as StoredRow;
      await broken('persons', person, references[collection]?.(row, id) ?? {});
      await broken(collection, id, members);
      const { status, json, text } = await ofAcme(`${tenant}/persons/${person}/export`);
      expect([status, json.groups, json.subsidiary, json.unreadable]).toEqual([200, [], undefined, undefined]);
      expect(text).not.toContain(name);
    },
  );
});
