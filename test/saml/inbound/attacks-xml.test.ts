/** Threat I6 of the security reference: XML that two readers read differently. Runs the cases of `strict.test` through both bindings. */
import { describe, expect, test } from '@jest/globals';
import { reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { countingParses, unparsed } from '../../support/saml/inbound/parser-calls.js';
import { lax, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import { authnRequest, logoutRequest, postFields, redirectQuery, signed } from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const request = () => authnRequest({ issuer: wiki, destination: door.at().sso });
/** Returns the reasons of both bindings: signed in a URL, and unsigned in a form. No parser may run. */
const refusals = async (xml: string | Buffer) => [
  reasonOf(await unparsed(async () => sendRedirect(door.at().sso, redirectQuery(xml, { by: door.keys.wiki })))),
  reasonOf(await unparsed(async () => sendPost(door.at().sso, postFields(xml)))),
];
const both = (reason: string) => [reason, reason];

test('without tricks, it is parsed', async () => {
  const { answer, parses } = await countingParses(() => sendRedirect(door.at().sso, redirectQuery(request(), { by: door.keys.wiki })));
  expect([reasonOf(answer), parses]).toEqual(['accepted', 1]);
});

describe('I6: before parsing', () => {
  const entity = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>';
  const laughs = `<!DOCTYPE a [<!ENTITY l0 "lol">${Array.from({ length: 9 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`).join('')}]>`;
  const changes: readonly (readonly [string, (xml: string) => string])[] = [
    ['an external entity', (xml) => entity + xml.replace('</saml:Issuer>', '&x;</saml:Issuer>')],
    ['a billion laughs', (xml) => laughs + xml.replace('</saml:Issuer>', '&l9;</saml:Issuer>')],
    ['a DTD without entities', (xml) => `<!DOCTYPE samlp:AuthnRequest>${xml}`],
    ['a DTD behind the XML declaration', (xml) => `<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:1/">${xml}`],
    ['a parameter entity', (xml) => `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:1/">%x;]>${xml}`],
    ['a comment in the issuer', (xml) => xml.replace(wiki, `${wiki}<!-- -->.evil`)],
    ['a comment that ends the issuer early', (xml) => xml.replace('</saml:Issuer>', '<!--</saml:Issuer>--></saml:Issuer>')],
    ['CDATA', (xml) => xml.replace(wiki, `<![CDATA[${wiki}]]>`)],
    ['a processing instruction', (xml) => xml.replace(wiki, `${wiki}<?a b?>`)],
    ['a style sheet', (xml) => `<?xml-stylesheet href="http://127.0.0.1:1/"?>${xml}`],
    ['an entity of HTML', (xml) => xml.replace('</saml:Issuer>', '&nbsp;</saml:Issuer>')],
  ];
  test.each(changes)('%s', async (_name, change) => {
    expect(await refusals(change(request()))).toEqual(both('xml_forbidden_construct'));
  });

  test.each<[string, (xml: string) => string | Buffer, string]>([
    ['ISO-8859-1, as the declaration says', (xml) => `<?xml version="1.0" encoding="ISO-8859-1"?>${xml}`, 'xml_encoding'],
    ['UTF-16, as the declaration says', (xml) => `<?xml version="1.0" encoding="UTF-16"?>${xml}`, 'xml_encoding'],
    ['UTF-7, as the declaration says', (xml) => `<?xml version="1.0" encoding="UTF-7"?>${xml}`, 'xml_encoding'],
    ['an encoding by one letter', (xml) => `<?xml version="1.0" encoding="UTF-8 "?>${xml}`, 'xml_forbidden_construct'],
    ['bytes that are no UTF-8', (xml) => Buffer.from(xml.replace('wiki', 'wi\u00ffki'), 'latin1'), 'xml_encoding'],
    [
      'an ID twice',
      (xml) => xml.replace('</saml:Issuer>', `</saml:Issuer><samlp:Extensions ID="${/ID="([^"]*)/.exec(xml)?.[1]}"/>`),
      'xml_duplicate_id',
    ],
    ['a prefix that nobody declared', (xml) => xml.replaceAll('saml:Issuer', 'evil:Issuer'), 'xml_not_well_formed'],
    ['an attribute twice', (xml) => xml.replace(' Version=', ' Version="1.1" Version='), 'xml_not_well_formed'],
    [
      'an attribute twice, by two prefixes',
      (xml) => xml.replace(' Version=', ' xmlns:a="u:a" xmlns:b="u:a" a:x="1" b:x="2" Version='),
      'xml_not_well_formed',
    ],
    ['two roots', (xml) => xml + xml, 'xml_not_well_formed'],
    ['something behind it', (xml) => `${xml}\u0000`, 'xml_not_well_formed'],
  ])('%s', async (_name, change, reason) => {
    expect(await refusals(change(request()))).toEqual(both(reason));
  });

  test('UTF-16, with a byte order mark and without', async () => {
    const utf16 = (text: string) => Buffer.from(text, 'utf16le');
    const viaRedirect = (xml: Buffer) => unparsed(() => sendRedirect(door.at().sso, redirectQuery(xml, { by: door.keys.wiki })));
    expect(reasonOf(await viaRedirect(utf16(`\uFEFF${request()}`)))).toBe('xml_encoding');
    expect(reasonOf(await viaRedirect(utf16(request())))).toBe('xml_not_well_formed');
    const viaPost = (xml: Buffer) => unparsed(() => sendPost(door.at().sso, postFields(xml)));
    expect(reasonOf(await viaPost(utf16(`\uFEFF${request()}`)))).toBe('inflate_failed');
    expect(reasonOf(await viaPost(utf16(request())))).toBe('xml_not_well_formed');
  });

  test('a byte order mark of UTF-8 and a declaration are passed over, once', async () => {
    const xml = `<?xml version="1.0" encoding="utf-8" standalone="no" ?>\r\n${request()}\n`;
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(`\uFEFF${xml}`, { by: door.keys.wiki })))).toBe('accepted');
    const inForm = `\uFEFF<?xml version="1.0"?>${signed(request(), door.keys.wiki)}`;
    expect(reasonOf(await sendPost(door.at().sso, postFields(inForm)))).toBe('accepted');
    // A posted message that does not begin as XML is taken for compressed.
    expect(await refusals(`\uFEFF\uFEFF${request()}`)).toEqual(['xml_not_well_formed', 'inflate_failed']);
  });

  test('a comment within a signed NameID, which the canonical form leaves out', async () => {
    const xml = logoutRequest({ issuer: wiki, destination: door.at().slo, body: '<saml:NameID>alice.evil</saml:NameID>' });
    const inside = signed(xml, door.keys.wiki).replace('alice.evil', 'alice<!-- -->.evil');
    expect(reasonOf(await unparsed(() => sendPost(door.at().slo, postFields(inside))))).toBe('xml_forbidden_construct');
  });

  test('tricks in Extensions, which nobody reads', async () => {
    const within = (content: string) => authnRequest({ issuer: wiki, body: `<samlp:Extensions>${content}</samlp:Extensions>` });
    for (const content of ['<!-- -->', '<![CDATA[a]]>', '<?a b?>', '&a;'])
      expect(await refusals(within(content))).toEqual(both('xml_forbidden_construct'));
  });
});

