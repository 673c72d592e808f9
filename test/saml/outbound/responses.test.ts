/** SAML Core §5, Exclusive XML Canonicalization: written messages are canonical, and three verifiers agree on their signatures. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { XmlC14NMode, XmlDocument } from 'libxml2-wasm';
import { logoutRequestXml, logoutResponseXml } from '../../../extensions/saml/messages/logout.js';
import { type ReleasedAttribute, responseXml } from '../../../extensions/saml/messages/response.js';
import { UnwritableText } from '../../../extensions/saml/xml/write.js';
import { describeInstalled } from '../../servers/installed.js';
import { type TestKey, testKeyOf } from '../../support/saml/keys/test-keys.js';
import {
  acsUrl,
  assertionOf,
  errorParts,
  idpEntityId,
  persistent,
  signed,
  spEntityId,
  successOf,
} from '../../support/saml/outbound/messages.js';
import { nodeSaml, profileByNodeSaml, signedByXmlCrypto, verifyByXmlsec } from '../../support/saml/outbound/verifiers.js';

const xmlsec = { xmlsec1: 'xmlsec1' };

let key: TestKey;
let other: TestKey;
beforeAll(async () => {
  key = await testKeyOf('idp.example.com');
  other = await testKeyOf('other.example.com');
});

const bothSigned = { ...signed, signResponse: true };
const messageSigned = { ...signed, signAssertion: false, signResponse: true };
const neither = { ...signed, signAssertion: false };

const response = (assertion: Parameters<typeof successOf>[0] = {}, serviceProvider: typeof signed = signed) =>
  responseXml(successOf(assertion), { signer: key.signer, serviceProvider });

const logoutRequest = () =>
  logoutRequestXml(
    {
      id: '_out',
      entityId: idpEntityId,
      destination: acsUrl,
      issuedAt: Date.now(),
      nameId: persistent,
      sessionIndex: 's & 1',
      notOnOrAfter: Date.now(),
    },
    key.signer,
  );
const logoutResponse = () =>
  logoutResponseXml(
    {
      entityId: idpEntityId,
      destination: acsUrl,
      issuedAt: Date.now(),
      inResponseTo: '_in',
      status: { code: 'Success', subCode: 'PartialLogout' },
    },
    key.signer,
  );

const canonical = (xml: string): string => {
  using document = XmlDocument.fromString(xml);
  return document.canonicalizeToString({ mode: XmlC14NMode.XML_C14N_EXCLUSIVE_1_0 });
};

/** Returns the values of the attributes, read by libxml2. */
const valuesIn = (xml: string): readonly string[] => {
  using document = XmlDocument.fromString(xml);
  return document.find('//saml:AttributeValue', { saml: 'urn:oasis:names:tc:SAML:2.0:assertion' }).map((value) => value.content);
};

/** Values that break incomplete escaping. */
const hostile = [
  `'"<>&`,
  ']]>',
  '<![CDATA[<Attribute Name="role">]]>',
  '<!-- --><saml:AttributeValue>admin</saml:AttributeValue>',
  '&amp;&#x41;&unknown;',
  ' spaces  around ',
  'tab\tand\nnewline',
  'carriage\rreturn\r\nand newline',
  '',
  'Zoë 日本語 עברית',
  '😀 and 𐀀',
  '\u0080\u0085\u009f\u00a0\u2028\u2029\ufeff\ufffd',
];

