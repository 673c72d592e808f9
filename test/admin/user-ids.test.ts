/** T3-ERASE-SUB, T3-ERASE-TAKEOVER, T3-SUB-CLIENT: callers of the admin API that may choose the id of a new user. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminAnswer,
  type AdminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../support/administration/admin.js';
import { type Json, obtainTokens } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({
  seed: {
    ...adminSeed,
    tenants: adminSeed.tenants.map((tenant) =>
      tenant.name === 'Acme'
        ? {
            ...tenant,
            groups: [...(tenant.groups ?? []), { name: 'All', permissions: adminScopes }],
            persons: [
              ...(tenant.persons ?? []),
              { givenName: 'Una', familyName: 'A', user: { userName: 'una@acme.test', devPassword: 'una', groups: ['All'] } },
            ],
          }
        : tenant,
    ),
  } as never,
});
const callers: Record<'root' | 'acme' | 'person', AdminClient> = {} as never;
let at: string;
let personId: string;
let made = 0;
const newId = () => {
  made += 1;
  return `0197a000-0000-7000-8000-${String(made).padStart(12, '0')}`;
};
const named = () => ({ userName: `user-${newId()}@acme.test` });
const person = { givenName: 'Given', familyName: 'Family' };

beforeAll(async () => {
  callers.root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  callers.acme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  const { tokens } = await obtainTokens(service.issuer, {
    ...{ client: 'console', secret: 'console-secret', userName: 'una@acme.test', password: 'una' },
    scope: `openid ${adminScopes.join(' ')}`,
  });
  callers.person = administer(service.issuer, tokens.access_token);
  at = `/tenants/${(await tenantIds(callers.root)).Acme}`;
  personId = (await callers.root.post(`${at}/persons`, person)).json.id;
});

/** Operations whose body has the id of a new user. The name of each ends with the path of the id. */
const operations: Readonly<Record<string, (call: AdminClient, id: string) => Promise<AdminAnswer>>> = {
  'POST /tenants/{tid}/persons /user/id': (call, id) => call.post(`${at}/persons`, { ...person, user: { ...named(), id } }),
  'POST /tenants/{tid}/persons/{id}/user /id': (call, id) => call.post(`${at}/persons/${personId}/user`, { ...named(), id }),
};

test('these are all operations that take the id of a new user', async () => {
  const { operations: all } = await documented(service.issuer);
  const idPaths = (schema: Json | undefined, path = ''): string[] =>
    Object.entries((schema?.properties ?? {}) as Record<string, Json>).flatMap(([name, member]) =>
      name === 'id' && schema?.properties.userName ? [`${path}/id`] : idPaths(member, `${path}/${name}`),
    );
  const found = all.flatMap(({ method, path, operation }) =>
    idPaths(operation.requestBody?.content?.['application/json']?.schema).map((place) => `${method} ${path} ${place}`),
  );
  expect(found.sort()).toEqual(Object.keys(operations).sort());
});

describe.each(Object.entries(operations))('%s', (name, operation) => {
  const pointer = name.split(' ').at(-1);
  test.each(['acme', 'person'] as const)('is refused to a caller of one tenant: %s', async (caller) => {
    const { status, json } = await operation(callers[caller], newId());
    expect([status, json.code, json.errors]).toEqual([
      403,
      'all_tenants_required',
      [{ pointer, expected: 'no id, because the service makes the ids of users' }],
    ]);
    expect((await callers.root(`${at}/persons/${personId}`)).json).not.toHaveProperty('user');
  });

  test('is for a client of all tenants, once for each id', async () => {
    const id = newId();
    expect((await operation(callers.root, id)).status).toBe(201);
    await callers.root.remove(`${at}/users/${id}`);
    const { status, json } = await operation(callers.root, id);
    expect([status, json.code, json.errors]).toEqual([409, 'conflict', [{ pointer }]]);
    const client = { id, name: 'Client', metadata: { grant_types: ['client_credentials'] } };
    expect((await callers.root.post('/clients', client)).status).toBe(409);
  });

  test('takes no id of a client, and a client takes no id of a user', async () => {
    const id = newId();
    const client = { id, name: 'Client', metadata: { grant_types: ['client_credentials'] } };
    expect((await callers.root.post('/clients', client)).status).toBe(201);
    expect((await operation(callers.root, id)).status).toBe(409);
    expect((await callers.root.remove(`/clients/${id}`)).status).toBe(204);
    expect((await callers.root.post('/clients', client)).status).toBe(201);
    expect((await callers.root.remove(`/clients/${id}`)).status).toBe(204);
    expect((await operation(callers.root, id)).status).toBe(201);
    expect((await callers.root.post('/clients', client)).status).toBe(409);
    await callers.root.remove(`${at}/users/${id}`);
  });
});

test('service specification 4.12.1: the id of a person is the caller’s to choose, and free after the erasure', async () => {
  const id = newId();
  const users: string[] = [];
  for (const caller of [callers.acme, callers.person]) {
    const { status, json } = await caller.post(`${at}/persons`, { ...person, id, user: named() });
    expect([status, json.id]).toEqual([201, id]);
    users.push(json.user.id);
    expect((await callers.acme.remove(`${at}/persons/${id}`)).status).toBe(204);
  }
  expect(new Set(users).size).toBe(2);
});

test('a request with an Idempotency-Key is answered once, and makes no removed user again', async () => {
  const headers = { 'Idempotency-Key': 'one' };
  const body = { ...person, user: named() };
  const first = await callers.acme.post(`${at}/persons`, body, headers);
  expect((await callers.acme.remove(`${at}/persons/${first.json.id}`)).status).toBe(204);
  const again = await callers.acme.post(`${at}/persons`, body, headers);
  expect([again.status, again.json.user.id, again.headers.get('Idempotency-Replayed')]).toEqual([201, first.json.user.id, 'true']);
  expect((await callers.acme(`${at}/users/${first.json.user.id}`)).status).toBe(404);
});

test('T3-SUB-CLIENT: no client and no API resource gets a UUID with capital letters, because it would be a user’s id to whoever ignores case', async () => {
  const id = newId().replace(/0a/g, '0A').replace('a000', 'A000');
  const { json } = await callers.root.post(`${at}/persons`, { ...person, user: { ...named(), id } });
  expect(json.user.id).toBe(id.toLowerCase());
  for (const path of ['/clients', '/api-resources'])
    for (const own of [id, newId().replace('a000', 'A000')]) {
      const refused = await callers.root.post(path, { id: own, name: 'Capital', ...(path === '/clients' ? {} : { scopes: [] }) });
      expect([path, refused.status, refused.json.code, refused.json.errors?.[0]?.pointer]).toEqual([path, 422, 'invalid_record', '/id']);
    }
});