describe('I6: elements that are not what they look like', () => {
  const send = async (xml: string) => reasonOf(await sendRedirect(door.at().sso, redirectQuery(xml)));
  const laxRequest = (parts: Partial<Parameters<typeof authnRequest>[0]> = {}) => authnRequest({ issuer: lax, ...parts });

  test.each([
    'urn:oasis:names:tc:SAML:1.0:protocol',
    'urn:oasis:names:tc:SAML:2.0:assertion',
    'urn:oasis:names:tc:SAML:2.0:protocol ',
    'a',
  ])('the namespace %j', async (namespace) => {
    expect(await send(laxRequest({ namespace }))).toBe('message_kind');
  });

  test('a message in no namespace, and one that is none', async () => {
    expect(await send('<AuthnRequest/>')).toBe('message_kind');
    const saml = (name: string) => laxRequest().replaceAll('samlp:AuthnRequest', `samlp:${name}`);
    for (const name of ['Response', 'ArtifactResolve', 'ManageNameIDRequest', 'LogoutRequest', 'authnrequest', 'constructor'])
      expect(await send(saml(name))).toBe('message_kind');
  });

  test('a request in the place of a response', async () => {
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(laxRequest(), { parameter: 'SAMLResponse' })))).toBe('message_kind');
    expect(reasonOf(await sendPost(door.at().slo, postFields(logoutRequest({ issuer: lax }), { parameter: 'SAMLResponse' })))).toBe(
      'message_kind',
    );
    expect(reasonOf(await sendPost(door.at().slo, postFields(laxRequest())))).toBe('message_kind');
  });

  test.each<[string, string]>([
    ['of no namespace', `<Issuer>${lax}</Issuer>`],
    ['of the protocol', `<samlp:Issuer>${lax}</samlp:Issuer>`],
    ['twice', `<saml:Issuer>${lax}</saml:Issuer><saml:Issuer>${lax}</saml:Issuer>`],
    ['with an element in it', `<saml:Issuer>${lax}<saml:a/></saml:Issuer>`],
    ['that is empty', '<saml:Issuer> </saml:Issuer>'],
    ['that is missing', ''],
    ['of another format', `<saml:Issuer Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">${lax}</saml:Issuer>`],
  ])('an issuer %s', async (_name, issuerElement) => {
    const outcome = await sendRedirect(door.at().sso, redirectQuery(laxRequest({ issuerElement })));
    expect(outcome).toMatchObject({ reason: 'xml_structure', place: 'Issuer' });
  });

  test('an issuer with white space around it, and of the format of entities, is the issuer', async () => {
    const format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity';
    const issuerElement = `<saml:Issuer Format="${format}">\r\n\t ${lax.replace('lax', '&#108;a&#x78;')}\n</saml:Issuer>`;
    expect(await sendRedirect(door.at().sso, redirectQuery(laxRequest({ issuerElement })))).toMatchObject({ message: { issuer: lax } });
  });

  test('white space of Unicode is part of the issuer', async () => {
    for (const space of ['\u00a0', '\u2003', '\u200b', '&#xA0;'])
      expect(await send(laxRequest({ issuer: `${space}${lax}` }))).toBe('unknown_service_provider');
  });

  test('elements that a request does not have, out of order, and twice', async () => {
    const policy = '<samlp:NameIDPolicy/>';
    for (const body of [
      '<samlp:AuthnRequest/>',
      `<samlp:Scoping/>${policy}`,
      policy + policy,
      '<saml:NameID>a</saml:NameID>',
      '<NameIDPolicy/>',
    ])
      expect(await send(laxRequest({ body }))).toBe('xml_structure');
  });
});

test('refusals say nothing of the document but the name that a service provider could have', async () => {
  const secret = 'PEOPLE-ARE-NAMED-HERE';
  const messages = [
    authnRequest({ issuer: `${secret} Æ` }),
    authnRequest({ issuer: `${secret} ${secret}` }),
    authnRequest({ issuer: lax, attributes: `ForceAuthn="${secret}"` }),
    authnRequest({ issuer: lax, attributes: `AssertionConsumerServiceURL="${secret}"` }),
    authnRequest({ issuer: lax, destination: secret }),
    authnRequest({ issuer: lax, body: `<samlp:${secret}/>` }),
    `<${secret}>`,
  ];
  for (const xml of messages) {
    const outcome = await sendRedirect(door.at().sso, redirectQuery(xml));
    expect(reasonOf(outcome)).not.toBe('accepted');
    expect(JSON.stringify(outcome)).not.toContain(secret);
  }
  expect(JSON.stringify(door.service.lines)).not.toContain(secret);
});
