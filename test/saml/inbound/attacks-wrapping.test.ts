/** Threat I1 of the security reference, and the rows about wrapping in the attack table of the reference on SAML §3. */
import { describe, expect, test } from '@jest/globals';
import { reasonOf, sendPost } from '../../support/saml/inbound/front-door.js';
import { useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import {
  authnRequest,
  logoutRequest,
  type MessageParts,
  newId,
  postFields,
  signatureIn,
  signed,
} from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const evil = 'https://evil.test/acs';

/** Returns a message that the service provider signed. An attacker gets such a message in their own browser, at a sign-in of their own. */
const captured = () => {
  const unsigned = authnRequest({ issuer: wiki, destination: door.at().sso, attributes: `AssertionConsumerServiceURL="${wiki}/acs"` });
  const original = signed(unsigned, door.keys.wiki);
  return { original, signature: signatureIn(original), unsigned };
};
const capturedLogout = () => {
  const unsigned = logoutRequest({ issuer: wiki, destination: door.at().slo });
  const original = signed(unsigned, door.keys.wiki);
  return { original, signature: signatureIn(original), unsigned };
};

interface Forgery {
  readonly endpoint: 'sso' | 'slo';
  readonly capture: typeof captured;
  /** Returns the attacker's message around the captured one. */
  readonly forge: (parts?: Partial<MessageParts>) => string;
}
const forgedAuthn: Forgery['forge'] = (parts) =>
  authnRequest({ issuer: wiki, destination: door.at().sso, attributes: `AssertionConsumerServiceURL="${evil}"`, ...parts });
const forgedLogout: Forgery['forge'] = ({ body = '', ...parts } = {}) =>
  logoutRequest({ issuer: wiki, destination: door.at().slo, body: `${body}<saml:NameID>victim</saml:NameID>`, ...parts });

const forgeries: readonly (readonly [string, Forgery])[] = [
  ['an AuthnRequest with an ACS of their own, from a captured AuthnRequest', { endpoint: 'sso', capture: captured, forge: forgedAuthn }],
  ['a LogoutRequest for a victim, from a captured LogoutRequest', { endpoint: 'slo', capture: capturedLogout, forge: forgedLogout }],
  ['a LogoutRequest for a victim, from a captured AuthnRequest', { endpoint: 'slo', capture: captured, forge: forgedLogout }],
];

describe.each(forgeries)('I1: %s', (_name, { endpoint, capture, forge }) => {
  const refusalOf = async (xml: string) => reasonOf(await sendPost(door.at()[endpoint], postFields(xml)));
  const extensions = (content: string) => `<samlp:Extensions>${content}</samlp:Extensions>`;
  const within = (signature: string, content: string) => signature.replace(/<\/ds:Signature>$/, `${content}</ds:Signature>`);

  test('the captured message is accepted unchanged', async () => {
    const { original } = capture();
    const own = original.includes('LogoutRequest') ? 'slo' : 'sso';
    expect(await sendPost(door.at()[own], postFields(original))).toMatchObject({ serviceProviderId: 'wiki', isSigned: true });
  });

  test('XSW1: the original within the signature of the forged one', async () => {
    const { unsigned, signature } = capture();
    expect(await refusalOf(forge({ body: within(signature, unsigned) }))).toBe('signature_form');
  });

  test('XSW2: the original before the signature, beside it', async () => {
    const { unsigned, signature } = capture();
    expect(await refusalOf(forge({ body: `${unsigned}${signature}` }))).toBe('signature_reference');
  });

  test('XSW3: the signed original first in the forged one', async () => {
    expect(await refusalOf(forge({ body: capture().original }))).toBe('signature_reference');
  });

  test('XSW4: the forged one around the original, with a signature of nobody', async () => {
    const { original, signature } = capture();
    expect(await refusalOf(forge({ body: `${signature.replace(/<ds:Reference[\s\S]*<\/ds:Reference>/, '')}${original}` }))).toBe(
      'signature_reference',
    );
  });

  test('XSW5: the signature in the forged one, the original without it at the end', async () => {
    const { unsigned, signature } = capture();
    expect(await refusalOf(forge({ body: `${signature}${unsigned}` }))).toBe('signature_reference');
  });

  test('XSW6: the signed original within a copy of the signature', async () => {
    const { original, signature } = capture();
    expect(await refusalOf(forge({ body: within(signature, original) }))).toBe('signature_reference');
  });

  test('XSW7: the signed original in Extensions', async () => {
    expect(await refusalOf(forge({ body: extensions(capture().original) }))).toBe('signature_reference');
  });

  test('XSW7: the original in Extensions, its signature below the root', async () => {
    const { unsigned, signature } = capture();
    expect(await refusalOf(forge({ body: `${signature}${extensions(unsigned)}` }))).toBe('signature_reference');
  });

  test('XSW8: the original in ds:Object', async () => {
    const { unsigned, signature } = capture();
    expect(await refusalOf(forge({ body: within(signature, `<ds:Object>${unsigned}</ds:Object>`) }))).toBe('signature_form');
  });

  test('XSW8: the signed original in ds:Object of a signature below the root', async () => {
    const { original, signature } = capture();
    expect(await refusalOf(forge({ body: within(signature, `<ds:Object>${original}</ds:Object>`) }))).toBe('signature_reference');
  });

  test('the forged one in Extensions of the signed original', async () => {
    const { original } = capture();
    const isOfEndpoint = original.includes('LogoutRequest') === (endpoint === 'slo');
    const wrapped = original.replace('</ds:Signature>', `</ds:Signature>${extensions(forge())}`);
    expect(await refusalOf(wrapped)).toBe(isOfEndpoint ? 'signature_invalid' : 'message_kind');
  });

  test('the ID of the original for both', async () => {
    const { unsigned, signature } = capture();
    const id = /ID="([^"]+)"/.exec(unsigned)?.[1] ?? '';
    expect(await refusalOf(forge({ id, body: `${signature}${extensions(unsigned)}` }))).toBe('xml_duplicate_id');
    const other = unsigned.replace(`ID="${id}"`, `ID="${newId()}" xml:id="${id}"`);
    expect(await refusalOf(forge({ id, body: `${signature}${extensions(other)}` }))).toBe('xml_duplicate_id');
  });

  test('the ID of the original for the forged one alone', async () => {
    const { unsigned, signature } = capture();
    const id = /ID="([^"]+)"/.exec(unsigned)?.[1] ?? '';
    expect(await refusalOf(forge({ id, body: signature }))).toBe('signature_invalid');
  });
});

