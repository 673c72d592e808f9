/** Accepted signatures on both bindings: algorithms, rotated keys, and keys inside messages. Threats I1, I2, I4. */
import { describe, expect, test } from '@jest/globals';
import { signaturesIn, signedRoot } from '../../../extensions/saml/xml/signature.js';
import { parseStrict } from '../../../extensions/saml/xml/strict.js';
import { reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { elliptic, keyless, lax, rotating, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import {
  authnRequest,
  logoutRequest,
  logoutResponse,
  postFields,
  redirectQuery,
  signatureIn,
  signed,
  uris,
} from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const request = (issuer = wiki, destination: string | null = door.at().sso) => authnRequest({ issuer, destination });
const post = async (xml: string) => reasonOf(await sendPost(door.at().sso, postFields(xml)));
const redirect = async (query: string) => reasonOf(await sendRedirect(door.at().sso, query));
const more = 'http://www.w3.org/2001/04/xmldsig-more#';

describe.each([
  ['rsa', wiki],
  ['ecdsa', elliptic],
] as const)('%s', (type, issuer) => {
  const by = () => (type === 'rsa' ? door.keys.wiki : door.keys.elliptic);

  test.each([256, 384, 512])('with SHA-%d', async (bits) => {
    const algorithm = `${more}${type}-sha${bits}`;
    expect(await redirect(redirectQuery(request(issuer), { by: by(), algorithm }))).toBe('accepted');
    const digest = bits === 384 ? `${more}sha384` : `http://www.w3.org/2001/04/xmlenc#sha${bits}`;
    expect(await post(signed(request(issuer), by(), { algorithm, digest }))).toBe('accepted');
  });

  test('the right key, by an algorithm of the other type', async () => {
    const algorithm = `${more}${type === 'rsa' ? 'ecdsa' : 'rsa'}-sha256`;
    expect(await redirect(redirectQuery(request(issuer), { by: by(), algorithm, ecForm: 'der' }))).toBe('signature_invalid');
    expect(await post(signed(request(issuer), by(), { algorithm }))).toBe('signature_invalid');
  });

  test('a key of the other type', async () => {
    const algorithm = `${more}${type === 'rsa' ? 'ecdsa' : 'rsa'}-sha256`;
    const other = type === 'rsa' ? door.keys.elliptic : door.keys.wiki;
    expect(await redirect(redirectQuery(request(issuer), { by: other, algorithm }))).toBe('signature_invalid');
    expect(await post(signed(request(issuer), other, { algorithm }))).toBe('signature_invalid');
  });
});

test('ECDSA in a URL as Shibboleth writes it, and in XML as the standard does', async () => {
  const algorithm = uris.ecdsaSha256;
  expect(await redirect(redirectQuery(request(elliptic), { by: door.keys.elliptic, algorithm, ecForm: 'der' }))).toBe('accepted');
});

describe('keys', () => {
  test('both of a service provider that changes its key, with KeyInfo and without', async () => {
    for (const by of [door.keys.wiki, door.keys.next]) {
      expect(await redirect(redirectQuery(request(rotating), { by }))).toBe('accepted');
      expect(await post(signed(request(rotating), by))).toBe('accepted');
      expect(await post(signed(request(rotating), by).replace(/<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/, ''))).toBe('accepted');
    }
    expect(await post(signed(request(rotating), door.keys.shop))).toBe('signature_invalid');
  });

  test('one that the message brings along counts for nothing', async () => {
    const { shop, wiki: own } = door.keys;
    expect(await post(signed(request(), shop))).toBe('signature_invalid');
    expect(await post(signed(request(), shop, { keyInfo: own.certificate }))).toBe('signature_invalid');
    expect(await post(signed(request(), own, { keyInfo: shop.certificate }))).toBe('accepted');
    const value = shop.publicKey.export({ format: 'jwk' });
    const keyValue = `<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>${value.n}</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>`;
    expect(await post(signed(request(), shop).replace('<ds:X509Data>', `${keyValue}<ds:X509Data>`))).toBe('signature_invalid');
    const elsewhere = '<ds:RetrievalMethod URI="http://127.0.0.1:1/"/>';
    expect(await post(signed(request(), own).replace('<ds:X509Data>', `${elsewhere}<ds:X509Data>`))).toBe('accepted');
  });

  test('of another service provider, in a URL', async () => {
    expect(await redirect(redirectQuery(request(), { by: door.keys.shop }))).toBe('signature_invalid');
  });
});

describe('where a signature is not required', () => {
  test('an AuthnRequest comes without, and then need not say where to', async () => {
    for (const issuer of [lax, keyless]) {
      expect(await sendPost(door.at().sso, postFields(request(issuer, null)))).toMatchObject({ isSigned: false });
      expect(await sendRedirect(door.at().sso, redirectQuery(request(issuer)))).toMatchObject({ isSigned: false });
    }
  });

  test('one that is there is verified, where there is a key for it', async () => {
    expect(await redirect(redirectQuery(request(lax), { by: door.keys.wiki }))).toBe('signature_invalid');
    expect(await post(signed(request(lax), door.keys.wiki))).toBe('signature_invalid');
    expect(await post(request(lax).replace('</saml:Issuer>', `</saml:Issuer>${signatureIn(signed(request(lax), door.keys.lax))}`))).toBe(
      'signature_reference',
    );
    expect(await sendPost(door.at().sso, postFields(signed(request(lax), door.keys.lax)))).toMatchObject({ isSigned: true });
    expect(await sendPost(door.at().sso, postFields(signed(request(keyless), door.keys.lax)))).toMatchObject({ isSigned: false });
  });

  test('a logout message is signed always', async () => {
    for (const issuer of [lax, keyless, wiki]) {
      const messages = [
        [logoutRequest({ issuer, destination: door.at().slo }), 'SAMLRequest'],
        [logoutResponse({ issuer, destination: door.at().slo }), 'SAMLResponse'],
      ] as const;
      for (const [xml, parameter] of messages) {
        expect(reasonOf(await sendPost(door.at().slo, postFields(xml, { parameter })))).toBe('not_signed');
        expect(reasonOf(await sendRedirect(door.at().slo, redirectQuery(xml, { parameter })))).toBe('not_signed');
      }
    }
  });
});

describe('where the operator wants all requests signed', () => {
  const strict = useFrontDoor({ wantAuthnRequestsSigned: true });

  test('requests that are unsigned, or of a service provider without a certificate, are refused', async () => {
    const to = strict.at().sso;
    for (const issuer of [lax, keyless]) {
      expect(reasonOf(await sendRedirect(to, redirectQuery(request(issuer, to))))).toBe('not_signed');
      expect(reasonOf(await sendPost(to, postFields(request(issuer, to))))).toBe('not_signed');
    }
    expect(reasonOf(await sendRedirect(to, redirectQuery(request(keyless, to), { by: strict.keys.lax })))).toBe('not_signed');
    expect(await sendRedirect(to, redirectQuery(request(lax, to), { by: strict.keys.lax }))).toMatchObject({ isSigned: true });
  });
});

test('the signed part of a form is read, and not the document around it', () => {
  const xml = signed(request(), door.keys.wiki);
  const root = parseStrict(xml);
  const read = signedRoot(xml, root, [door.keys.wiki.publicKey]);
  expect(read.ownerDocument).not.toBe(root.ownerDocument);
  expect([signaturesIn(root).length, signaturesIn(read).length]).toEqual([1, 0]);
});

test('where it is required, a message without is refused', async () => {
  expect(await post(request())).toBe('not_signed');
  expect(await redirect(redirectQuery(request()))).toBe('not_signed');
});

test('a signature as Shibboleth and .NET lay it out, with line breaks in it', async () => {
  const xml = signed(request(), door.keys.wiki);
  const broken = xml.replace(
    /(<ds:SignatureValue>)([^<]*)/,
    (_all, tag: string, value: string) => `${tag}\n${value.replace(/.{76}/g, '$&\r\n')}\n`,
  );
  expect(await post(broken)).toBe('accepted');
});
