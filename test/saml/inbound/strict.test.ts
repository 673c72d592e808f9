/** Documents that the strict parser accepts and refuses. Threats I6 and I7 of the security reference, reference on SAML §3. */
import { describe, expect, test } from '@jest/globals';
import { attribute, children, one, required, textOf } from '../../../extensions/saml/xml/elements.js';
import { type Malformation, MalformedXml } from '../../../extensions/saml/xml/malformed.js';
import { decodedText, parseStrict } from '../../../extensions/saml/xml/strict.js';
import { booleanAttribute, indexAttribute, instantOf } from '../../../extensions/saml/xml/values.js';

const refusal = (xml: string, limits = {}): Malformation | 'parsed' => {
  try {
    parseStrict(xml, limits);
    return 'parsed';
  } catch (error) {
    if (!(error instanceof MalformedXml)) throw error;
    return error.reason;
  }
};

describe('I6: constructs that have two readings', () => {
  test.each<[string, string, Malformation]>([
    ['a DTD', '<!DOCTYPE a><a/>', 'xml_forbidden_construct'],
    ['a DTD in small letters', '<!doctype a><a/>', 'xml_forbidden_construct'],
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', 'xml_forbidden_construct'],
    ['a billion laughs', '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><a>&y;</a>', 'xml_forbidden_construct'],
    ['a DTD after the declaration', '<?xml version="1.0"?><!DOCTYPE a><a/>', 'xml_forbidden_construct'],
    ['an entity that nobody declared', '<a>&x;</a>', 'xml_forbidden_construct'],
    ['an entity of HTML', '<a>&nbsp;</a>', 'xml_forbidden_construct'],
    ['a bare ampersand', '<a>a & b</a>', 'xml_forbidden_construct'],
    ['an entity in an attribute', '<a b="&x;"/>', 'xml_forbidden_construct'],
    ['a comment in a value', '<a>alice<!-- -->.evil</a>', 'xml_forbidden_construct'],
    ['a comment before the root', '<!-- --><a/>', 'xml_forbidden_construct'],
    ['CDATA', '<a><![CDATA[alice]]></a>', 'xml_forbidden_construct'],
    ['a processing instruction', '<a>alice<?x y?>.evil</a>', 'xml_forbidden_construct'],
    ['a second declaration', '<?xml version="1.0"?><?xml version="1.0"?><a/>', 'xml_forbidden_construct'],
    ['a declaration after a space', ' <?xml version="1.0"?><a/>', 'xml_forbidden_construct'],
    ['XML 1.1', '<?xml version="1.1"?><a/>', 'xml_forbidden_construct'],
    ['another encoding', '<?xml version="1.0" encoding="ISO-8859-1"?><a/>', 'xml_encoding'],
    ['UTF-16, as it says', '<?xml version="1.0" encoding="UTF-16"?><a/>', 'xml_encoding'],
    ['UTF-7, as it says', '<?xml version="1.0" encoding="utf-7"?><a/>', 'xml_encoding'],
    ['a character that XML has not', '<a>\u0000</a>', 'xml_not_well_formed'],
    ['a reference to one', '<a>&#0;</a>', 'xml_not_well_formed'],
    ['a reference to half a character', '<a>&#xD800;</a>', 'xml_not_well_formed'],
    ['a reference beyond Unicode', '<a>&#x110000;</a>', 'xml_not_well_formed'],
    ['half a character', '<a>\uD800</a>', 'xml_not_well_formed'],
    ['a reference with letters', '<a>&#x41zz;</a>', 'xml_forbidden_construct'],
    ['the end of CDATA', '<a>]]></a>', 'xml_not_well_formed'],
    ['two roots', '<a/><a/>', 'xml_not_well_formed'],
    ['text before the root', 'a<a/>', 'xml_not_well_formed'],
    ['text after the root', '<a/>a', 'xml_not_well_formed'],
    ['a second byte order mark', '\uFEFF<a/>', 'xml_not_well_formed'],
    ['nothing', '', 'xml_not_well_formed'],
    ['no end', '<a>', 'xml_not_well_formed'],
    ['half a tag', '<a', 'xml_not_well_formed'],
    ['ends that cross', '<a><b></a></b>', 'xml_not_well_formed'],
    ['an end in other letters', '<a></A>', 'xml_not_well_formed'],
    ['an end with something behind it', '<a></a b>', 'xml_not_well_formed'],
    ['an attribute without quotes', '<a b=c/>', 'xml_not_well_formed'],
    ['an attribute without value', '<a b/>', 'xml_not_well_formed'],
    ['attributes without a space', '<a b="1"c="2"/>', 'xml_not_well_formed'],
    ['an attribute twice', '<a b="1" b="2"/>', 'xml_not_well_formed'],
    ['a prefixed attribute twice', '<a xmlns:x="u:x" x:b="1" x:b="2"/>', 'xml_not_well_formed'],
    ['an attribute twice, by two prefixes', '<a xmlns:x="u:x" xmlns:y="u:x" x:b="1" y:b="2"/>', 'xml_not_well_formed'],
    ['a tag in an attribute', '<a b="<c/>"/>', 'xml_not_well_formed'],
    ['a prefix that nobody declared', '<x:a/>', 'xml_not_well_formed'],
    ['a prefix of an attribute that nobody declared', '<a x:b="1"/>', 'xml_not_well_formed'],
    ['a prefix that is over', '<a><b xmlns:x="u:x"/><x:c/></a>', 'xml_not_well_formed'],
    ['a prefix taken back', '<a xmlns:x="u:x"><b xmlns:x=""/></a>', 'xml_not_well_formed'],
    ['the prefix xml for something else', '<a xmlns:xml="u:x"/>', 'xml_not_well_formed'],
    ['the prefix xmlns', '<a xmlns:xmlns="u:x"/>', 'xml_not_well_formed'],
    ['another prefix for xml', '<a xmlns:x="http://www.w3.org/XML/1998/namespace"/>', 'xml_not_well_formed'],
    ['the prefix __proto__', '<__proto__:a xmlns:__proto__="u:x"/>', 'xml_not_well_formed'],
    ['the prefix constructor', '<constructor:a xmlns:constructor="u:x"/>', 'xml_not_well_formed'],
    ['the attribute hasOwnProperty', '<a hasOwnProperty="1" b="2"/>', 'xml_not_well_formed'],
    ['two colons', '<x:y:a xmlns:x="u:x"/>', 'xml_not_well_formed'],
    ['XHTML, whose scripts are parsed by other rules', '<script xmlns="http://www.w3.org/1999/xhtml">a</script>', 'xml_not_well_formed'],
    ['one ID twice', '<a ID="x"><b ID="x"/></a>', 'xml_duplicate_id'],
    ['one ID in other letters', '<a ID="x"><b Id="x"/></a>', 'xml_duplicate_id'],
    ['one ID by a reference', '<a ID="x"><b ID="&#120;"/></a>', 'xml_duplicate_id'],
    ['one ID with a prefix', '<a ID="x"><b xml:id="x"/></a>', 'xml_duplicate_id'],
  ])('%s', (_name, xml, reason) => {
    expect(refusal(xml)).toBe(reason);
  });

  test('in comments, where they are allowed, nothing is read, and nothing remains of them', () => {
    const root = parseStrict('<!-- a --><a><!-- <b> & </c> -->alice<!-- -->.evil<b/><!----></a><!-- z -->', { allowComments: true });
    expect(root.toString()).toBe('<a>alice.evil<b/></a>');
    for (const xml of ['<a><!-- a -- b --></a>', '<a><!-- a ---></a>', '<a><!-- a</a>', '<a b="<!-- -->"/>', '<a <!-- -->b="1"/>'])
      expect(refusal(xml, { allowComments: true })).toBe('xml_not_well_formed');
    for (const xml of ['<!DOCTYPE a><a/>', '<a><![CDATA[a]]></a>', '<a><?b c?></a>', '<a><!- - --></a>'])
      expect(refusal(xml, { allowComments: true })).toBe('xml_forbidden_construct');
  });

  test.each([
    ['UTF-16 with a byte order mark', Buffer.from('\uFEFF<a/>', 'utf16le')],
    ['a byte that UTF-8 has not', Buffer.from([0x3c, 0x61, 0xff, 0x2f, 0x3e])],
    ['a longer form of a character', Buffer.from([0x3c, 0x61, 0xc0, 0xaf, 0x2f, 0x3e])],
  ])('%s', (_name, bytes) => {
    expect(() => decodedText(bytes)).toThrow(expect.objectContaining({ reason: 'xml_encoding' }));
  });

  test('UTF-16 without a byte order mark is no XML in UTF-8', () => {
    expect(refusal(decodedText(Buffer.from('<a/>', 'utf16le')))).toBe('xml_not_well_formed');
  });
});

