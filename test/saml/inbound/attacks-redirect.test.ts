/** Threat I2 of the security reference: the signed part of a URL is the part that is read. SAML Bindings §3.4.4.1. */
import { createHmac } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { keyless, lax, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import {
  authnRequest,
  joined,
  logoutResponse,
  postFields,
  redirectParameters,
  redirectQuery,
  signed,
  uris,
} from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const request = (issuer = wiki) => authnRequest({ issuer, destination: door.at().sso });
const parameters = (relayState?: string) =>
  redirectParameters(request(), { by: door.keys.wiki, ...(relayState === undefined ? {} : { relayState }) });
const send = (query: string) => sendRedirect(door.at().sso, query);
const refusalOf = async (query: string) => reasonOf(await send(query));

describe('I2: the signature is over the characters of the query', () => {
  test.each<[string, (value: string) => string]>([
    ['as encodeURIComponent writes them', encodeURIComponent],
    ['with escapes in small letters', (value) => encodeURIComponent(value).replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase())],
    ['with everything escaped', (value) => Buffer.from(value).toString('hex').replace(/../g, '%$&')],
    ['with + for a space', (value) => encodeURIComponent(value).replaceAll('%20', '+')],
    [
      'as Java writes them',
      (value) =>
        encodeURIComponent(value)
          .replaceAll('%20', '+')
          .replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`),
    ],
  ])('%s', async (_name, encode) => {
    const outcome = await send(redirectQuery(request(), { by: door.keys.wiki, relayState: "to (all) ~the' pages+1é", encode }));
    expect(outcome).toMatchObject({ isSigned: true, binding: 'redirect', relayState: "to (all) ~the' pages+1é" });
  });

  test('parameters in another order, and with others between them', async () => {
    const [message, relayState, algorithm, signature] = parameters('state');
    const others = [
      ['utm_source', 'a'],
      ['SAMLRequest[]', 'b'],
      ['samlrequest', 'c'],
      ['__proto__', 'd'],
    ] as const;
    const mixed = [signature, others[0], algorithm, others[1], relayState, others[2], message, others[3]] as [string, string][];
    expect(await send(`&${joined(mixed)}&&x`)).toMatchObject({ isSigned: true, relayState: 'state' });
  });

  test.each<[string, (pairs: [string, string][]) => [string, string][]]>([
    ['another RelayState', (pairs) => pairs.map(([name, raw]) => [name, name === 'RelayState' ? 'other' : raw])],
    ['no RelayState', (pairs) => pairs.filter(([name]) => name !== 'RelayState')],
    ['an empty RelayState', (pairs) => pairs.map(([name, raw]) => [name, name === 'RelayState' ? '' : raw])],
    [
      'another message',
      (pairs) =>
        pairs.map(([name, raw]) => [name, name === 'SAMLRequest' ? encodeURIComponent(deflateRawSync(request()).toString('base64')) : raw]),
    ],
    [
      'the signature of another message',
      (pairs) => pairs.map(([name, raw]) => [name, name === 'Signature' ? (parameters('state')[3]?.[1] ?? '') : raw]),
    ],
    ['another algorithm', (pairs) => pairs.map(([name, raw]) => [name, name === 'SigAlg' ? raw.replace('sha256', 'sha512') : raw])],
  ])('changed after it was signed: %s', async (_name, change) => {
    const pairs = parameters('state/1');
    expect(joined(change(pairs))).not.toBe(joined(pairs));
    expect(await refusalOf(joined(change(pairs)))).toBe('signature_invalid');
  });

  test('a RelayState added', async () => {
    expect(await refusalOf(`${joined(parameters())}&RelayState=evil`)).toBe('signature_invalid');
  });

  test('an empty RelayState that was signed is none', async () => {
    const outcome = await send(joined(parameters('')));
    expect([reasonOf(outcome), 'relayState' in outcome]).toEqual(['accepted', false]);
  });
});

describe('I2: each parameter once', () => {
  test.each(['SAMLRequest', 'RelayState', 'SigAlg', 'Signature'])('%s twice', async (name) => {
    const pairs = parameters('state');
    const again = pairs.filter(([known]) => known === name);
    expect(await refusalOf(joined([...pairs, ...again]))).toBe('duplicate_parameter');
    expect(await refusalOf(joined([...pairs, [name, '']]))).toBe('duplicate_parameter');
    const escaped = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    expect(await refusalOf(joined([...pairs, ...again.map(([, raw]) => [escaped, raw] as const)]))).toBe('duplicate_parameter');
  });

  test('a name in another spelling', async () => {
    expect(await refusalOf(joined(parameters()).replace('SAMLRequest=', 'SAML%52equest='))).toBe('parameters_malformed');
  });

  test('a request and a response', async () => {
    expect(await refusalOf(`${joined(parameters())}&SAMLResponse=a`)).toBe('duplicate_parameter');
    const fields = { ...postFields(request()), SAMLResponse: 'a' };
    expect(reasonOf(await sendPost(door.at().sso, fields))).toBe('duplicate_parameter');
  });

  test.each(['SAMLRequest', 'SAMLResponse', 'RelayState'])('%s twice in a form, and as a list', async (name) => {
    const fields = new URLSearchParams(postFields(signed(request(), door.keys.wiki)));
    const twice = (again: string) => sendPost(door.at().sso, `${fields}&${name}=a&${again}=b`);
    // If the form also has a message, a list is another parameter.
    const lists = name === 'RelayState' ? [] : [`${name}%5B%5D`, `${name}%5Ba%5D`];
    for (const again of [name, ...lists]) expect(reasonOf(await twice(again))).toBe('duplicate_parameter');
  });

  test('nothing, and neither', async () => {
    for (const query of ['', 'RelayState=a', 'SAMLArt=a', 'samlRequest=a']) expect(await refusalOf(query)).toBe('message_missing');
    expect(reasonOf(await sendPost(door.at().sso, { RelayState: 'a' }))).toBe('message_missing');
    expect(reasonOf(await sendPost(`${door.at().sso}?${joined(parameters())}`, {}))).toBe('message_missing');
  });

  test('escapes that cannot be decoded', async () => {
    for (const query of ['SAMLRequest=%', 'SAMLRequest=%ff', 'RelayState=%E9&SAMLRequest=a', '%=a'])
      expect((await fetch(`${door.at().sso}?${query}`)).status).toBe(400);
    for (const message of ['', 'a', 'a===', 'ab=c', 'ab cd', 'Ä€==', 'YQ', 'YQ==YQ==']) {
      expect(await refusalOf(`SAMLRequest=${encodeURIComponent(message)}`)).toBe('base64');
    }
    expect(reasonOf(await sendPost(door.at().sso, { SAMLRequest: 'PGE?' }))).toBe('base64');
    expect(await refusalOf(`SAMLRequest=${encodeURIComponent(Buffer.from('<a/>').toString('base64'))}`)).toBe('inflate_failed');
    expect(await refusalOf(`${joined(parameters().slice(0, 2))}&Signature=a`)).toBe('base64');
  });

  test('another encoding than DEFLATE', async () => {
    const encoding = 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:';
    expect(await refusalOf(`${joined(parameters())}&SAMLEncoding=${encoding}GZIP`)).toBe('encoding_unsupported');
    expect(await refusalOf(`${joined(parameters())}&SAMLEncoding=${encoding}DEFLATE`)).toBe('accepted');
  });
});

describe('I2: downgrades of the algorithm', () => {
  const rsaSha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1';
  test.each([
    rsaSha1,
    'http://www.w3.org/2000/09/xmldsig#dsa-sha1',
    'http://www.w3.org/2000/09/xmldsig#hmac-sha1',
    'http://www.w3.org/2001/04/xmldsig-more#rsa-md5',
    'http://www.w3.org/2001/04/xmldsig-more#rsa-SHA256',
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'none',
    ' ',
  ])('%s', async (algorithm) => {
    expect(await refusalOf(redirectQuery(request(), { by: door.keys.wiki, algorithm }))).toBe('signature_alg_not_allowed');
    const xml = signed(request(), door.keys.wiki, { algorithm });
    expect(reasonOf(await sendPost(door.at().sso, postFields(xml)))).toBe('signature_alg_not_allowed');
  });

  test.each(['constructor', '__proto__', uris.sha1, 'http://www.w3.org/2001/04/xmldsig-more#md5'])('the digest %s', async (digest) => {
    const xml = signed(request(), door.keys.wiki).replace(/(<ds:DigestMethod Algorithm=")[^"]*/, `$1${digest}`);
    expect(reasonOf(await sendPost(door.at().sso, postFields(xml)))).toBe('signature_alg_not_allowed');
  });

  test.each(['constructor', '__proto__', uris.inclusive])('the canonical form %s', async (canonicalization) => {
    for (const of of ['CanonicalizationMethod', 'Transform'])
      expect(
        reasonOf(
          await sendPost(
            door.at().sso,
            postFields(
              signed(request(), door.keys.wiki).replace(
                new RegExp(`(<ds:${of} Algorithm=")http://www.w3.org/2001/10/xml-exc-c14n#`),
                `$1${canonicalization}`,
              ),
            ),
          ),
        ),
      ).toBe('signature_alg_not_allowed');
  });

  test('HMAC with what is public: the key, and the certificate', async () => {
    const { publicKey, certificate } = door.keys.wiki;
    const pairs = [...redirectParameters(request()), ['SigAlg', encodeURIComponent(uris.hmacSha256)]] as const;
    const pem = `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`;
    for (const secret of [publicKey.export({ type: 'spki', format: 'pem' }), publicKey.export({ type: 'spki', format: 'der' }), pem, '']) {
      const signature = createHmac('sha256', secret)
        .update(joined(pairs as never))
        .digest('base64');
      const query = joined([...pairs, ['Signature', encodeURIComponent(signature)]] as never);
      expect(await refusalOf(query)).toBe('signature_alg_not_allowed');
    }
  });

  test('half a signature', async () => {
    const pairs = parameters();
    for (const name of ['SigAlg', 'Signature']) {
      expect(await refusalOf(joined(pairs.filter(([known]) => known !== name)))).toBe('signature_incomplete');
      expect(await refusalOf(joined(pairs.map(([known, raw]) => [known, known === name ? '' : raw])))).toBe('signature_incomplete');
    }
  });
});

