/** Issue 17, 2: permissions to read and write service providers in the admin API. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { leaksOf, makeRecords } from '../../support/administration/admin-matrix.js';
import { asAdministrator, useSaml } from '../../support/saml/service/administration.js';
import { given, ofInstance, ofTenant } from '../../support/saml/service-providers/given.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
beforeAll(async () => {
  [root, acme] = await Promise.all([asAdministrator(service.issuer, 'root'), asAdministrator(service.issuer, 'acme')]);
  tid = await tenantIds(root);
});
const ofAcme = () => ofTenant(tid.Acme);

describe('permissions', () => {
  test('H1: one of another tenant, and of the instance, does not exist for a tenant’s administrator', async () => {
    const { json: foreign } = await root.post(ofTenant(tid.Globex), given());
    const { json: instance } = await root.post(ofInstance, given());
    for (const { id } of [foreign, instance]) {
      const one = `${ofAcme()}/${id}`;
      const answers = [await acme(one), await acme.patch(one, { name: 'Mine' }), await acme.post(`${one}/refresh`), await acme.remove(one)];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect((await root(one)).status).toBe(404);
    }
    expect((await acme(`${ofInstance}/${instance.id}`)).json.code).toBe('all_tenants_required');
    expect((await acme(`${ofTenant(tid.Globex)}/${foreign.id}`)).status).toBe(404);
  });

  test('H1: every operation of a service with the extension: foreign is absent, to the byte', async () => {
    const recordsOf = async (of: string) => ({
      ...(await makeRecords(root, of)),
      serviceProvider: (await root.post(ofTenant(of), given())).json.id as string,
    });
    const [own, foreign] = [await recordsOf(tid.Acme ?? ''), await recordsOf(tid.Globex ?? '')];
    const { leaks, compared } = await leaksOf({ issuer: service.issuer, client: acme, own, foreign });
    expect([leaks, compared > 60]).toEqual([[], true]);
    expect((await root(`${ofTenant(tid.Globex)}/${foreign.serviceProvider}`)).status).toBe(200);
  });

  test('reading and writing are two scopes', async () => {
    const reader = await asAdministrator(service.issuer, 'reader');
    expect((await reader(ofAcme())).status).toBe(200);
    expect((await reader.post(ofAcme(), given())).json).toMatchObject({ code: 'insufficient_scope' });
  });

  test('impersonated users sign in only if an operator allows it', async () => {
    const allowed = { impersonation: 'allow' };
    expect((await acme.post(ofAcme(), given(allowed))).json).toMatchObject({ status: 403, code: 'impersonation_operator_required' });
    const { json } = await acme.post(ofAcme(), given());
    expect((await acme.patch(`${ofAcme()}/${json.id}`, allowed)).json).toMatchObject({ code: 'impersonation_operator_required' });
    expect((await root.patch(`${ofAcme()}/${json.id}`, allowed)).json).toMatchObject(allowed);
    // Administrators of a tenant cannot change the URL of these sign-ins either, after the operator allowed them.
    expect((await root.patch(`${ofAcme()}/${json.id}`, allowed)).status).toBe(200);
    const elsewhere = { assertionConsumerServices: [{ url: 'https://elsewhere.example/acs' }] };
    expect((await acme.patch(`${ofAcme()}/${json.id}`, elsewhere)).json).toMatchObject({ code: 'impersonation_operator_required' });
    expect((await acme.patch(`${ofAcme()}/${json.id}`, { impersonation: 'refuse' })).status).toBe(200);
  });
});
