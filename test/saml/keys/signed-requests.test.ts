/** SAML Metadata §2.4.3 `WantAuthnRequestsSigned`: set by the instance or by a tenant's entity, and enforced. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent } from '../../support/client/agent.js';
import { credentialsOf } from '../../support/saml/inbound/credentials.js';
import { authnRequest, newId, postFields, redirectQuery, signed } from '../../support/saml/inbound/sent-messages.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { asAdministrator, samlAdminSeed, samlOptions } from '../../support/saml/service/administration.js';
import { given, ofInstance, ofTenant } from '../../support/saml/service-providers/given.js';
import { startIdp } from '../../support/service/idp.js';
import { until } from '../../support/time/until.js';

type Idp = Awaited<ReturnType<typeof startIdp>>;
const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
async function start(): Promise<Idp> {
  const { key, certificate } = await testKeyOf('identity provider');
  return startIdp({ ...samlOptions, ...stores, seed: samlAdminSeed, extensions: [saml({ keys: [{ key, certificate }] })] });
}

/** Returns the reason on the page; undefined if the sign-in begins. */
async function reasonOf(answer: Promise<{ readonly status: number; readonly body: string }>): Promise<string | undefined> {
  const { body } = await answer;
  return /Reason: ([a-z_]+)/.exec(body)?.[1];
}

/** Returns the answers of the entity to signed and unsigned requests, by each binding. */
async function outcomes(issuer: string, entityId: string, tid?: string) {
  const sso = `${issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}/sso`;
  const by = await credentialsOf('signed requests');
  const request = () => authnRequest({ id: newId(), issuer: entityId, destination: sso });
  const agent = new Agent();
  const sent = {
    redirect: agent.get(`${sso}?${redirectQuery(request())}`),
    post: agent.post(sso, postFields(request())),
    signedRedirect: agent.get(`${sso}?${redirectQuery(request(), { by })}`),
    signedPost: agent.post(sso, postFields(signed(request(), by))),
  };
  return Object.fromEntries(await Promise.all(Object.entries(sent).map(async ([name, answer]) => [name, await reasonOf(answer)])));
}
const open = { redirect: undefined, post: undefined, signedRedirect: undefined, signedPost: undefined };
const closed = { ...open, redirect: 'not_signed', post: 'not_signed' };
/** Returns `WantAuthnRequestsSigned` of the metadata. */
async function saysSo(issuer: string, tid?: string): Promise<string | undefined> {
  const metadata = await fetch(`${issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}/metadata`);
  return /WantAuthnRequestsSigned="(true|false)"/.exec(await metadata.text())?.[1];
}