describe('SAML Core §5: signatures', () => {
  test.each([
    ['the assertion', () => response(), ['Assertion']],
    ['message and assertion', () => response({}, bothSigned), ['Response', 'Assertion']],
    ['the message alone', () => response({}, messageSigned), ['Response']],
    ['the assertion where a service provider wants neither', () => response({}, neither), ['Assertion']],
    ['an error', () => responseXml(errorParts, { signer: key.signer, serviceProvider: signed }), ['Response']],
    ['a LogoutRequest', logoutRequest, ['LogoutRequest']],
    ['a LogoutResponse', logoutResponse, ['LogoutResponse']],
  ])('%s is signed, as xml-crypto sees it, and by no other key', (_, write, expected) => {
    const xml = write();
    expect(signedByXmlCrypto(xml, key.certificate)).toEqual(expected);
    expect(() => signedByXmlCrypto(xml, other.certificate)).toThrow();
    expect(() =>
      signedByXmlCrypto(xml.replace('Destination="https', 'Destination="http').replace('>pseudonym<', '>other<'), key.certificate),
    ).toThrow();
  });

  test.each([
    ['a response', () => response({ attributes: [{ name: 'note', values: hostile }] }, bothSigned)],
    ['an error', () => responseXml(errorParts, { signer: key.signer, serviceProvider: signed })],
    ['a LogoutRequest', logoutRequest],
    ['a LogoutResponse', logoutResponse],
  ])('%s is its own canonical form, by libxml2', (_, write) => {
    const xml = write();
    expect(canonical(xml)).toBe(xml.replaceAll('&#x85;', '\u0085').replaceAll('&#x2028;', '\u2028'));
  });

  test('each hostile value is read as it was, by libxml2', () => {
    expect(valuesIn(response({ attributes: [{ name: 'note', values: hostile }] }))).toEqual(hostile);
  });

  test('each message and assertion has an ID of its own', () => {
    const ids = Array.from({ length: 20 }, () => response()).flatMap((xml) => [...xml.matchAll(/ ID="([^"]+)"/g)].map(([, id]) => id));
    expect(new Set(ids).size).toBe(40);
    expect(ids.every((id) => /^_[0-9a-f]{40}$/.test(id ?? ''))).toBe(true);
  });
});

describeInstalled('SAML Core §5: signatures by xmlsec1', xmlsec, () => {
  test.each([
    [
      'response',
      () => response({ attributes: [{ name: 'note', values: hostile }] }, bothSigned),
      [['Response'], ['Response', 'Assertion']],
    ],
    ['error', () => responseXml(errorParts, { signer: key.signer, serviceProvider: signed }), [['Response']]],
    ['LogoutRequest', logoutRequest, [['LogoutRequest']]],
    ['LogoutResponse', logoutResponse, [['LogoutResponse']]],
  ])('%s', async (_, write, paths) => {
    const xml = write();
    for (const path of paths) await verifyByXmlsec(xml, key.certificate, path);
    for (const path of paths) await expect(verifyByXmlsec(xml, other.certificate, path)).rejects.toThrow();
  });
});

describe('SAML Profiles §4.1.4: a service provider by node-saml', () => {
  const strict = { wantAssertionsSigned: true, wantAuthnResponseSigned: true };

  test('signs in by a response whose assertion and message are signed, and reads what was said', async () => {
    const profile = await profileByNodeSaml(response({}, bothSigned), nodeSaml(key.certificate, strict));
    expect(profile).toMatchObject({
      issuer: idpEntityId,
      nameID: 'pseudonym',
      nameIDFormat: persistent.format,
      sessionIndex: 'session-1',
      attributes: { tid: 'acme', 'urn:oid:2.5.4.42': 'Zoë', role: ['admin', 'editor'] },
    });
    await expect(profileByNodeSaml(response({}, bothSigned), nodeSaml(other.certificate, strict))).rejects.toThrow(
      'Invalid document signature',
    );
    await expect(profileByNodeSaml(response({}, signed), nodeSaml(key.certificate, strict))).rejects.toThrow();
  });

  test('is told of an error by a signed message', async () => {
    const denied = { ...errorParts, status: { code: 'Responder', subCode: 'RequestDenied', message: 'not you & not now' } } as const;
    const xml = responseXml(denied, { signer: key.signer, serviceProvider: signed });
    await expect(profileByNodeSaml(xml, nodeSaml(key.certificate, strict))).rejects.toThrow(/not you & not now/);
    await expect(profileByNodeSaml(xml, nodeSaml(other.certificate, strict))).rejects.toThrow('Invalid document signature');
  });

  test('gets each hostile value, and nothing beside it', async () => {
    const attributes: readonly ReleasedAttribute[] = hostile.map((value, index) => ({ name: `v${index}`, values: [value, `"${value}`] }));
    const { attributes: read } = await profileByNodeSaml(response({ attributes }), nodeSaml(key.certificate));
    // node-saml parses the canonical form again, as XML 1.1, and reads an empty text as undefined.
    const asRead = (value: string) => (value === '' ? undefined : value.replace(/[\u0085\u2028]/g, '\n'));
    expect(read).toEqual(Object.fromEntries(hostile.map((value, index) => [`v${index}`, [asRead(value), `"${asRead(value) ?? ''}`]])));
  });

  test('gets names that are hostile', async () => {
    const name = `https://x.example/"><saml:Attribute Name='role'>&\t\r\n]]>`;
    const { attributes } = await profileByNodeSaml(
      response({ attributes: [{ name, friendlyName: `"<>&'`, values: ['a', 'b'] }] }),
      nodeSaml(key.certificate),
    );
    expect(attributes).toEqual({ [name]: ['a', 'b'] });
  });

  test('gets 10,000 values', async () => {
    const values = Array.from({ length: 10_000 }, (_, index) => `<${index}>`);
    const { attributes } = await profileByNodeSaml(response({ attributes: [{ name: 'perm', values }] }), nodeSaml(key.certificate));
    expect(attributes).toEqual({ perm: values });
  });
});

describe('XML 1.0 §2.2: characters that XML forbids', () => {
  const forbidden = ['\u0000', '\u0001', '\u000b', '\u001f', '\ufffe', '\uffff', '\ud800', '\udc00', '\udc00\ud800'];

  test('become U+FFFD in values of attributes, and do not vanish', async () => {
    const values = forbidden.map((character) => `adm${character}in`);
    const xml = response({ attributes: [{ name: 'role', values }] });
    const { attributes } = await profileByNodeSaml(xml, nodeSaml(key.certificate));
    expect(attributes).toEqual({ role: forbidden.map((character) => `adm${'\ufffd'.repeat(character.length)}in`) });
  });

  test.each(forbidden)('are refused in a NameID and in what is a URI: %j', (character) => {
    expect(() => response({ nameId: { value: `a${character}` } })).toThrow(UnwritableText);
    expect(() => response({ audience: `${spEntityId}${character}` })).toThrow(UnwritableText);
    expect(() =>
      responseXml(successOf({}, { destination: `${acsUrl}${character}` }), { signer: key.signer, serviceProvider: signed }),
    ).toThrow(UnwritableText);
  });
});

test('SAML Core §2.7.3: a response without attributes has no statement about them', () => {
  expect(response({ attributes: [] })).not.toContain('AttributeStatement');
});

test('SAML Core §2.7.3.1: an attribute without values says that there is none', async () => {
  const xml = response({ attributes: [{ name: 'role', values: [] }] });
  expect(xml).toContain('NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:basic"></saml:Attribute>');
});

test('SAML Core §2.4.1.2: without a request, nothing is in response to one', async () => {
  const { inResponseTo: _, ...parts } = successOf();
  const xml = responseXml(parts, { signer: key.signer, serviceProvider: signed });
  expect(xml).not.toContain('InResponseTo');
  expect((await profileByNodeSaml(xml, nodeSaml(key.certificate))).nameID).toBe('pseudonym');
});

test('SAML Core §2.7.2: the end of the session is said where there is one', () => {
  const end = Date.UTC(2030, 0, 2, 3, 4, 5);
  expect(response({ sessionNotOnOrAfter: end })).toContain(' SessionNotOnOrAfter="2030-01-02T03:04:05.000Z"');
  expect(response(assertionOf())).not.toContain('SessionNotOnOrAfter');
});
