/**
 * Metadata as products publish it and administrators paste it. Parts that nothing needs are left out with a warning, and every spelling with one meaning is
 * accepted.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { readCertificate } from '../../../extensions/saml/service-providers/certificates.js';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { type MadeCertificate, makeCertificate } from '../../support/saml/keys/certificates.js';
import { asAdministrator, useSaml } from '../../support/saml/service/administration.js';
import { keyDescriptor, plain } from '../../support/saml/service-providers/metadata.js';
import { nextProvider, useMetadataUrls } from '../../support/saml/service-providers/metadata-urls.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let acmeId: string | undefined;
let usable: MadeCertificate;
let weak: MadeCertificate;
beforeAll(async () => {
  [usable, weak] = await Promise.all([makeCertificate(), makeCertificate(1024)]);
  root = await asAdministrator(service.issuer, 'root');
  acmeId = (await tenantIds(root)).Acme;
});

let count = 0;
const nextId = () => `https://sp-${count++}.example/metadata`;
const register = (metadata: string, more: object = {}) =>
  root.post('/saml-service-providers', { metadata, allowedTenants: [acmeId], ...more });

const POST = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST';
const acs = (attributes: string) => `<md:AssertionConsumerService Binding="${POST}" ${attributes}/>`;
const slo = (attributes: string) => `<md:SingleLogoutService Binding="${POST}" ${attributes}/>`;
const at = 'SPSSODescriptor[0]';

describe('a part that nothing needs is left out with a warning:', () => {
  test.each<[string, () => string, string, RegExp, object]>([
    ['S09: an http ACS', () => acs('index="5" Location="http://sp.example/b"'), `${at}/AssertionConsumerService[0]/@Location`, /https/, {}],
    [
      'an ACS with a fragment',
      () => acs('index="5" Location="https://sp.example/b#c"'),
      `${at}/AssertionConsumerService[0]/@Location`,
      /fragment/,
      {},
    ],
    [
      'an index twice',
      () => acs('index="0" Location="https://sp.example/a"') + acs('index="0" Location="https://sp.example/b"'),
      `${at}/AssertionConsumerService[1]/@index`,
      /no other/,
      { length: 3 },
    ],
    [
      'an index that is no number',
      () => acs('index="first" Location="https://sp.example/a"'),
      `${at}/AssertionConsumerService[0]/@index`,
      /number/,
      { length: 2 },
    ],
    [
      'isDefault="yes"',
      () => acs('index="4" isDefault="yes" Location="https://sp.example/a"'),
      `${at}/AssertionConsumerService[0]/@isDefault`,
      /boolean/,
      { length: 2 },
    ],
    [
      'an SLO by http',
      () => keyDescriptor(usable.der) + slo('Location="http://sp.example"'),
      `${at}/SingleLogoutService[0]/@Location`,
      /https/,
      {},
    ],
    [
      'an SLO whose responses go nowhere',
      () => keyDescriptor(usable.der) + slo('Location="https://sp.example" ResponseLocation=""'),
      `${at}/SingleLogoutService[0]/@ResponseLocation`,
      /URL/,
      {},
    ],
    ['S19: an RSA key of 1024 bits', () => keyDescriptor(weak.der), `${at}/KeyDescriptor[0]`, /2048/, {}],
    ['S19b: a key without a certificate', () => '<md:KeyDescriptor use="signing"/>', `${at}/KeyDescriptor[0]`, /X509Certificate/, {}],
    ['a key that is no certificate', () => keyDescriptor('AAAA'), `${at}/KeyDescriptor[0]`, /X\.509/, {}],
    ['a key for something else', () => keyDescriptor(usable.der, 'both'), `${at}/KeyDescriptor[0]/@use`, /signing/, {}],
  ])('%s', async (_, inside, path, reason, { length = 1 }: { length?: number }) => {
    const { status, json } = await register(plain({ entityId: nextId(), inside: inside() }));
    const places = json.warnings?.map((warning: { path: string }) => warning.path);
    expect([status, places?.includes(path)]).toEqual([201, true]);
    expect(json.warnings[places.indexOf(path)].reason).toMatch(reason);
    expect(json.assertionConsumerServices).toHaveLength(length);
    expect(json.singleLogoutServices).toEqual([]);
    // Reading and changing the record return the same warnings.
    const read = await root(`/saml-service-providers/${json.id}`);
    expect(read.json.warnings).toEqual(json.warnings);
    expect((await root.patch(`/saml-service-providers/${json.id}`, { name: 'Renamed' })).json.warnings).toEqual(json.warnings);
    const mended = await root.patch(`/saml-service-providers/${json.id}`, { metadata: plain({ entityId: json.entityId }) });
    expect([mended.status, mended.json.warnings]).toEqual([200, undefined]);
  });

  test('a document from which the only usable address falls away is refused', async () => {
    const { status, json } = await register(
      plain({ entityId: nextId(), acs: 'http://sp.example/acs', inside: acs('index="1" Location="ftp://x"') }),
    );
    expect([status, json.code, json.errors.length]).toEqual([422, 'metadata_invalid', 2]);
  });

  test('a key that is needed does not fall away', async () => {
    const document = plain({ entityId: nextId(), flags: 'AuthnRequestsSigned="true"', inside: keyDescriptor(weak.der) });
    const { status, json } = await register(document);
    expect([status, json.errors[0].expected]).toEqual([422, expect.stringMatching(/KeyDescriptor\[0\]: .*2048/)]);
  });

  test('a document that an administrator brings may take a key away', async () => {
    const entityId = nextId();
    const document = (key: MadeCertificate) => plain({ entityId, inside: keyDescriptor(key.der) });
    const made = await register(document(usable));
    expect(made.json.signingCertificates).toHaveLength(1);
    const changed = await root.patch(`/saml-service-providers/${made.json.id}`, { metadata: document(weak) });
    // An administrator who sends the document again gets the corrected members.
    expect([changed.status, changed.json.signingCertificates, changed.json.warnings?.length]).toEqual([200, [], 1]);
  });
});

describe('a document at a URL', () => {
  const { service: ofUrls, documents, register: registerAt, refresh } = useMetadataUrls();

  test.each<[string, (text: string) => Buffer]>([
    ['UTF-16, little-endian', (text) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])],
    ['UTF-16, big-endian', (text) => Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()])],
    ['UTF-16 without a byte order mark', (text) => Buffer.from(`<?xml version="1.0" encoding="UTF-16"?>${text}`, 'utf16le')],
    ['ISO-8859-1', (text) => Buffer.from(`<?xml version="1.0" encoding="ISO-8859-1"?>${text}`, 'latin1')],
    ['UTF-8 with a byte order mark', (text) => Buffer.from(`\ufeff<?xml version="1.0"?>${text}`)],
  ])('is read in %s', async (_, encoded) => {
    const { at: path, entityId } = nextProvider();
    const ui =
      '<md:Extensions><u:UIInfo xmlns:u="urn:oasis:names:tc:SAML:metadata:ui"><u:DisplayName>Blåbær</u:DisplayName></u:UIInfo></md:Extensions>';
    documents[path] = encoded(plain({ entityId, inside: ui }));
    const { status, json } = await registerAt(path);
    expect([status, json.errors, json.name]).toEqual([201, undefined, 'Blåbær']);
  });

  test('warnings of a refresh are logged once', async () => {
    const { at: path, entityId } = nextProvider();
    documents[path] = plain({ entityId });
    const { json } = await registerAt(path);
    const told = () =>
      ofUrls.logged.filter(([, message]) => String(message).startsWith('the service ignored invalid parts of SAML metadata'));
    documents[path] = plain({ entityId, inside: acs('index="5" Location="http://sp.example/b"') });
    const warnings = [{ path: `${at}/AssertionConsumerService[0]/@Location`, reason: expect.stringMatching(/https/) }];
    for (const _ of [1, 2, 3]) expect((await refresh(json.id)).json.warnings).toEqual(warnings);
    expect(told()).toEqual([[{ serviceProvider: json.id, warnings }, expect.any(String)]]);
    documents[path] = plain({ entityId });
    expect((await refresh(json.id)).json.warnings).toBeUndefined();
  });
});

const html = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const alone = (text: string) =>
  `<?xml version="1.0"?><EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${text}</EntitiesDescriptor>`;

describe('a document is understood as it was pasted:', () => {
  test.each<[string, (text: string) => string]>([
    ['with a byte order mark', (text) => `\ufeff${text}`],
    ['with a byte order mark and a declaration', (text) => `\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n${text}`],
    ['with another declared encoding', (text) => `<?xml version="1.0" encoding="UTF-16"?>${text}`],
    ['with ISO-8859-1 declared', (text) => `<?xml version='1.0' encoding='ISO-8859-1' standalone='yes'?>${text}`],
    ['with a style sheet', (text) => `<?xml version="1.0"?>\n<?xml-stylesheet type="text/xsl" href="a.xsl"?>\n${text}`],
    ['escaped as HTML', html],
    ['escaped as HTML, with a declaration', (text) => html(`<?xml version="1.0" encoding="UTF-8"?>${text}`)],
    [
      'with what browsers write above it',
      (text) =>
        `This XML file does not appear to have any style information associated with it. The document tree is shown below.\n${text}`,
    ],
    ['alone in an EntitiesDescriptor', alone],
    ['with spaces and lines around it', (text) => ` \r\n\t${text}\n\u00a0`],
    ['with flags of .NET', (text) => text.replace('index="0"', 'index="0" isDefault="True"')],
    ['with a binding in another case', (text) => text.replace('HTTP-POST', 'HTTP-Post')],
  ])('%s', async (_, form) => {
    const entityId = nextId();
    const { status, json } = await register(form(plain({ entityId })));
    expect([status, json.errors, json.entityId, json.warnings]).toEqual([201, undefined, entityId, undefined]);
    expect(json.assertionConsumerServices).toMatchObject([{ url: 'https://sp.example/acs', index: 0 }]);
  });

  test.each([
    ['urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress', 'emailAddress'],
    ['urn:oasis:names:tc:SAML:1.1:nameid-format:emailaddress', 'emailAddress'],
    ['urn:oasis:names:tc:SAML:1.0:nameid-format:emailAddress', 'emailAddress'],
    [' urn:oasis:names:tc:SAML:1.1:nameid-format:transient\n', 'transient'],
    ['emailAddress', 'emailAddress'],
    ['urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified', 'persistent'],
    ['urn:oasis:names:tc:SAML:2.0:nameid-format:entity', 'persistent'],
  ])('NameIDFormat %j is %s', async (uri, format) => {
    const inside = `<md:NameIDFormat>${uri}</md:NameIDFormat>`;
    const { status, json } = await register(plain({ entityId: nextId(), inside }));
    expect([status, json.nameId.format]).toEqual([201, format]);
  });

  test('text with two meanings, or none, is refused', async () => {
    for (const document of [
      html(html(plain({ entityId: nextId() }))),
      `<?xml version="1.0" encoding="EBCDIC"?>${plain({ entityId: nextId() })}x`,
      `<!DOCTYPE a>${plain({ entityId: nextId() })}`,
    ])
      expect((await register(document)).status).toBe(422);
  });
});

describe('a certificate is understood as tools write it:', () => {
  const lines = (der: string) => (der.match(/.{1,64}/g) ?? []).join('\n');
  const pem = (label: string, der: string) => `-----BEGIN ${label}-----\n${lines(der)}\n-----END ${label}-----\n`;
  test.each<[string, (der: string) => string]>([
    ['base64', (der) => der],
    ['base64 with lines of Windows', (der) => lines(der).replaceAll('\n', '\r\n')],
    ['PEM', (der) => pem('CERTIFICATE', der)],
    ['PEM with a byte order mark', (der) => `\ufeff${pem('CERTIFICATE', der)}`],
    ['PEM with lines of Windows', (der) => pem('CERTIFICATE', der).replaceAll('\n', '\r\n')],
    ['PEM on one line', (der) => pem('CERTIFICATE', der).replaceAll('\n', ' ')],
    ['PEM with escaped lines', (der) => pem('CERTIFICATE', der).replaceAll('\n', '\\n')],
    [
      'PEM with what PKCS #12 tools write above it',
      (der) => `Bag Attributes\n    localKeyID: 01 02\nsubject=CN = sp.example\n\n${pem('CERTIFICATE', der)}`,
    ],
    ['an old label', (der) => pem('X509 CERTIFICATE', der)],
    [
      'OpenSSL’s trusted certificate',
      (der) =>
        pem(
          'TRUSTED CERTIFICATE',
          Buffer.concat([Buffer.from(der, 'base64'), Buffer.from('300c300a06082b06010505070301', 'hex')]).toString('base64'),
        ),
    ],
  ])('%s', (_, form) => {
    expect(readCertificate(form(usable.der))).toMatchObject({ certificate: usable.der });
  });

  test('the error names what the text is instead', () => {
    expect(readCertificate(pem('PRIVATE KEY', usable.der))).toContain('it is a PRIVATE KEY');
    expect(readCertificate(pem('CERTIFICATE', usable.der) + pem('CERTIFICATE', weak.der))).toContain('there are 2');
    for (const text of ['', '-----', pem('CERTIFICATE', 'AAAA'), 'MII*']) expect(readCertificate(text)).toContain('an X.509 certificate');
  });
});
