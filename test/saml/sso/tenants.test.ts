/** Service providers at the entity of a tenant: a registration of one tenant does not affect another. */
import { describe, expect, test } from '@jest/globals';
import { Agent } from '../../support/client/agent.js';
import { alice, bob, signedInAt, signInOn, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl, statusFrom } from '../../support/saml/service-providers/asked.js';
import { travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const unsigned = { requireSignedRequests: false };
const titleIn = (body: string): string => /<h1[^>]*>([^<]*)/.exec(body)?.[1]?.trim() ?? '';

describe('the entity of a tenant', () => {
  test('has a name, endpoints and service providers of its own', async () => {
    const tid = await service.tid('Acme');
    const { entityId, ssoUrl, sloUrl } = await service.describe(tid);
    const base = `${service.issuer}/idp/saml/t/${tid}`;
    expect([entityId, ssoUrl, sloUrl]).toEqual([`${base}/metadata`, `${base}/sso`, `${base}/slo`]);
    const sp = await service.add({ tid });
    await signedInAt([sp], alice);
    expect([...sp.sessions.values()][0]).toMatchObject({ issuer: entityId, nameQualifier: entityId });
  });

  test('signs in users of the tenant alone: another is not asked for, and not answered with', async () => {
    const tid = await service.tid('Acme');
    const sp = await service.add({ tid, record: unsigned });
    const plain = await service.add();
    const agent = await signedInAt([plain], bob);
    const page = await travel(agent, requestUrl(sp));
    expect(page.body).not.toContain('<h1>signed in as');
    const end = await signInOn(agent, page, bob);
    expect(end.body).not.toContain('<h1>signed in as');
    expect(await statusFrom(await signedInAt([plain], bob), sp, requestUrl(sp, { attributes: 'IsPassive="true"' }))).toEqual([
      'Responder',
      'NoPassive',
    ]);
    expect(sp.sessions.size).toBe(0);
    expect(await statusFrom(await signedInAt([plain], alice), sp, requestUrl(sp))).toEqual(['Success']);
  });

  test('a service provider of a tenant is unknown elsewhere: at the instance, and at another tenant', async () => {
    const [acme, globex] = [await service.tid('Acme'), await service.tid('Globex')];
    const sp = await service.add({ tid: acme, record: unsigned });
    const ofInstance = await service.add({ record: unsigned });
    for (const [entityId, idp] of [
      [sp.entityId, await service.describe()],
      [sp.entityId, await service.describe(globex)],
      [ofInstance.entityId, await service.describe(acme)],
    ] as const) {
      const { status, body } = await new Agent().get(requestUrl({ entityId, idp }));
      expect([status, body]).toEqual([400, expect.stringContaining('unknown_service_provider')]);
    }
  });

  test('namesakes of two tenants are two: each answers its own users, at its own address, with its own names', async () => {
    const entityId = 'https://product.test/saml';
    const [acme, globex] = [await service.tid('Acme'), await service.tid('Globex')];
    const [ofAcme, ofGlobex] = [await service.add({ tid: acme, entityId }), await service.add({ tid: globex, entityId })];
    await signedInAt([ofAcme], alice);
    await signedInAt([ofGlobex], bob);
    expect([ofAcme.sessions.size, ofGlobex.sessions.size]).toEqual([1, 1]);
    const page = await travel(new Agent(), ofGlobex.loginUrl);
    expect(page.body).toContain(`Application ${new URL(ofGlobex.url).port}`);
    const ofInstance = await service.add({ entityId });
    await signedInAt([ofInstance], alice);
    const names = [ofAcme, ofInstance].map(({ sessions }) => [...sessions.values()][0]?.nameID);
    expect(names[0]).not.toBe(names[1]);
  });

  test('a request for one entity is none for another', async () => {
    const [acme, globex] = [await service.tid('Acme'), await service.tid('Globex')];
    const entityId = 'https://twice.test/saml';
    const sp = await service.add({ tid: acme, entityId, record: unsigned });
    await service.add({ tid: globex, entityId, record: unsigned });
    const url = requestUrl(sp).replace(`/t/${acme}/`, `/t/${globex}/`);
    const { status, body } = await new Agent().get(url);
    expect([status, body]).toEqual([400, expect.stringContaining('destination_mismatch')]);
  });

  test('is gone with its tenant, and there is none of a tenant that there is not', async () => {
    const { tenants } = service.idp.directory;
    const { id } = await tenants.create({ name: 'Short-lived' });
    const statusOf = async (tid: string) => (await fetch(`${service.issuer}/idp/saml/t/${tid}/metadata`)).status;
    expect(await statusOf(id)).toBe(200);
    await tenants.disable(id);
    expect([await statusOf(id), await statusOf('nobody'), await statusOf(crypto.randomUUID())]).toEqual([404, 404, 404]);
  });
});

describe('a service provider of the instance', () => {
  test('signs in users of the tenants that it is registered for', async () => {
    const allowedTenants = [await service.tid('Acme')];
    const sp = await service.add({ record: { ...unsigned, allowedTenants } });
    const plain = await service.add();
    expect(await statusFrom(await signedInAt([plain], alice), sp, requestUrl(sp))).toEqual(['Success']);
    const passive = requestUrl(sp, { attributes: 'IsPassive="true"' });
    expect(await statusFrom(await signedInAt([plain], bob), sp, passive)).toEqual(['Responder', 'NoPassive']);
    const page = await travel(await signedInAt([plain], bob), requestUrl(sp));
    expect(titleIn(page.body)).not.toContain('signed in');
  });

  test('whose tenants change while somebody signs in gets nobody of the others', async () => {
    const sp = await service.add({ record: unsigned });
    const agent = await signedInAt([await service.add()], bob);
    const back = await travel(agent, requestUrl(sp), ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    await sp.register({ allowedTenants: [await service.tid('Acme')] });
    expect(await statusFrom(agent, sp, back)).toEqual(['Responder', 'RequestDenied']);
  });
});

describe('tenantEntities: false', () => {
  const closed = useSamlService({ saml: { tenantEntities: false } });

  test('tenants are no entities', async () => {
    expect((await fetch(`${closed.issuer}/idp/saml/t/${await closed.tid('Acme')}/metadata`)).status).toBe(404);
    expect((await fetch(`${closed.issuer}/idp/saml/metadata`)).status).toBe(200);
  });
});
