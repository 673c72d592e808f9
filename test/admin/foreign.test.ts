/** H1: every operation × every id field × a foreign tenant is indistinguishable from absent. */
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
import { leaksOf, makeRecords, type TenantRecords } from '../support/administration/admin-matrix.js';
import { keepImpersonations } from '../support/administration/impersonations.js';
import { obtainTokens } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const impersonations = keepImpersonations();
const service = useIdp({ seed: adminSeed, limits: { adminRequestsPerMinute: 100_000 }, extensions: [impersonations.extension] });
let root: AdminClient;
let tid: Readonly<Record<string, string>>;
let own: TenantRecords;
let foreign: TenantRecords;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  tid = await tenantIds(root);
  own = await recordsOf(tid.Acme ?? '');
  foreign = await recordsOf(tid.Globex ?? '');
});

async function recordsOf(of: string): Promise<TenantRecords> {
  const [userName, password] = of === tid.Acme ? ['alice@acme.test', 'alice'] : ['bob@globex.test', 'bob'];
  await obtainTokens(service.issuer, { userName, password });
  const [{ id }] = (await root(`/tenants/${of}/users?userName=${userName}`)).json.items;
  const [{ id: session }] = (await root(`/tenants/${of}/users/${id}/sessions`)).json.items;
  const records = await makeRecords(root, of);
  const client = of === tid.Acme ? 'third-party' : 'pairwise';
  await service.idp.directory.consents.allow(records.user, client, ['openid']);
  return { ...records, session, client, impersonation: (await impersonations.insert(of)).id };
}

describe('H1: foreign is absent', () => {
  test('to a client of one tenant, to the byte', async () => {
    const client = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    const { leaks, compared, untried } = await leaksOf({ issuer: service.issuer, client, own: await recordsOf(own.tid), foreign });
    expect(leaks).toEqual([]);
    expect(compared).toBeGreaterThan(100);
    // `factors/own-page` tries the id of a factor, with a user who has one.
    expect([...untried]).toEqual(['factorId']);
  });

  test('to a client of all tenants, within a path of another tenant', async () => {
    // The client administers both tenants, so it may know a tenant, and the parent of a link, which is in another tenant.
    const known = ['tid', 'parentId'];
    const { leaks } = await leaksOf({ issuer: service.issuer, client: root, own: await recordsOf(own.tid), foreign, known });
    expect(leaks).toEqual([]);
  });

  test('whoever administers one tenant lists no other', async () => {
    const client = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    expect((await client('/tenants')).json.items.map(({ id }: { id: string }) => id)).toEqual([tid.Acme]);
    for (const list of ['persons', 'users', 'groups', 'subsidiaries', 'invitations', 'webhooks', 'connections', 'impersonations']) {
      const { text } = await client(`/tenants/${tid.Acme}/${list}?limit=200`);
      for (const id of Object.values(foreign)) expect(text).not.toContain(id);
    }
  });

  test('whoever administers a few lists these as others list all', async () => {
    const ids: string[] = [];
    for (const name of ['Zeta West', 'Zeta East', 'Other']) ids.push((await root.post('/tenants', { name })).json.id);
    await service.idp.directory.clients.create(adminClient('few', ids) as never);
    const few = administer(service.issuer, await adminToken(service.issuer, 'few'));
    for (const query of ['name=zeta', 'name=zeta&sort=-name', 'sort=createdAt&status=active&limit=200', 'status=disabled']) {
      const [{ json: own }, { json: all }] = [await few(`/tenants?${query}`), await root(`/tenants?${query}`)];
      expect([query, own.items]).toEqual([query, all.items.filter(({ id }: { id: string }) => ids.includes(id))]);
    }
    const { json: first } = await few('/tenants?name=zeta&limit=1');
    const { json: second } = await few(`/tenants?name=zeta&limit=1&after=${first.next}`);
    expect([first.items[0].name, second.items[0].name, second.next]).toEqual(['Zeta East', 'Zeta West', undefined]);
  });

  test('what is of the instance is 403 to who administers one tenant', async () => {
    const client = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    const { operations } = await documented(service.issuer);
    const ofInstance = operations.filter(({ path }) => !path.startsWith('/tenants'));
    for (const { method, path } of ofInstance) {
      const { status, json } = await client(path.replace(/\{\w+\}/g, 'web'), { method, ...(method === 'GET' ? {} : { body: {} }) });
      expect([method, path, status, json.code]).toEqual([method, path, 403, 'all_tenants_required']);
    }
    expect(ofInstance.length).toBeGreaterThan(15);
  });
});
