/** Issue 17, 2: service providers from the metadata of common products. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, useSaml } from '../../support/saml/service/administration.js';
import {
  activeDirectory,
  type Keys,
  keyDescriptor,
  mellon,
  nodeSaml,
  plain,
  pysaml2,
  salesforce,
  shibboleth,
} from '../../support/saml/service-providers/metadata.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let acmeId: string | undefined;
let keys: Keys;
let weak: MadeCertificate;
let curve: MadeCertificate;
beforeAll(async () => {
  const [signing, encryption] = await Promise.all([makeCertificate(), makeCertificate()]);
  [weak, curve] = await Promise.all([makeCertificate(1024), makeCertificate('P-256')]);
  keys = { signing: signing.der, encryption: encryption.der };
  root = await asAdministrator(service.issuer, 'root');
  acmeId = (await tenantIds(root)).Acme;
});

/** Registers for users of one tenant, because some documents ask for e-mail addresses. */
const register = (metadata: string, more: object = {}) =>
  root.post('/saml-service-providers', { metadata, allowedTenants: [acmeId], ...more });
const members = ['name', 'entityId', 'assertionConsumerServices', 'singleLogoutServices', 'requireSignedRequests', 'encryption', 'nameId'];
/** Returns the members that were read, with the names of the keys. */
async function readOf(metadata: string, more: object = {}): Promise<Json> {
  const { status, json } = await register(metadata, more);
  expect([status, json.errors]).toEqual([201, undefined]);
  const nameOfKey = (certificate?: string) => ({ [keys.signing]: 'signing', [keys.encryption]: 'encryption' })[certificate ?? ''];
  return {
    ...Object.fromEntries(members.map((member) => [member, json[member]])),
    signing: json.signingCertificates.map(nameOfKey),
    encrypting: nameOfKey(json.encryptionCertificate),
    notes: json.source.notes,
    warnings: json.warnings,
    validUntil: json.source.validUntil,
  };
}

describe('metadata in the style of', () => {
  test('Shibboleth: comments, `1` for true, five bindings, AES-GCM', async () => {
    expect(await readOf(shibboleth(keys))).toEqual({
      name: 'The wiki',
      entityId: 'https://wiki.example/shibboleth',
      assertionConsumerServices: [{ url: 'https://wiki.example/Shibboleth.sso/SAML2/POST', index: 1 }],
      singleLogoutServices: [
        { binding: 'redirect', url: 'https://wiki.example/Shibboleth.sso/SLO/Redirect' },
        { binding: 'post', url: 'https://wiki.example/Shibboleth.sso/SLO/POST' },
      ],
      requireSignedRequests: true,
      encryption: 'aes256-gcm',
      nameId: { format: 'persistent' },
      signing: ['signing'],
      encrypting: 'encryption',
      notes: [],
      validUntil: undefined,
    });
  });

  test('mod_auth_mellon: a key for whatever use signs, and is encrypted to once somebody says so', async () => {
    expect(await readOf(mellon(keys))).toMatchObject({
      name: 'https://intranet.example/mellon/metadata',
      assertionConsumerServices: [{ url: 'https://intranet.example/mellon/postResponse', index: 0, isDefault: true }],
      singleLogoutServices: [
        {
          binding: 'redirect',
          url: 'https://intranet.example/mellon/logout',
          responseUrl: 'https://intranet.example/mellon/logoutResponse',
        },
      ],
      requireSignedRequests: true,
      encryption: 'none',
      nameId: { format: 'transient' },
      signing: ['signing'],
      encrypting: 'signing',
      notes: [expect.stringMatching(/^SPSSODescriptor\[0\]\/KeyDescriptor\[0\]: .*`encryption`/)],
    });
  });

  test('node-saml: an entityID that is no URL; AES-CBC alone is not encrypted with', async () => {
    expect(await readOf(nodeSaml(keys))).toMatchObject({
      name: 'node-app',
      entityId: 'node-app',
      singleLogoutServices: [{ binding: 'post', url: 'https://app.example/saml/logout' }],
      encryption: 'none',
      nameId: { format: 'emailAddress' },
      encrypting: 'encryption',
      notes: [expect.stringMatching(/^SPSSODescriptor\[0\]\/KeyDescriptor\[1\]: nothing is encrypted/)],
    });
  });

  test('AD FS: a byte order mark, other roles, two keys, an index that is missing, a signature that nobody verifies', async () => {
    expect(await readOf(activeDirectory(keys))).toMatchObject({
      name: 'Example Inc.',
      entityId: 'http://adfs.example/adfs/services/trust',
      assertionConsumerServices: [
        { url: 'https://adfs.example/adfs/ls/', index: 0, isDefault: true },
        { url: 'https://adfs.example/adfs/ls/second', index: 1 },
      ],
      requireSignedRequests: false,
      encryption: 'aes256-gcm',
      nameId: { format: 'persistent' },
      signing: ['signing', 'encryption'],
      encrypting: 'encryption',
      notes: [expect.stringContaining('AssertionConsumerService[1]'), expect.stringContaining('Signature')],
    });
  });

  test('Salesforce: `validUntil`, no format, attributes that the administrator has to name', async () => {
    expect(await readOf(salesforce(keys))).toMatchObject({
      assertionConsumerServices: [{ url: 'https://example.my.salesforce.com?so=00D000000000001', index: 0, isDefault: true }],
      singleLogoutServices: [],
      nameId: { format: 'persistent' },
      validUntil: '2091-11-23T12:00:00.000Z',
      notes: [expect.stringContaining('AttributeConsumingService')],
    });
  });

  test('pysaml2: an aggregate with one service provider, prefixes of its own', async () => {
    expect(await readOf(pysaml2(keys))).toMatchObject({
      entityId: 'https://py.example/sp.xml',
      requireSignedRequests: false,
      encryption: 'aes256-gcm',
      signing: ['signing'],
      validUntil: '2090-01-01T00:00:00.000Z',
      notes: [],
    });
  });
});

