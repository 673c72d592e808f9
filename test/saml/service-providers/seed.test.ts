/** Issue 17, 2: service providers in the option `seed`. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { saml } from 'tenant-idp/extensions/saml';
import { tenantIds } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, samlAdminSeed, samlOptions } from '../../support/saml/service/administration.js';
import { keyDescriptor, plain } from '../../support/saml/service-providers/metadata.js';
import { startIdp } from '../../support/service/idp.js';

let certificate: MadeCertificate;
beforeAll(async () => {
  certificate = await makeCertificate();
});
const acs = { assertionConsumerServices: [{ url: 'https://sp.example/acs' }] };

/** Runs a service with a seed over stores, and reads its service providers. */
async function seeded<T>(
  serviceProviders: readonly object[],
  look: (at: {
    readonly read: (path: string) => Promise<Json>;
    readonly tid: Readonly<Record<string, string>>;
    readonly change: (path: string, patch: object) => Promise<unknown>;
  }) => Promise<T>,
  stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() },
  options: Parameters<typeof saml>[0] = {},
  entities: readonly object[] = [],
): Promise<T> {
  const seed = { ...samlAdminSeed, extensions: { saml: { serviceProviders, entities } } };
  const service = await startIdp({ ...samlOptions, ...stores, seed: seed as never, extensions: [saml(options)] });
  try {
    const root = await asAdministrator(service.issuer, 'root');
    const tid = await tenantIds(root);
    return await look({ read: async (path) => (await root(path)).json, change: (path, patch) => root.patch(path, patch), tid });
  } finally {
    await service.close();
  }
}

describe('service providers of the seed', () => {
  test('are of the instance, or of the tenant that they name, by hand or from metadata', async () => {
    const ofTenant = { id: 'wiki', tenant: 'Acme', metadata: plain({ inside: keyDescriptor(certificate.der) }), name: 'Wiki' };
    const ofInstance = {
      id: 'shop',
      entityId: 'https://shop.example',
      ...acs,
      signingCertificates: [certificate.pem],
      allowedTenants: ['Acme'],
      idp: 'local',
      styles: { radius: 4 },
      nameId: { format: 'emailAddress', ifAnotherIsAsked: 'answer' },
    };
    await seeded([ofTenant, ofInstance], async ({ read, tid }) => {
      expect(await read(`/tenants/${tid.Acme}/saml-service-providers/wiki`)).toMatchObject({
        id: 'wiki',
        name: 'Wiki',
        entityId: 'https://sp.example/metadata',
        signingCertificates: [certificate.der],
      });
      expect(await read('/saml-service-providers/shop')).toMatchObject({
        assertionConsumerServices: [{ url: 'https://sp.example/acs', index: 0 }],
        signingCertificates: [certificate.der],
        allowedTenants: [tid.Acme],
        idp: 'local',
        styles: { radius: 4 },
        nameId: { format: 'emailAddress', ifAnotherIsAsked: 'answer' },
      });
    });
  });

  test('follow the seed where nobody else changed them, and their metadata', async () => {
    const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
    const path = '/saml-service-providers/wiki';
    const first = [{ id: 'wiki', metadata: plain({ acs: 'https://one.example' }), name: 'Wiki' }];
    await seeded(first, ({ change }) => change(path, { name: 'Changed' }), stores);
    const before = await seeded(first, ({ read }) => read(path), stores);
    const second = [{ id: 'wiki', metadata: plain({ acs: 'https://two.example' }), name: 'Encyclopaedia', requireMfa: true }];
    const after = await seeded(second, ({ read }) => read(path), stores);
    expect([before.name, before.assertionConsumerServices[0].url]).toEqual(['Changed', 'https://one.example']);
    expect([after.name, after.assertionConsumerServices[0].url, after.requireMfa]).toEqual(['Changed', 'https://two.example', true]);
  });

  test('are made of metadata that was over before the start, since no start fails because time passed', async () => {
    const past = [{ id: 'old', metadata: plain({ around: 'validUntil="2020-01-01T00:00:00Z"' }) }];
    expect(await seeded(past, ({ read }) => read('/saml-service-providers/old'))).toMatchObject({ id: 'old', status: 'active' });
  });

  test.each<[string, object, Parameters<typeof saml>[0]]>([
    ['[0].metadata', { metadata: plain({ acs: 'http://sp.example' }) }, {}],
    ['[0].assertionConsumerServices[0].url', { entityId: 'a', assertionConsumerServices: [{ url: 'http://sp.example' }] }, {}],
    ['[0].entityId', acs, {}],
    ['[0].idp', { entityId: 'a', ...acs, idp: 'nowhere' }, {}],
    ['[0].styles.accentColor', { entityId: 'a', ...acs, styles: { accentColor: '#ffff00' } }, {}],
    ['[0].tenant', { entityId: 'a', tenant: 'Acme', ...acs }, { tenantEntities: false }],
    ['[0].allowedTenants', { entityId: 'a', tenant: 'Acme', ...acs, allowedTenants: ['Acme'] }, {}],
  ])('stop the start where %s is wrong, and say so', async (place, given, options) => {
    const problems = [expect.objectContaining({ path: `seed.extensions.saml.serviceProviders${place}` })];
    await expect(seeded([{ id: 'wrong', ...given }], async () => {}, undefined, options)).rejects.toMatchObject({
      code: 'invalid_options',
      problems,
    });
  });

  test('have no URL to be read from, because no start waits for others', async () => {
    const given = [{ id: 'far', metadataUrl: 'https://sp.example/metadata' }];
    await expect(seeded(given, async () => {})).rejects.toMatchObject({ code: 'invalid_options' });
  });
});

describe('entities of the seed', () => {
  const asking = [{ tenant: 'Acme', wantAuthnRequestsSigned: true }];

  test('ask for signed requests, until somebody else changes them', async () => {
    const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
    const wanted = (change?: boolean) =>
      seeded(
        [],
        async ({ read, tid, change: write }) => {
          const path = `/tenants/${tid.Acme}/saml-entity`;
          const before = (await read(path)).wantAuthnRequestsSigned;
          if (change !== undefined) await write(path, { wantAuthnRequestsSigned: change });
          return before;
        },
        stores,
        {},
        asking,
      );
    expect([await wanted(false), await wanted()]).toEqual([true, false]);
  });

  test.each<[string, readonly object[], Parameters<typeof saml>[0]]>([
    ['[0].tenant', asking, { tenantEntities: false }],
    ['[0].wantAuthnRequestsSigned', [{ tenant: 'Acme', wantAuthnRequestsSigned: false }], { wantAuthnRequestsSigned: true }],
  ])('stop the start where %s is wrong, and say so', async (place, entities, options) => {
    const problems = [expect.objectContaining({ path: `seed.extensions.saml.entities${place}` })];
    await expect(seeded([], async () => {}, undefined, options, entities)).rejects.toMatchObject({ code: 'invalid_options', problems });
  });
});
