/** service specification 4.12: persons, users, groups and linking by the admin API. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken, documented, tenantIds } from '../support/administration/admin.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({ seed: adminSeed, limits: { adminRequestsPerMinute: 10_000 } });
let root: AdminClient;
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
let at: string;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  acme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  tid = await tenantIds(root);
  at = `/tenants/${tid.Acme}`;
});

const named = async (userName: string, tenant = 'Acme'): Promise<Json> =>
  (await root(`/tenants/${tid[tenant]}/users?userName=${encodeURIComponent(userName)}`)).json.items[0];
let count = 0;
const dora = (more: object = {}): Json => {
  count += 1;
  return { givenName: 'Dora', familyName: `Dunn${count}`, email: `dora${count}@acme.test`, ...more };
};

describe('service specification 4.12: persons and users', () => {
  test('a user requires a person, both in one tenant', async () => {
    expect((await acme.post(`${at}/persons/01890a5d-ac96-774b-bcce-b302099a8057/user`, { userName: 'x' })).status).toBe(404);
    const { json: foreign } = await root.post(`/tenants/${tid.Globex}/persons`, dora());
    expect((await root.post(`${at}/persons/${foreign.id}/user`, { userName: 'x' })).status).toBe(404);
    const { json: person } = await acme.post(`${at}/persons`, dora());
    const user = await acme.post(`${at}/persons/${person.id}/user`, { userName: 'own' });
    expect([user.status, user.headers.get('location'), user.json.status]).toEqual([
      201,
      `${root.base}${at}/users/${user.json.id}`,
      'invited',
    ]);
    expect((await acme.post(`${at}/persons/${person.id}/user`, { userName: 'another' })).json.code).toBe('person_has_user');
  });

  test('a person exists without a user, can be assigned to a subsidiary', async () => {
    const { json: subsidiary } = await acme.post(`${at}/subsidiaries`, { name: 'Acme North' });
    const { status, json } = await acme.post(`${at}/persons`, dora({ subsidiaryId: subsidiary.id }));
    expect([status, json.user, json.subsidiaryId]).toEqual([201, undefined, subsidiary.id]);
  });

  test('POST Person, optionally with a user in the same call', async () => {
    const { status, json, headers } = await acme.post(
      `${at}/persons`,
      dora({ user: { userName: 'dora@both', groups: { names: ['Sales'] } } }),
    );
    expect([status, json.user.status, json.user.groupIds.length, json.user.personId]).toEqual([201, 'invited', 1, json.id]);
    expect(headers.get('location')).toBe(`${root.base}${at}/persons/${json.id}`);
    expect((await acme(`${at}/users/${json.user.id}`)).json).toEqual(json.user);
  });

  test('explicit id discouraged, not required; taken anywhere it is the same 409', async () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8001';
    expect((await acme.post(`${at}/persons`, dora({ id }))).json.id).toBe(id);
    const again = await acme.post(`${at}/persons`, dora({ id }));
    const foreign = await root.post(`/tenants/${tid.Globex}/persons`, dora({ id }));
    expect([again.status, foreign.text]).toEqual([409, again.text]);
    expect(again.json.errors).toEqual([{ pointer: '/id' }]);

    const [userId, recordId] = ['01890a5d-ac96-774b-bcce-b302099a8002', '01890a5d-ac96-774b-bcce-b302099a8003'];
    const user = (userName: string) => dora({ user: { id: userId, userName } });
    const bodies = [
      ['persons', () => user(`taken${count}`)],
      ['groups', () => ({ id: recordId, name: `Taken ${count++}` })],
      ['subsidiaries', () => ({ id: recordId, name: 'Taken' })],
    ] as const;
    for (const [list, body] of bodies) {
      // Only administrators of all tenants may choose the id of a user.
      const by = list === 'persons' ? root : acme;
      expect((await by.post(`${at}/${list}`, body())).status).toBe(201);
      const answers = [await by.post(`${at}/${list}`, body()), await root.post(`/tenants/${tid.Globex}/${list}`, body())];
      expect([list, ...answers.map(({ status }) => status)]).toEqual([list, 409, 409]);
      expect(answers[1]?.text).toBe(answers[0]?.text);
    }
  });

  test('no password or other credential can be set through the API', async () => {
    const body = dora({ user: { userName: 'p' } });
    for (const member of ['password', 'passwordHash', 'devPassword', 'totp', 'status', 'notBefore', 'parentUserId', 'isParent'])
      for (const given of [
        { ...body, [member]: 'x' },
        { ...body, user: { ...body.user, [member]: 'x' } },
      ]) {
        const { status, json } = await acme.post(`${at}/persons`, given);
        expect([status, json.errors[0].pointer.endsWith(`/${member}`)]).toEqual([422, true]);
      }
    const { document } = await documented(service.issuer);
    // `Factor` and `PersonExport` answer kinds of factors and means, and the time of a password change. None of these can be set.
    const { Factor: _, PersonExport: __, ...schemas } = document.components.schemas;
    const members = JSON.stringify(schemas, (name, value) => (name === 'description' ? undefined : value));
    expect(members).not.toMatch(/password|totp|credential/i);
  });

  test('a national id is written and never answered', async () => {
    const { json } = await acme.post(`${at}/persons`, dora({ nationalId: '01017012345' }));
    expect([json.hasNationalId, JSON.stringify(json).includes('01017012345')]).toEqual([true, false]);
    expect((await acme.patch(`${at}/persons/${json.id}`, { nationalId: null })).json.hasNationalId).toBe(false);
  });

  test('emailVerified falls with a changed address', async () => {
    const { json: person } = await root.post(`${at}/persons`, dora({ user: { userName: 'verified', emailVerified: true } }));
    expect((await acme.patch(`${at}/persons/${person.id}`, { familyName: 'Same' })).json.user.emailVerified).toBe(true);
    expect((await acme.patch(`${at}/persons/${person.id}`, { email: 'other@acme.test' })).json.user.emailVerified).toBe(false);
  });

  test('attributes are merged, and at most 16 KiB', async () => {
    const { json } = await acme.post(`${at}/persons`, dora({ attributes: { shoe: { size: 44, colour: 'red' }, hat: 1 } }));
    const path = `${at}/persons/${json.id}`;
    expect((await acme.patch(path, { attributes: { shoe: { colour: null }, hat: null } })).json.attributes).toEqual({ shoe: { size: 44 } });
    const large = await acme.patch(path, { attributes: { text: 'x'.repeat(16_400) } });
    expect([large.status, large.json.errors[0].pointer]).toEqual([422, '/attributes']);
  });

  test('names that a store or JavaScript would take for its own are refused', async () => {
    for (const name of ['$set', 'constructor', 'prototype']) {
      const body = `{"givenName":"D","familyName":"D","attributes":{"inner":{"${name}":1}}}`;
      const { status, json } = await acme(`${at}/persons`, { method: 'POST', body });
      expect([status, json.errors[0].pointer]).toEqual([422, `/attributes/inner/${name}`]);
    }
    const poisoned = await acme(`${at}/persons`, { method: 'POST', body: '{"givenName":"D","attributes":{"__proto__":{"a":1}}}' });
    expect(poisoned.json).toMatchObject({
      code: 'invalid_record',
      errors: [{ pointer: '/attributes/__proto__', expected: 'another name' }],
    });
  });

  test('H2: what is nested deeper than stores take is refused', async () => {
    const nested = (depth: number) => ({
      method: 'POST',
      body: `{"givenName":"D","familyName":"D","attributes":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
    });
    expect((await acme(`${at}/persons`, nested(31))).status).toBe(201);
    for (const depth of [10_000, 5_000, 32]) {
      const { status, json } = await acme(`${at}/persons`, nested(depth));
      expect([depth, status, json.errors]).toEqual([
        depth,
        422,
        [{ pointer: `/attributes${'/a'.repeat(31)}`, expected: 'at most 32 levels' }],
      ]);
    }
    const lists = await acme(`${at}/persons`, { method: 'POST', body: `{"givenName":${'['.repeat(30_000)}${']'.repeat(30_000)}}` });
    expect(lists.status).toBe(422);
  });

  test('DELETE of a user keeps the person, of a person erases', async () => {
    const { json: person } = await acme.post(`${at}/persons`, dora({ user: { userName: 'leaving' } }));
    expect((await acme.remove(`${at}/users/${person.user.id}`)).status).toBe(204);
    expect((await acme(`${at}/users/${person.user.id}`)).status).toBe(404);
    expect((await acme(`${at}/persons/${person.id}`)).json.user).toBeUndefined();
    expect((await acme.remove(`${at}/persons/${person.id}`)).status).toBe(204);
    expect((await acme(`${at}/persons/${person.id}`)).status).toBe(404);
  });

  test('a user is disabled, enabled and signed out; status is read-only otherwise', async () => {
    const { id } = await named('carol@acme.test');
    expect((await root.post(`${at}/users/${id}/disable`)).json.status).toBe('disabled');
    expect((await root.post(`${at}/users/${id}/enable`)).json.status).toBe('active');
    expect((await root.post(`${at}/users/${id}/sign-out`)).status).toBe(200);
    expect((await root.patch(`${at}/users/${id}`, { status: 'active' })).json.errors[0].pointer).toBe('/status');
  });

  test('lists find persons and users by e-mail, user name, external id and the beginning of a name', async () => {
    await acme.post(`${at}/persons`, {
      givenName: 'Zoe',
      familyName: 'Zander',
      email: 'zoe@acme.test',
      externalId: 'hr-9',
      user: { userName: 'zz' },
    });
    for (const query of ['email=ZOE@acme.test', 'externalId=hr-9', 'userName=ZZ', 'name=zoe'])
      for (const list of ['persons', 'users']) {
        const { json } = await acme(`${at}/${list}?${query}`);
        expect([query, list, json.items.length]).toEqual([query, list, 1]);
      }
    expect((await acme(`${at}/persons?nothing=1`)).json.errors).toEqual([{ parameter: 'nothing', expected: expect.any(String) }]);
    expect((await acme(`${at}/persons?limit=201`)).status).toBe(400);
  });

  test('a list goes on by its cursor, each record once', async () => {
    const seen: string[] = [];
    for (let next = ''; ; ) {
      const { json } = await acme(`${at}/persons?limit=3&sort=-createdAt${next && `&after=${encodeURIComponent(next)}`}`);
      seen.push(...json.items.map(({ id }: Json) => id));
      next = json.next ?? '';
      if (next === '') break;
    }
    const { json } = await acme(`${at}/persons?limit=200&sort=-createdAt`);
    expect(seen).toEqual(json.items.map(({ id }: Json) => id));
    expect((await acme(`${at}/persons?after=none`)).json.code).toBe('invalid_cursor');
  });
});

describe('service specification 4.12, 3: groups', () => {
  test('groups by ids or by names, never a mix in one call; nothing is written then', async () => {
    const { id } = await named('alice@acme.test');
    const path = `${at}/users/${id}/groups`;
    const before = (await acme(path)).text;
    const groupId = (await acme(path)).json.items[0].id;
    const mixed = { ids: [groupId], names: ['Sales'] };
    for (const method of ['PUT', 'POST', 'DELETE']) {
      const { status, json } = await acme(path, { method, body: mixed });
      expect([status, json.code]).toEqual([422, 'group_refs_mixed']);
    }
    expect((await acme(path, { method: 'PUT', body: { names: ['Sales', 'Nobody'] } })).json).toMatchObject({
      code: 'group_unknown',
      unknown: ['Nobody'],
    });
    expect((await acme(path)).text).toBe(before);
  });

  test('PUT replaces, POST adds, DELETE takes out', async () => {
    const { id } = await named('alice@acme.test');
    const path = `${at}/users/${id}/groups`;
    const { json: group } = await acme.post(`${at}/groups`, { name: 'Buyers', permissionIds: ['orders.view'] });
    const names = async (method: string, body: object) => (await acme(path, { method, body })).json.items.map(({ name }: Json) => name);
    expect(await names('POST', { ids: [group.id] })).toEqual(['Sales', 'Buyers']);
    expect(await names('DELETE', { names: ['Sales'] })).toEqual(['Buyers']);
    expect(await names('PUT', { names: ['Sales'] })).toEqual(['Sales']);
  });

  test('a permission has a unique identifier', async () => {
    expect((await root.post('/permissions', { id: 'unique', name: 'One' })).status).toBe(201);
    expect((await root.post('/permissions', { id: 'unique', name: 'Two' })).json.code).toBe('conflict');
    expect((await acme.post(`${at}/groups`, { name: 'G', permissionIds: ['nobody.knows'] })).json.code).toBe('permission_unknown');
  });
});

describe('service specification 4.12, 4: linking', () => {
  test('POST users/{user_id}/link/{parent_user_id} links, DELETE unlinks, and the list tells', async () => {
    const { json: child } = await acme.post(`${at}/persons`, dora({ user: { userName: 'child' } }));
    const bob = await named('bob@globex.test', 'Globex');
    const link = `${at}/users/${child.user.id}/link/${bob.id}`;
    const linked = await root.post(link);
    expect([linked.status, linked.json.sub, linked.json.parentUserId]).toEqual([200, bob.id, bob.id]);
    expect((await root(`${at}/users/${child.user.id}/links`)).json).toEqual({ parent: { userId: bob.id, tid: tid.Globex }, children: [] });
    expect((await acme(`${at}/users/${child.user.id}/links`)).json.parent).toEqual({ userId: bob.id });
    expect((await root(`/tenants/${tid.Globex}/users/${bob.id}/links`)).json.children).toEqual([{ userId: child.user.id, tid: tid.Acme }]);
    expect((await root.remove(link)).json.parentUserId).toBeUndefined();
    expect((await root.remove(link)).json.code).toBe('not_linked');
  });

  test('the client administers both tenants, else the parent is as absent as one that there is not', async () => {
    const { json: child } = await acme.post(`${at}/persons`, dora({ user: { userName: 'child2' } }));
    const bob = await named('bob@globex.test', 'Globex');
    for (const method of ['POST', 'DELETE']) {
      const foreign = await acme(`${at}/users/${child.user.id}/link/${bob.id}`, { method });
      const absent = await acme(`${at}/users/${child.user.id}/link/01890a5d-ac96-774b-bcce-b302099a8057`, { method });
      expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
    }
  });

  test('linking makes nobody a parent whose child may administer', async () => {
    const carol = await named('carol@acme.test');
    const bob = await named('bob@globex.test', 'Globex');
    expect((await root.post(`${at}/users/${carol.id}/link/${bob.id}`)).json.code).toBe('link_privileged');
  });
});
