/** Issue 17, 2: registrations that are always refused, and those that are refused without an option. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Extension } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, samlOptions, useSaml } from '../../support/saml/service/administration.js';
import { given, ofInstance, ofTenant } from '../../support/saml/service-providers/given.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let tid: Readonly<Record<string, string>>;
let [certificate, weak, curve, edwards]: MadeCertificate[] = [];
beforeAll(async () => {
  root = await asAdministrator(service.issuer, 'root');
  tid = await tenantIds(root);
  [certificate, weak, curve, edwards] = await Promise.all([
    makeCertificate(),
    makeCertificate(1024),
    makeCertificate('P-256'),
    makeCertificate('Ed25519'),
  ]);
});

describe('is refused at', () => {
  const acs = (...urls: readonly string[]) => ({ assertionConsumerServices: urls.map((url) => ({ url })) });
  const url = 'https://sp.example/acs';
  const slo = { binding: 'post', url: 'https://sp.example/slo' };

  test.each<[pointer: string, () => object]>([
    ['/entityId', () => ({ entityId: undefined })],
    ['/entityId', () => ({ entityId: 'my app' })],
    ['/assertionConsumerServices', () => ({ assertionConsumerServices: undefined })],
    ['/assertionConsumerServices', () => acs()],
    ['/assertionConsumerServices/1/url', () => acs(url, 'http://sp.example/acs')],
    ['/assertionConsumerServices/0/url', () => acs('https://sp.example/acs#a')],
    ['/assertionConsumerServices/0/url', () => acs('https://a@sp.example/acs')],
    ['/assertionConsumerServices/0/url', () => acs('https://sp.example\\@evil.example')],
    ['/assertionConsumerServices/0/url', () => acs('/acs')],
    ['/assertionConsumerServices/0/url', () => acs('javascript:alert(1)')],
    ['/assertionConsumerServices/0/url', () => acs('http://127.0.0.1.evil.example/acs')],
    ['/assertionConsumerServices/1/index', () => ({ assertionConsumerServices: [{ url, index: 1 }, { url }] })],
    [
      '/singleLogoutServices/0/url',
      () => ({ signingCertificates: [certificate?.pem], singleLogoutServices: [{ ...slo, url: 'http://sp.example' }] }),
    ],
    [
      '/singleLogoutServices/0/responseUrl',
      () => ({ signingCertificates: [certificate?.pem], singleLogoutServices: [{ ...slo, responseUrl: 'x' }] }),
    ],
    ['/singleLogoutServices/1/binding', () => ({ signingCertificates: [certificate?.pem], singleLogoutServices: [slo, slo] })],
    ['/signingCertificates', () => ({ singleLogoutServices: [slo] })],
    ['/signingCertificates', () => ({ requireSignedRequests: true })],
    ['/signingCertificates/1', () => ({ signingCertificates: [certificate?.pem, 'AAAA'] })],
    ['/signingCertificates/0', () => ({ signingCertificates: [`${certificate?.pem}${certificate?.pem}`] })],
    ['/signingCertificates/0', () => ({ signingCertificates: [weak?.pem] })],
    ['/signingCertificates/0', () => ({ signingCertificates: [edwards?.pem] })],
    ['/encryptionCertificate', () => ({ encryption: 'aes256-gcm' })],
    ['/encryptionCertificate', () => ({ encryptionCertificate: curve?.pem })],
    ['/encryption', () => ({ encryption: 'aes256-cbc', encryptionCertificate: certificate?.pem })],
    ['/signAssertion', () => ({ signAssertion: false })],
    ['/nameId/claim', () => ({ nameId: { format: 'unspecified' } })],
    ['/nameId/claim', () => ({ nameId: { format: 'persistent', claim: 'sub' } })],
    ['/nameId/claim', () => ({ nameId: { format: 'emailAddress', claim: 'no_such_claim' } })],
    ['/nameId/claim', () => ({ nameId: { format: 'unspecified', claim: 'amr' } })],
    ['/nameId/claim', () => ({ nameId: { format: 'emailAddress', claim: 'sub' } })],
    [
      '/attributes/1/claim',
      () => ({
        attributes: [
          { name: 'a', claim: 'role' },
          { name: 'b', claim: 'nonce' },
        ],
      }),
    ],
    [
      '/attributes/1/name',
      () => ({
        attributes: [
          { name: 'a', claim: 'role' },
          { name: 'a', claim: 'perm' },
        ],
      }),
    ],
    ['/attributes/0/name', () => ({ attributes: [{ name: 'a\ufffe', claim: 'role' }] })],
    ['/attributes/0/friendlyName', () => ({ attributes: [{ name: 'a', claim: 'role', friendlyName: '\ud800' }] })],
    ['/idpInitiated/relayState', () => ({ idpInitiated: { isAllowed: true, relayState: 'ø'.repeat(1025) } })],
    ['/allowedTenants/1', () => ({ allowedTenants: [tid.Acme, '01990000-0000-7000-8000-000000000000'] })],
    ['/metadata', () => ({ metadata: '<a/>', metadataUrl: 'https://sp.example/metadata' })],
    ['/metadataUrl', () => ({ metadataUrl: 'http://sp.example/metadata' })],
    ['/metadataUrl', () => ({ metadataUrl: 'https://10.0.0.1/metadata' })],
  ])('%s: what no service provider has', async (pointer, more) => {
    const { status, json } = await root.post(ofInstance, given(more()));
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  test('/allowedTenants: one of a tenant is for its users', async () => {
    const { status, json } = await root.post(ofTenant(tid.Acme), given({ allowedTenants: [tid.Acme] }));
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, '/allowedTenants']);
  });

  test('a change as much as the first time, and nothing is changed then', async () => {
    const { json } = await root.post(ofInstance, given());
    const one = `${ofInstance}/${json.id}`;
    for (const [pointer, change] of [
      ['/assertionConsumerServices/0/url', acs('http://sp.example')],
      ['/encryptionCertificate', { encryption: 'aes128-gcm' }],
      ['/allowedTenants/0', { allowedTenants: ['nobody'] }],
      ['/overridden', { overridden: ['name'] }],
      ['/attributes/0/claim', { name: 'Other', attributes: [{ name: 'a', claim: 'a' }] }],
    ] as const)
      expect((await root.patch(one, change)).json.errors[0].pointer).toBe(pointer);
    expect((await root(one)).json).toEqual(json);
  });
});

const bareContexts = new WeakMap<object, object>();
/** Returns the context of a service in production without a salt. Returns any other argument unchanged. */
function withoutSalt(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('claims' in given && 'records' in given)) return given;
  const made = bareContexts.get(given) ?? { ...given, claims: { ...(given.claims as object), pseudonyms: undefined } };
  bareContexts.set(given, made);
  return made;
}
const withoutPseudonyms = (extension: Extension): Extension =>
  Object.fromEntries(
    Object.entries(extension).map(([name, member]) => [
      name,
      typeof member === 'function'
        ? (...given: unknown[]) => (member as (...given: unknown[]) => unknown)(...given.map(withoutSalt))
        : member,
    ]),
  ) as unknown as Extension;