describe('a tenant’s entity', () => {
  let one: Idp;
  let other: Idp;
  let root: AdminClient;
  let tid: Readonly<Record<string, string>>;
  const ids: Record<string, string> = {};
  const entity = (name = 'Acme') => `/tenants/${tid[name]}/saml-entity`;
  const set = (wantAuthnRequestsSigned: unknown, name?: string) => root.patch(entity(name), { wantAuthnRequestsSigned });

  beforeAll(async () => {
    [one, other] = [await start(), await start()];
    root = await asAdministrator(one.issuer, 'root');
    tid = await tenantIds(root);
    const { certificate } = await credentialsOf('signed requests');
    for (const [name, path] of [
      ['Acme', ofTenant(tid.Acme)],
      ['Globex', ofTenant(tid.Globex)],
      ['instance', ofInstance],
    ] as const) {
      const { json } = await root.post(path, given({ signingCertificates: [certificate] }));
      ids[name] = json.entityId;
    }
  });

  afterAll(() => Promise.all([one, other].map((idp) => idp.close())));

  const at = (idp: Idp, name: string) => outcomes(idp.issuer, ids[name] ?? '', name === 'instance' ? undefined : tid[name]);

  test('asks for signed requests by its metadata and on each binding, on each node; other entities do not', async () => {
    expect([await saysSo(one.issuer, tid.Acme), await at(one, 'Acme')]).toEqual(['false', open]);
    const { status, json } = await set(true);
    const base = `${one.issuer}/idp/saml/t/${tid.Acme}`;
    expect([status, json]).toEqual([
      200,
      {
        entityId: `${base}/metadata`,
        metadataUrl: `${base}/metadata`,
        singleSignOnUrl: `${base}/sso`,
        singleLogoutUrl: `${base}/slo`,
        wantAuthnRequestsSigned: true,
      },
    ]);
    expect((await root(entity())).json).toEqual(json);
    expect([await saysSo(one.issuer, tid.Acme), await at(one, 'Acme')]).toEqual(['true', closed]);
    await until(async () => (await saysSo(other.issuer, tid.Acme)) === 'true');
    expect(await at(other, 'Acme')).toEqual(closed);
    expect([await saysSo(one.issuer, tid.Globex), await at(one, 'Globex')]).toEqual(['false', open]);
    expect([await saysSo(one.issuer), await at(one, 'instance')]).toEqual(['false', open]);
    expect((await set(false)).json.wantAuthnRequestsSigned).toBe(false);
    expect([await saysSo(one.issuer, tid.Acme), await at(one, 'Acme')]).toEqual(['false', open]);
  });

  test('a service provider without a certificate cannot prove anything, and is refused', async () => {
    const { json } = await root.post(ofTenant(tid.Globex), given());
    await set(true, 'Globex');
    const all = { redirect: 'not_signed', post: 'not_signed', signedRedirect: 'not_signed', signedPost: 'not_signed' };
    expect(await outcomes(one.issuer, json.entityId, tid.Globex)).toEqual(all);
    await set(false, 'Globex');
  });

  test('raises an event for each change, and none for the same again; two at once are both answered', async () => {
    const raised = async () =>
      (await recordedEvents(stores.directory, 'SamlEntityUpdated')).filter(
        ({ data }) => (data as { readonly AggregateId?: string }).AggregateId === tid.Globex,
      ).length;
    // Waits until the events of earlier tests are dispatched.
    await until(async () => (await stores.directory.collection('saml.entities').find({ byOutbox: ['yes'] })).length === 0);
    const before = await raised();
    const [first, second] = await Promise.all([set(true, 'Globex'), set(true, 'Globex')]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await set(true, 'Globex')).status).toBe(200);
    await until(async () => (await raised()) - before === 1);
    await set(false, 'Globex');
    await until(async () => (await raised()) - before === 2);
  });

  test('is changed by the tenant’s own administrators alone, and by nothing that is no boolean', async () => {
    for (const value of ['true', 1, null]) expect((await set(value)).status).toBe(422);
    expect((await root.patch(entity(), { other: true })).status).toBe(422);
    expect((await root('/tenants/0197a000-0000-7000-8000-00000000dead/saml-entity')).status).toBe(404);
  });

  test('one bad row: requests are refused without a signature until somebody says again what is asked', async () => {
    const rows = stores.directory.collection('saml.entities');
    await set(false);
    await rows.update(tid.Acme ?? '', (row) => ({ ...row, wantAuthnRequestsSigned: 'no' }) as never);
    await until(async () => (await saysSo(one.issuer, tid.Acme)) === 'true');
    expect(await at(one, 'Acme')).toEqual(closed);
    expect((await set(false)).status).toBe(200);
    expect([await saysSo(one.issuer, tid.Acme), await at(one, 'Acme')]).toEqual(['false', open]);
  });
});

describe('all entities', () => {
  test('the option asks at each, and no tenant takes it back', async () => {
    const service = await startIdp({ ...samlOptions, seed: samlAdminSeed, extensions: [saml({ wantAuthnRequestsSigned: true })] });
    try {
      const root = await asAdministrator(service.issuer, 'root');
      const { Acme } = await tenantIds(root);
      const path = `/tenants/${Acme}/saml-entity`;
      const refused = await root.patch(path, { wantAuthnRequestsSigned: false });
      expect([refused.status, refused.json.errors[0].pointer]).toEqual([422, '/wantAuthnRequestsSigned']);
      expect((await root(path)).json.wantAuthnRequestsSigned).toBe(true);
      expect([await saysSo(service.issuer), await saysSo(service.issuer, Acme)]).toEqual(['true', 'true']);
    } finally {
      await service.close();
    }
  });

  test('without entities of tenants there is none to change', async () => {
    const service = await startIdp({ ...samlOptions, seed: samlAdminSeed, extensions: [saml({ tenantEntities: false })] });
    try {
      const root = await asAdministrator(service.issuer, 'root');
      expect((await root(`/tenants/${(await tenantIds(root)).Acme}/saml-entity`)).status).toBe(404);
    } finally {
      await service.close();
    }
  });
});
