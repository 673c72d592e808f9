/** Issue 17, 2: service providers as records of the instance or of a tenant. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, adminToken, tenantIds } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, useSaml } from '../../support/saml/service/administration.js';
import { given, ofInstance, ofTenant } from '../../support/saml/service-providers/given.js';
import { until } from '../../support/time/until.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
let certificate: MadeCertificate;
let curve: MadeCertificate;
beforeAll(async () => {
  [root, acme] = await Promise.all([asAdministrator(service.issuer, 'root'), asAdministrator(service.issuer, 'acme')]);
  tid = await tenantIds(root);
  [certificate, curve] = await Promise.all([makeCertificate(), makeCertificate('P-256')]);
});
const ofAcme = () => ofTenant(tid.Acme);

describe('service providers in the admin API', () => {
  test('by hand: what is left out has its default, certificates are kept in DER', async () => {
    const fields = given({ signingCertificates: [certificate.pem, certificate.lines], encryptionCertificate: certificate.pem });
    const { status, json, headers } = await acme.post(ofAcme(), fields);
    const at = `${service.issuer}/idp/saml/t/${tid.Acme}`;
    expect([status, json]).toEqual([
      201,
      {
        id: expect.any(String),
        name: fields.entityId,
        status: 'active',
        entityId: fields.entityId,
        assertionConsumerServices: [{ ...fields.assertionConsumerServices[0], index: 0 }],
        singleLogoutServices: [],
        signingCertificates: [certificate.der],
        requireSignedRequests: false,
        encryptionCertificate: certificate.der,
        encryption: 'none',
        signAssertion: true,
        signResponse: false,
        nameId: { format: 'persistent' },
        attributes: [],
        requireMfa: false,
        idpInitiated: { isAllowed: false },
        impersonation: 'refuse',
        identityProvider: {
          entityId: `${at}/metadata`,
          metadataUrl: `${at}/metadata`,
          singleSignOnUrl: `${at}/sso`,
          singleLogoutUrl: `${at}/slo`,
        },
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const one = await acme(`${ofAcme()}/${json.id}`);
    expect([headers.get('location'), one.json]).toEqual([`${acme.base}${ofAcme()}/${json.id}`, json]);
  });

  test('everything that can be said is kept as it was said', async () => {
    const fields = given({
      name: 'Wiki',
      status: 'disabled',
      singleLogoutServices: [
        { binding: 'redirect', url: 'https://wiki.example/slo', responseUrl: 'https://wiki.example/slo/done' },
        { binding: 'post', url: 'https://wiki.example/slo' },
      ],
      signingCertificates: [certificate.der, curve.der],
      requireSignedRequests: true,
      encryptionCertificate: certificate.der,
      encryption: 'aes128-gcm',
      signAssertion: false,
      signResponse: true,
      nameId: { format: 'emailAddress', claim: 'preferred_username' },
      attributes: [
        { name: 'urn:oid:0.9.2342.19200300.100.1.3', claim: 'email', format: 'uri', friendlyName: 'mail' },
        { name: 'tenant', claim: 'tid' },
        { name: 'roles', claim: 'role' },
      ],
      allowedTenants: [tid.Acme],
      requireMfa: true,
      idpInitiated: { isAllowed: true, relayState: '/start' },
      sessionLifetimeSeconds: 3600,
      idp: 'local',
      styles: { logoUri: '/logo.svg', accentColor: '#0b6e4f', radius: 8, font: 'humanist' },
      impersonation: 'allow',
    });
    const { status, json } = await root.post(ofInstance, fields);
    expect([status, json]).toEqual([201, expect.objectContaining({ ...fields, assertionConsumerServices: [expect.anything()] })]);
    expect(json.identityProvider.entityId).toBe(`${service.issuer}/idp/saml/metadata`);
    const fewer = await root.patch(`${ofInstance}/${json.id}`, {
      allowedTenants: null,
      nameId: { format: 'persistent', claim: null },
      sessionLifetimeSeconds: null,
      encryption: 'none',
      encryptionCertificate: null,
    });
    expect(fewer.json).toMatchObject({ name: 'Wiki', encryption: 'none' });
    for (const member of ['allowedTenants', 'sessionLifetimeSeconds', 'encryptionCertificate'])
      expect(fewer.json).not.toHaveProperty(member);
  });

  test('A4: one of all tenants takes no NameID that the administrators of two tenants could give to two people', async () => {
    for (const nameId of [{ format: 'emailAddress' }, { format: 'unspecified', claim: 'email' }]) {
      const { json } = await root.post(ofInstance, given({ nameId }));
      expect(json.errors).toEqual([{ pointer: '/allowedTenants', expected: expect.stringContaining('the same NameID') }]);
      expect((await root.post(ofInstance, given({ nameId, allowedTenants: [tid.Acme] }))).status).toBe(201);
      expect((await acme.post(ofAcme(), given({ nameId }))).status).toBe(201);
    }
    expect((await root.post(ofInstance, given({ nameId: { format: 'unspecified', claim: 'oid' } }))).status).toBe(201);
  });

  test('RFC 7396: members of members are merged, and null takes one away', async () => {
    const { json } = await acme.post(
      ofAcme(),
      given({ nameId: { format: 'unspecified', claim: 'oid' }, idpInitiated: { isAllowed: false, relayState: '/start' } }),
    );
    const one = `${ofAcme()}/${json.id}`;
    const { json: merged } = await acme.patch(one, { nameId: { claim: 'sub' }, idpInitiated: { isAllowed: true } });
    expect([merged.nameId, merged.idpInitiated]).toEqual([
      { format: 'unspecified', claim: 'sub' },
      { isAllowed: true, relayState: '/start' },
    ]);
    expect((await acme.patch(one, { nameId: { format: 'persistent' } })).json.errors[0].pointer).toBe('/nameId/claim');
    const { json: fewer } = await acme.patch(one, { nameId: { format: 'persistent', claim: null }, idpInitiated: { relayState: null } });
    expect([fewer.nameId, fewer.idpInitiated]).toEqual([{ format: 'persistent' }, { isAllowed: true }]);
  });

  test('an entityID is of one service provider of an owner, and stays', async () => {
    const fields = given();
    for (const path of [ofInstance, ofAcme(), ofTenant(tid.Globex)]) {
      const first = await root.post(path, fields);
      const second = await root.post(path, { ...given(), entityId: fields.entityId });
      expect([first.status, second.status, second.json.errors]).toEqual([201, 409, [{ pointer: '/entityId' }]]);
      expect((await root.patch(`${path}/${first.json.id}`, { entityId: 'https://other.example' })).status).toBe(422);
      await root.remove(`${path}/${first.json.id}`);
      expect((await root.post(path, fields)).status).toBe(201);
    }
  });

  test('a request that comes again with its Idempotency-Key registers nothing again', async () => {
    const [fields, headers] = [given(), { 'idempotency-key': 'saml-1' }];
    const [first, second] = [await acme.post(ofAcme(), fields, headers), await acme.post(ofAcme(), fields, headers)];
    expect([first.status, second.status, second.json.id]).toEqual([201, 201, first.json.id]);
    expect((await acme.post(ofAcme(), given(), headers)).json).toMatchObject({ code: 'idempotency_conflict' });
  });

  test('If-Match: who saw something else changes nothing, and removes nothing', async () => {
    const { json, headers } = await acme.post(ofAcme(), given());
    const one = `${ofAcme()}/${json.id}`;
    const match = { 'if-match': headers.get('etag') ?? '' };
    expect((await acme.patch(one, { name: 'One' }, match)).status).toBe(200);
    expect((await acme.patch(one, { name: 'Other' }, match)).json).toMatchObject({ code: 'precondition_failed' });
    expect((await acme(one, { method: 'DELETE', headers: match })).json).toMatchObject({ code: 'precondition_failed' });
    const { headers: now } = await acme(one);
    expect((await acme(one, { method: 'DELETE', headers: { 'if-match': now.get('etag') ?? '' } })).status).toBe(204);
  });

  test('lists are of one owner, page by page', async () => {
    const before = (await acme(`${ofAcme()}?limit=200`)).json.items.length;
    for (let index = 0; index < 5; index += 1) await acme.post(ofAcme(), given({ name: `Listed ${index}` }));
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const { json } = await acme(`${ofAcme()}?limit=2${after && `&after=${after}`}`);
      seen.push(...json.items.map(({ id }: Json) => id));
      if (json.next === undefined) break;
      after = json.next;
    }
    expect([seen.length, new Set(seen).size]).toEqual([before + 5, before + 5]);
    const { json } = await root(`${ofInstance}?limit=200`);
    expect(json.items.some(({ id }: Json) => seen.includes(id))).toBe(false);
  });

  test('events tell that one is registered, changed and removed, and by whom; not that it was said again', async () => {
    const { json, headers } = await acme.post(ofAcme(), given({ name: 'Told' }));
    const one = `${ofAcme()}/${json.id}`;
    const again = await acme.patch(one, { name: 'Told' });
    expect([again.headers.get('etag'), again.json]).toEqual([headers.get('etag'), json]);
    await acme.patch(one, { name: 'Changed' });
    await acme.remove(one);
    const types = ['ServiceProviderCreated', 'ServiceProviderUpdated', 'ServiceProviderRemoved'] as const;
    const { events } = await until(
      async () => {
        const read = await service.idp.directory.eventFeed.read({ types });
        return { events: read.events.filter(({ subject }) => subject === json.id) };
      },
      (read) => read.events.length >= 3,
    );
    expect(events).toEqual(
      types.map((type) => expect.objectContaining({ type, tid: tid.Acme, actor: 'client:acme', data: { AggregateId: json.id } })),
    );
  });
});

describe('the names of SAML, and white space around addresses, are read as the names of this service', () => {
  const nameId = 'urn:oasis:names:tc:SAML:';
  /** Sends a request without comparing it with the published document, which has only the names of this service. */
  async function send(method: string, path: string, body: object) {
    const authorization = `Bearer ${await adminToken(service.issuer, 'acme', 'idp.saml-service-providers:write')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(acme.base + path, { method, headers, body: JSON.stringify(body) });
    return { status: answer.status, json: (await answer.json()) as Json };
  }
  test.each<[string, Json, Json]>([
    ...['1.1:nameid-format:emailAddress', '2.0:nameid-format:emailAddress', '1.1:nameid-format:EMAILADDRESS '].map(
      (format): [string, Json, Json] => [
        format,
        { nameId: { format: nameId + format, claim: 'email' } },
        { nameId: { format: 'emailAddress', claim: 'email' } },
      ],
    ),
    ['2.0:persistent', { nameId: { format: ` ${nameId}2.0:nameid-format:persistent` } }, { nameId: { format: 'persistent' } }],
    ['Transient', { nameId: { format: 'Transient' } }, { nameId: { format: 'transient' } }],
    ...['urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST', ' HTTP-POST', 'POST'].map((binding): [string, Json, Json] => [
      binding,
      { singleLogoutServices: [{ binding, url: ' https://wiki.example/slo\n' }] },
      { singleLogoutServices: [{ binding: 'post', url: 'https://wiki.example/slo' }] },
    ]),
    [
      'a blank',
      { assertionConsumerServices: [{ url: 'https://wiki.example/acs ' }] },
      { assertionConsumerServices: [{ url: 'https://wiki.example/acs', index: 0 }] },
    ],
    ...['urn:oasis:names:tc:SAML:2.0:attrname-format:uri', 'URI'].map((format): [string, Json, Json] => [
      format,
      { attributes: [{ name: 'mail', claim: 'email', format }] },
      { attributes: [{ name: 'mail', claim: 'email', format: 'uri' }] },
    ]),
  ])('%s', async (_, written, read) => {
    const signed = given({ signingCertificates: [certificate.pem] });
    const made = await send('POST', ofAcme(), { ...signed, ...written });
    expect([made.status, made.json]).toEqual([201, expect.objectContaining(read)]);
    const { json } = await acme.post(ofAcme(), given({ signingCertificates: [certificate.pem] }));
    expect(await send('PATCH', `${ofAcme()}/${json.id}`, written)).toMatchObject({ status: 200, json: read });
  });

  test('a format or binding that is not served is refused with those that are', async () => {
    const wrong = {
      nameId: { format: `${nameId}1.1:nameid-format:X509SubjectName` },
      singleLogoutServices: [{ binding: 'urn:oasis:names:tc:SAML:2.0:bindings:SOAP', url: 'https://wiki.example/slo' }],
    };
    const { status, json } = await acme.post(ofAcme(), given({ signingCertificates: [certificate.pem], ...wrong }));
    const errors = json.errors as { pointer: string; expected: string }[];
    expect([status, errors.find(({ pointer }) => pointer === '/nameId/format')?.expected]).toEqual([
      422,
      expect.stringContaining('emailAddress'),
    ]);
    expect(errors.find(({ pointer }) => pointer === '/singleLogoutServices/0/binding')?.expected).toContain('redirect');
  });
});