describe('of metadata', () => {
  test('an administrator’s members go before those of the document, whose mistakes there do not matter', async () => {
    const json = await readOf(plain({ entityId: 'https://own.example', acs: 'http://own.example/acs' }), {
      name: 'Own',
      assertionConsumerServices: [{ url: 'https://own.example/acs' }, { url: 'https://own.example/acs2' }],
      nameId: { format: 'emailAddress' },
    });
    expect(json).toMatchObject({
      name: 'Own',
      assertionConsumerServices: [
        { url: 'https://own.example/acs', index: 0 },
        { url: 'https://own.example/acs2', index: 1 },
      ],
      nameId: { format: 'emailAddress' },
    });
  });

  test('entityId says which of an aggregate is meant', async () => {
    const entity = (name: string) => plain({ entityId: `https://${name}.example`, acs: `https://${name}.example/acs` });
    const all = `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${entity('first')}${entity('second')}</EntitiesDescriptor>`;
    const refused = await register(all);
    expect([refused.status, refused.json.errors]).toEqual([422, [{ pointer: '/metadata', expected: expect.stringContaining('entityId') }]]);
    expect(await readOf(all, { entityId: 'https://second.example' })).toMatchObject({
      assertionConsumerServices: [{ url: 'https://second.example/acs' }],
    });
  });

  test('a key that cannot be used is passed over where another can', async () => {
    const json = await readOf(
      plain({ entityId: 'https://rotates.example', inside: keyDescriptor(weak.der) + keyDescriptor(keys.signing) }),
    );
    expect([json.signing, json.notes, json.warnings]).toEqual([
      ['signing'],
      [],
      [{ path: 'SPSSODescriptor[0]/KeyDescriptor[0]', reason: expect.stringMatching(/2048/) }],
    ]);
  });

  test('an EC key verifies, and is not encrypted to', async () => {
    const inside = keyDescriptor(curve.der) + keyDescriptor(curve.der, 'encryption');
    const { status, json } = await register(plain({ entityId: 'https://curve.example', inside }));
    expect([status, json.signingCertificates, json.encryption, json.encryptionCertificate]).toEqual([201, [curve.der], 'none', undefined]);
    expect(json.source.notes).toEqual([expect.stringMatching(/KeyDescriptor\[1\]: .*RSA/)]);
  });

  test('without a certificate there is no single logout, because nobody could believe its messages', async () => {
    const slo = `<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://sp.example/slo"/>`;
    const json = await readOf(plain({ entityId: 'https://keyless.example', inside: slo }));
    expect([json.singleLogoutServices, json.notes]).toEqual([[], [expect.stringContaining('SingleLogoutService')]]);
  });

  test.each([
    ['aes128-gcm', 'http://www.w3.org/2009/xmlenc11#aes128-gcm', ''],
    ['aes256-gcm', 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p', ''],
    ['none', 'http://www.w3.org/2001/04/xmlenc#rsa-1_5', 'http://www.w3.org/2009/xmlenc11#aes256-gcm'],
    ['none', 'http://www.w3.org/2001/04/xmlenc#tripledes-cbc', 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p'],
  ])('encryption is %s for a key that takes %s %s', async (expected, ...methods) => {
    const said = methods.filter(Boolean).map((method) => `<md:EncryptionMethod Algorithm="${method}"/>`);
    const entityId = `https://encrypts.example/${expected}/${methods.join('').length}`;
    const json = await readOf(plain({ entityId, inside: keyDescriptor(keys.encryption, 'encryption', said.join('')) }));
    expect([json.encryption, json.encrypting]).toEqual([expected, 'encryption']);
  });
});