describe('without the option subjectSalt', () => {
  const { seed: all } = samlOptions;
  const seed = { ...all, clients: all.clients.filter(({ id }) => id !== 'pairwise') };
  // Only a service in production has no salt then.
  const bare = useSaml(() => ({ extensions: [withoutPseudonyms(saml())], seed }));

  test('there are no persistent names: others are known by `sub`', async () => {
    const administrator = await asAdministrator(bare.issuer, 'root');
    expect((await administrator.post(ofInstance, given())).json.nameId).toEqual({ format: 'unspecified', claim: 'sub' });
    const { json } = await administrator.post(ofInstance, given({ nameId: { format: 'persistent' } }));
    expect(json.errors).toEqual([{ pointer: '/nameId/format', expected: expect.stringContaining('subjectSalt') }]);
  });
});

describe('without tenantEntities', () => {
  const shared = useSaml(() => ({ extensions: [saml({ tenantEntities: false })] }));

  test('tenants have no service providers, because nobody would know them', async () => {
    const administrator = await asAdministrator(shared.issuer, 'root');
    const { Acme } = await tenantIds(administrator);
    expect((await administrator.post(ofTenant(Acme), given())).status).toBe(404);
    expect((await administrator.post(ofInstance, given({ allowedTenants: [Acme] }))).status).toBe(201);
  });
});