describe('I7: limits, before there is a tree', () => {
  const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth);
  test.each([
    ['bytes', '<a>é</a>', { maxBytes: 9 }, { maxBytes: 8 }, 'xml_too_long'],
    ['elements and attributes', '<a b="1"><c/><c/></a>', { maxNodes: 4 }, { maxNodes: 3 }, 'xml_too_complex'],
    ['depth', nested(3), { maxDepth: 3 }, { maxDepth: 2 }, 'xml_too_complex'],
  ])('%s', (_name, xml, enough, tooLittle, reason) => {
    expect([refusal(xml, enough), refusal(xml, tooLittle)]).toEqual(['parsed', reason]);
  });

  test.each([
    ['24 deep', nested(24), 'parsed'],
    ['25 deep', nested(25), 'xml_too_complex'],
    ['3,000 deep', nested(3000), 'xml_too_complex'],
    ['30,000 deep', nested(30_000), 'xml_too_long'],
    ['30,000 deep without an end', '<a>'.repeat(21_000), 'xml_too_complex'],
    ['150,000 siblings', `<a>${'<b/>'.repeat(150_000)}</a>`, 'xml_too_long'],
    ['as many siblings as fit', `<a>${'<b/>'.repeat(16_000)}</a>`, 'xml_too_complex'],
    ['65 attributes', `<a ${Array.from({ length: 65 }, (_, index) => `b${index}="1"`).join(' ')}/>`, 'xml_too_complex'],
  ])('%s', (_name, xml, reason) => {
    expect(refusal(xml)).toBe(reason);
  });
});