describe('I2: signatures within the message that a URL carries', () => {
  const enveloped = (issuer: string) => signed(request(issuer), issuer === wiki ? door.keys.wiki : door.keys.lax);

  test.each([wiki, lax, keyless])('alone, of %s', async (issuer) => {
    expect(await refusalOf(redirectQuery(enveloped(issuer)))).toBe('signature_enveloped');
  });

  test('beside that of the URL, as pysaml2 sends them: that of the URL counts', async () => {
    expect(await send(redirectQuery(enveloped(wiki), { by: door.keys.wiki }))).toMatchObject({ isSigned: true });
    const wrong = signed(request(), door.keys.shop);
    expect(await send(redirectQuery(wrong, { by: door.keys.wiki }))).toMatchObject({ isSigned: true });
    expect(await refusalOf(redirectQuery(enveloped(wiki), { by: door.keys.shop }))).toBe('signature_invalid');
  });

  test('of pysaml2 in a LogoutResponse', async () => {
    const xml = signed(logoutResponse({ issuer: wiki, destination: door.at().slo }), door.keys.wiki);
    const query = redirectQuery(xml, { by: door.keys.wiki, parameter: 'SAMLResponse' });
    expect(await sendRedirect(door.at().slo, query)).toMatchObject({ isSigned: true, message: { kind: 'LogoutResponse' } });
  });
});

describe('methods', () => {
  test('HEAD uses no message up', async () => {
    const query = joined(parameters());
    expect((await fetch(`${door.at().sso}?${query}`, { method: 'HEAD' })).status).toBe(400);
    expect(await refusalOf(query)).toBe('accepted');
  });

  test.each(['PUT', 'DELETE', 'PATCH'])('%s', async (method) => {
    expect((await fetch(`${door.at().sso}?${joined(parameters())}`, { method })).status).toBe(405);
  });
});