describe('I1: what may be signed, and how', () => {
  const request = () => authnRequest({ issuer: wiki, destination: door.at().sso });
  const refusalOf = async (xml: string) => reasonOf(await sendPost(door.at().sso, postFields(xml)));
  const edited = (edit: (xml: string) => string) => refusalOf(edit(signed(request(), door.keys.wiki)));

  test('two signatures', async () => {
    const once = signed(request(), door.keys.wiki);
    expect(await refusalOf(signed(once, door.keys.wiki))).toBe('signature_reference');
    expect(await refusalOf(once.replace('</ds:Signature>', `</ds:Signature>${signatureIn(once)}`))).toBe('signature_reference');
  });

  test('a signature of an element below the root', async () => {
    const xml = authnRequest({
      issuer: wiki,
      destination: door.at().sso,
      body: '<saml:Subject ID="_a"><saml:NameID>a</saml:NameID></saml:Subject>',
    });
    expect(await refusalOf(signed(xml, door.keys.wiki, { of: "//*[local-name(.)='Subject']" }))).toBe('signature_reference');
  });

  test('a signature of the root, that is not right below it', async () => {
    const xml = authnRequest({ issuer: wiki, destination: door.at().sso, body: '<samlp:Extensions><a xmlns="u:a"/></samlp:Extensions>' });
    expect(await refusalOf(signed(xml, door.keys.wiki, { behind: "//*[local-name(.)='a']" }))).toBe('signature_reference');
  });

  test('a signed Assertion in place of a signed message (samlify #634)', async () => {
    const assertion = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0"><saml:Issuer>${wiki}</saml:Issuer></saml:Assertion>`;
    const extensions = `<samlp:Extensions>${signed(assertion, door.keys.wiki)}</samlp:Extensions>`;
    expect(await refusalOf(authnRequest({ issuer: wiki, destination: door.at().sso, body: extensions }))).toBe('signature_reference');
  });

  test('a reference to the whole document, by no name', async () => {
    expect(await refusalOf(signed(request(), door.keys.wiki, { isEmptyUri: true }))).toBe('signature_reference');
  });

  test.each<[string, (uri: string) => string]>([
    ['an XPointer', (uri) => `#xpointer(id('${uri.slice(1)}'))`],
    ['a URL', () => 'http://127.0.0.1:1/'],
    ['a file', () => 'file:///etc/passwd'],
    ['a quote, to leave the XPath of the library', (uri) => `${uri}' or '1'='1`],
    ['the ID of nothing', () => '#nothing'],
    ['the ID without a hash', (uri) => uri.slice(1)],
  ])('a reference by %s', async (_name, change) => {
    expect(await edited((xml) => xml.replace(/URI="(#[^"]+)"/, (_all, uri: string) => `URI="${change(uri)}"`))).toBe('signature_reference');
  });

  test('no reference, and two', async () => {
    expect(await edited((xml) => xml.replace(/<ds:Reference[\s\S]*<\/ds:Reference>/, ''))).toBe('signature_reference');
    expect(await edited((xml) => xml.replace(/<ds:Reference[\s\S]*<\/ds:Reference>/, '$&$&'))).toBe('signature_reference');
  });

  test.each<[string, (xml: string) => string, string]>([
    [
      'an XPath transform',
      (xml) => xml.replace('</ds:Transforms>', '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/></ds:Transforms>'),
      'signature_form',
    ],
    [
      'an XSLT transform alone',
      (xml) => xml.replaceAll(/<ds:Transform A[^>]*\/>/g, '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>'),
      'signature_form',
    ],
    ['no transform', (xml) => xml.replace(/<ds:Transforms>[\s\S]*<\/ds:Transforms>/, ''), 'signature_form'],
    ['the enveloped transform alone', (xml) => xml.replace(/<ds:Transform Algorithm="[^"]*exc-c14n#"\/>/, ''), 'signature_form'],
    [
      'a canonical form that is none',
      (xml) => xml.replace('exc-c14n#"/><ds:SignatureMethod', 'exc-c14n"/><ds:SignatureMethod'),
      'signature_alg_not_allowed',
    ],
    ['a manifest', (xml) => xml.replace('</ds:KeyInfo>', '</ds:KeyInfo><ds:Manifest/>'), 'signature_form'],
    ['a part of another namespace', (xml) => xml.replace('<ds:SignedInfo>', '<x:a xmlns:x="u:x"/><ds:SignedInfo>'), 'signature_form'],
    ['a part more in SignedInfo', (xml) => xml.replace('</ds:SignedInfo>', '<x:a xmlns:x="u:x"/></ds:SignedInfo>'), 'signature_form'],
    ['two SignedInfo', (xml) => xml.replace(/<ds:SignedInfo>[\s\S]*<\/ds:SignedInfo>/, '$&$&'), 'signature_form'],
    ['a second SignatureValue', (xml) => xml.replace(/<ds:SignatureValue>[\s\S]*<\/ds:SignatureValue>/, '$&$&'), 'signature_form'],
    ['a SignatureValue that is no base64', (xml) => xml.replace('<ds:SignatureValue>', '<ds:SignatureValue>?'), 'signature_form'],
    ['no SignatureValue', (xml) => xml.replace(/<ds:SignatureValue>[\s\S]*<\/ds:SignatureValue>/, ''), 'signature_form'],
    [
      'a DigestValue within another',
      (xml) => xml.replace(/<ds:DigestValue>([^<]*)</, '<ds:DigestValue><ds:DigestValue>$1</ds:DigestValue><'),
      'signature_form',
    ],
    [
      'a length for the signature',
      (xml) => xml.replace(/(<ds:SignatureMethod [^>]*)\/>/, '$1><ds:HMACOutputLength>8</ds:HMACOutputLength></ds:SignatureMethod>'),
      'signature_form',
    ],
    [
      'an algorithm by another attribute',
      (xml) => xml.replace('<ds:SignatureMethod Algorithm=', '<ds:SignatureMethod xmlns:x="u:x" x:Algorithm='),
      'signature_alg_not_allowed',
    ],
  ])('%s', async (_name, edit, reason) => {
    const before = signed(request(), door.keys.wiki);
    expect(edit(before)).not.toBe(before);
    expect(await refusalOf(edit(before))).toBe(reason);
  });

  test('edited after it was signed', async () => {
    expect(await edited((xml) => xml.replace(' Version=', ` AssertionConsumerServiceURL="${evil}" Version=`))).toBe('signature_invalid');
    expect(await edited((xml) => xml.replace(/Issue(?=Instant)/, 'Issue').replace('</saml:Issuer>', ' </saml:Issuer>'))).toBe(
      'signature_invalid',
    );
    expect(await edited((xml) => xml.replace('</samlp:AuthnRequest>', '<samlp:Scoping/></samlp:AuthnRequest>'))).toBe('signature_invalid');
  });

  test('I6: what was signed is read, also where namespaces are declared twice', async () => {
    const xml = request().replaceAll('samlp:', 'x:').replace('xmlns:samlp', 'xmlns:x');
    expect(reasonOf(await sendPost(door.at().sso, postFields(signed(xml, door.keys.wiki))))).toBe('accepted');
    const byDefault = request().replaceAll('samlp:', '').replace('xmlns:samlp', 'xmlns');
    expect(reasonOf(await sendPost(door.at().sso, postFields(signed(byDefault, door.keys.wiki))))).toBe('accepted');
  });
});