test('the tree is that of the document', () => {
  const root = parseStrict(
    decodedText(
      Buffer.from(
        '\uFEFF<?xml version="1.0" encoding="utf-8" standalone="yes"?>\r\n<x:a xmlns:x="u:x" xmlns="u:y" x:b = \'"&apos;&#x41;\' c="&lt;"  ><b >\n é &amp;&#10;b </b ><b/><x:b xmlns:x="u:z">1</x:b></x:a >\n',
      ),
    ),
  );
  expect([root.namespaceURI, root.localName, attribute(root, 'c'), attribute(root, 'b'), attribute(root, 'x:b')]).toEqual([
    'u:x',
    'a',
    '<',
    undefined,
    `"'A`,
  ]);
  expect(children(root, 'u:y', 'b')).toHaveLength(2);
  expect(textOf(children(root, 'u:y', 'b')[0] as never)).toBe('é &\nb');
  expect(textOf(required(root, 'u:z', 'b'))).toBe('1');
  expect(one(root, 'u:x', 'b')).toBeUndefined();
});

test('a reader refuses what is missing, there twice, or holds elements, and says no word of the document', () => {
  const root = parseStrict('<a xmlns="u:y" t="yes" n="65536"><b>secret<c/></b><d/><d/></a>');
  for (const read of [
    () => required(root, 'u:y', 'e'),
    () => one(root, 'u:y', 'd'),
    () => textOf(required(root, 'u:y', 'b')),
    () => booleanAttribute(root, 't'),
    () => indexAttribute(root, 'n'),
  ])
    expect(read).toThrow(expect.objectContaining({ reason: 'xml_structure', message: expect.not.stringMatching(/secret|yes|65536/) }));
});

test('xs:boolean in both spellings, with white space around them', () => {
  const of = (value: string) => booleanAttribute(parseStrict(`<a b="${value}"/>`), 'b');
  expect(['true', '1', ' true ', '\n1', 'false', '0', ' 0\t'].map(of)).toEqual([true, true, true, true, false, false, false]);
  for (const value of ['', 'TRUE', 'True', 'yes', '2', '01', 'true false', '\u00a0true']) expect(() => of(value)).toThrow(MalformedXml);
  expect(booleanAttribute(parseStrict('<a/>'), 'b')).toBeUndefined();
});

test('xs:unsignedShort', () => {
  const of = (value: string) => indexAttribute(parseStrict(`<a b="${value}"/>`), 'b');
  expect(['0', '1', ' 65535 ', '007', '+3'].map(of)).toEqual([0, 1, 65_535, 7, 3]);
  for (const value of ['', '-1', '65536', '1.0', '1e3', '0x1', '１']) expect(() => of(value)).toThrow(MalformedXml);
});

test('xs:dateTime with fraction and offset', () => {
  const noon = Date.UTC(2026, 10, 23, 12);
  expect(
    [
      '2026-11-23T12:00:00Z',
      '2026-11-23T12:00:00',
      '2026-11-23T14:00:00+02:00',
      '2026-11-23T06:30:00-05:30',
      '2026-11-23T12:00:00.0000001Z',
    ].map(instantOf),
  ).toEqual(Array(5).fill(noon));
  expect(['2026-11-23T12:00:00.5Z', '2026-11-23T12:00:00.123456789+00:00', '2024-02-29T00:00:00Z'].map(instantOf)).toEqual([
    noon + 500,
    noon + 123,
    Date.UTC(2024, 1, 29),
  ]);
  for (const value of ['', '2026-11-23', '2026-11-23 12:00:00Z', '2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-11-23T24:00:01Z'])
    expect(instantOf(value)).toBeUndefined();
  for (const value of [
    '2026-11-23T12:00:00+15:00',
    '2026-11-23T12:00Z',
    '+2026-11-23T12:00:00Z',
    '1795435200000',
    '2026-11-23T12:00:00.Z',
    'now',
  ])
    expect(instantOf(value)).toBeUndefined();
});
