/** H5, service specification 4.12: access of callers to the operations of the admin API. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminClient,
  adminClient,
  administer,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../support/administration/admin.js';
import { Agent, type Json, obtainTokens } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const narrow = adminClient('narrow', ['*'], ['idp.clients:read', 'idp.clients:write', 'idp.persons:read']);
const service = useIdp({
  seed: { ...adminSeed, clients: [...adminSeed.clients, narrow] },
  limits: { adminRequestsPerMinute: 100_000 },
});
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

async function personToken(userName: string, scope: string, agent = new Agent()): Promise<string> {
  const console = { client: 'console', secret: 'console-secret' };
  const { tokens } = await obtainTokens(service.issuer, {
    agent,
    ...console,
    userName,
    password: userName.replace(/@.*/, ''),
    scope: `openid ${scope}`,
  });
  return tokens.access_token;
}
const idOf = async (userName: string): Promise<string> => (await root(`${at}/users?userName=${userName}`)).json.items[0].id;

describe('H5: tokens', () => {
  test('every operation asks for its own scope', async () => {
    const { operations } = await documented(service.issuer);
    const token = await adminToken(service.issuer, 'root', 'idp.tenants:read');
    for (const { method, path, operation } of operations) {
      const [scope] = operation.security[0].accessToken;
      if (scope === 'idp.tenants:read') continue;
      const call = { method, ...(operation.requestBody ? { body: {} } : {}) };
      const { status, json, headers } = await administer(service.issuer, token)(path.replace(/\{\w+\}/g, 'x'), call);
      expect([method, path, status, json.code]).toEqual([method, path, 403, 'insufficient_scope']);
      expect(headers.get('www-authenticate')).toContain(`scope="${scope}"`);
      expect((await administer(service.issuer)(path.replace(/\{\w+\}/g, 'x'), call)).status).toBe(401);
    }
    expect(operations.length).toBeGreaterThan(50);
  });

  test('adminTenants is read at each request', async () => {
    const client = { ...adminClient('moving', [tid.Acme ?? '']) };
    await service.idp.directory.clients.create(client as never);
    const moving = administer(service.issuer, await adminToken(service.issuer, 'moving'));
    expect((await moving(at)).status).toBe(200);
    await root.patch('/clients/moving', { adminTenants: [tid.Globex] });
    expect([(await moving(at)).status, (await moving(`/tenants/${tid.Globex}`)).status]).toEqual([404, 200]);
    await root.patch('/clients/moving', { status: 'disabled' });
    expect((await moving(`/tenants/${tid.Globex}`)).status).toBe(401);
  });

  test('no cookie and no CORS: only the header counts', async () => {
    const agent = new Agent();
    await personToken('carol@acme.test', 'idp.persons:read', agent);
    const cookie = [...agent.cookies.values()].map((one) => String((one as Json).pair ?? one)).join('; ');
    const answer = await administer(service.issuer)(`${at}/persons`, { headers: { cookie, origin: 'https://evil.test' } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, null]);
    const token = await adminToken(service.issuer, 'root');
    expect((await administer(service.issuer)(`${at}/persons?access_token=${token}`)).status).toBe(401);
    const preflight = await administer(service.issuer)(`${at}/persons`, { method: 'OPTIONS', headers: { origin: 'https://evil.test' } });
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('H5: a person needs the scope and a permission of the same id, for resources of its own tenant', () => {
  test('scope × permission × tenant', async () => {
    const asks = async (userName: string, scope: string) => {
      const caller = administer(service.issuer, await personToken(userName, scope));
      return [(await caller(`${at}/persons`)).status, (await caller(`/tenants/${tid.Globex}/persons`)).status];
    };
    expect(await asks('carol@acme.test', 'idp.persons:read')).toEqual([200, 404]);
    // Carol has no such permission, though her application has the scope.
    expect(await asks('alice@acme.test', 'idp.persons:read')).toEqual([403, 403]);
    expect(await asks('carol@acme.test', 'idp.persons:write')).toEqual([403, 403]);
  });

  test('a permission that is taken away ends it at once', async () => {
    const caller = administer(service.issuer, await personToken('carol@acme.test', 'idp.persons:read'));
    const carol = await idOf('carol@acme.test');
    await root.remove(`${at}/users/${carol}/groups`, { names: ['Administrators'] });
    expect((await caller(`${at}/persons`)).status).toBe(403);
    await root.post(`${at}/users/${carol}/groups`, { names: ['Administrators'] });
    expect((await caller(`${at}/persons`)).status).toBe(200);
  });

  test('what is of the instance is no person’s', async () => {
    const caller = administer(service.issuer, await personToken('carol@acme.test', 'idp.clients:read'));
    expect((await caller('/clients')).status).toBe(403);
  });
});

describe('nobody grants more than they hold', () => {
  test('administrative permissions are put into groups by a client of all tenants alone', async () => {
    const { json: group } = await acme.post(`${at}/groups`, { name: 'Own' });
    const path = `${at}/groups/${group.id}`;
    expect((await acme.patch(path, { permissionIds: ['idp.persons:read'] })).json.code).toBe('all_tenants_required');
    expect((await acme.post(`${at}/groups`, { name: 'Other', permissionIds: ['idp.users:write'] })).status).toBe(403);
    expect((await root.patch(path, { permissionIds: ['idp.clients:read'] })).status).toBe(200);
    expect((await acme.patch(path, { permissionIds: ['idp.clients:read', 'orders.view'] })).status).toBe(200);
    expect((await acme.patch(path, { permissionIds: [] })).status).toBe(200);
  });

  test('nobody is put into a group that may more than who puts them there', async () => {
    const { json: strong } = await root
      .post(`${at}/groups`, { name: 'Strong', permissionIds: ['idp.secrets:read'] })
      .then(async (refused) => {
        expect(refused.json.code).toBe('permission_unknown');
        await root.post('/permissions', { id: 'idp.secrets:read', name: 'Secrets' });
        return root.post(`${at}/groups`, { name: 'Strong', permissionIds: ['idp.secrets:read'] });
      });
    const alice = await idOf('alice@acme.test');
    for (const body of [{ ids: [strong.id] }, { names: ['Strong'] }])
      for (const method of ['PUT', 'POST'])
        expect((await acme(`${at}/users/${alice}/groups`, { method, body })).json.code).toBe('grant_exceeds_own');
    const person = { givenName: 'S', familyName: 'S', user: { userName: 'strong', groups: { names: ['Strong'] } } };
    expect((await acme.post(`${at}/persons`, person)).json.code).toBe('grant_exceeds_own');
    expect((await root.post(`${at}/persons`, person)).status).toBe(201);
    const [user] = (await acme(`${at}/users?userName=strong`)).json.items;
    // A caller who could sign in as the user would have the permissions of the user.
    expect((await acme.patch(`${at}/users/${user.id}`, { externalIdentities: [{ idp: 'x', subject: 'me' }] })).json.code).toBe(
      'grant_exceeds_own',
    );
    expect((await acme.patch(`${at}/persons/${user.personId}`, { email: 'me@evil.test' })).json.code).toBe('grant_exceeds_own');
  });

  test('a client gives and changes no client that may more than itself', async () => {
    const caller = administer(service.issuer, await adminToken(service.issuer, 'narrow', 'idp.clients:read idp.clients:write'));
    const made = { id: 'made', name: 'Made', metadata: { grant_types: ['client_credentials'] } };
    expect((await caller.post('/clients', { ...made, allowedScopes: ['idp.users:write'] })).json.code).toBe('grant_exceeds_own');
    expect((await caller.post('/clients', { ...made, allowedScopes: ['idp.persons:read'] })).status).toBe(201);
    expect((await caller.patch('/clients/made', { allowedScopes: ['idp.keys:write'] })).json.code).toBe('grant_exceeds_own');
    expect((await caller.post('/clients/root/secrets')).json.code).toBe('grant_exceeds_own');
    expect((await caller.patch('/clients/root', { metadata: { token_endpoint_auth_method: 'none' } })).json.code).toBe('grant_exceeds_own');
    expect((await caller.remove('/clients/root')).json.code).toBe('grant_exceeds_own');
  });

  test('creating and ending a tenant is for a client of all tenants', async () => {
    for (const [path, body] of [
      ['/tenants', { name: 'New' }],
      [`${at}/disable`, undefined],
      [`${at}/enable`, undefined],
    ] as const)
      expect((await acme.post(path, body)).json.code).toBe('all_tenants_required');
    expect((await acme.patch(at, { locale: 'nb' })).json.locale).toBe('nb');
  });
});

describe('clients and API resources', () => {
  test('secrets are made by the service, shown once, two live', async () => {
    const metadata = { grant_types: ['client_credentials'] };
    expect((await root.post('/clients', { id: 'rotating', name: 'R', secret: 'mine', metadata })).json.errors[0].pointer).toBe('/secret');
    const { json } = await root.post('/clients', { id: 'rotating', name: 'R', metadata });
    const { json: read } = await root('/clients/rotating');
    expect([typeof json.secret, read.secret, read.secrets]).toEqual(['string', undefined, [{}]]);
    const secrets = [json.secret];
    for (let round = 0; round < 2; round += 1) secrets.push((await root.post('/clients/rotating/secrets')).json.secret);
    const { clients } = service.idp.directory;
    const live = await Promise.all(secrets.map((secret) => clients.checkSecret('rotating', secret)));
    expect(live.map(Boolean)).toEqual([false, true, true]);
    expect((await root.post('/api-resources', { id: 'api', name: 'API', scopes: ['api.read'] })).json.secret).toEqual(expect.any(String));
    expect((await root.post('/api-resources', { id: 'bad', name: 'B', scopes: ['idp.bad:read'] })).json.errors[0].pointer).toBe(
      '/scopes/0',
    );
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status } = await root('/api-resources/idp.admin', { method, ...(method === 'PATCH' ? { body: { name: 'x' } } : {}) });
      expect([method, status]).toEqual([method, 404]);
    }
  });

  test('keys are listed without their private parts, and those of the options are rotated there', async () => {
    const { json } = await root('/keys');
    expect(Object.keys(json.items[0]).sort()).toEqual(['alg', 'kid', 'state']);
    expect((await root.post('/keys/rotate', {})).json.code).toBe('keys_given');
  });

  test('sessions of a user are listed and ended', async () => {
    const agent = new Agent({ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0' });
    await obtainTokens(service.issuer, { agent });
    const path = `${at}/users/${await idOf('alice@acme.test')}/sessions`;
    const { json } = await acme(path);
    const session = json.items.find(({ clientIds }: Json) => clientIds.includes('web'));
    expect(session).toMatchObject({
      inBrowser: true,
      lastUsedAt: expect.any(String),
      browser: 'Firefox',
      system: 'Linux',
      address: '127.0.0.0/24',
    });
    const { id } = session;
    expect((await acme.remove(`${path}/nothing`)).status).toBe(404);
    expect((await acme.remove(`${path}/${id}`)).status).toBe(204);
    expect((await acme(path)).text).not.toContain(id);
  });
});
