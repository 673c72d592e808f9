/**
 * Decoding of published or pasted metadata: removes the encoding, and the text around the document. Messages of service providers are decoded strictly
 * instead, in `xml/strict`.
 */
import { MalformedXml } from '../xml/malformed.js';
import { decodedText } from '../xml/strict.js';

/** Encodings that products declare, and their names for a `TextDecoder`. */
const encodings: ReadonlyMap<string, string> = new Map([
  ['utf-8', 'utf-8'],
  ['utf8', 'utf-8'],
  ['us-ascii', 'utf-8'],
  ['ascii', 'utf-8'],
  ['iso-8859-1', 'windows-1252'],
  ['latin1', 'windows-1252'],
  ['windows-1252', 'windows-1252'],
]);
const declared = /^<\?xml\b[^?>]*?\sencoding\s*=\s*["']([\w.-]+)["']/;

/**
 * Returns the encoding of a document in bytes: by its byte order mark, its first bytes, or its declaration.
 * @see XML 1.0 Appendix F
 * @throws MalformedXml
 */
function encodingOf(bytes: Uint8Array): string {
  const [first = 0, second = 0] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const start = Buffer.from(bytes.subarray(0, 200))
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '');
  const encoding = encodings.get((declared.exec(start.trimStart())?.[1] ?? 'utf-8').toLowerCase());
  if (encoding === undefined) throw new MalformedXml('xml_encoding');
  return encoding;
}

const escapes: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", '#34': '"', '#39': "'", '#x27': "'", amp: '&' };

/** Removes one layer of escapes if the text begins with a reference. No XML document begins with a reference, so the whole text must be escaped. */
const unescaped = (text: string): string =>
  /^&(?:lt|#60|#x3c);/i.test(text)
    ? text.replace(/&(lt|gt|quot|apos|#34|#39|#x27|amp);/gi, (_, name: string) => escapes[name.toLowerCase()] ?? '')
    : text;

/** Text that browsers show above a document without a style sheet. */
const ofBrowsers = /^This XML file does not appear to have any style information[^<]*/;
const styleSheet = /^(<\?xml\s[^?>]*\?>)?\s*<\?xml-stylesheet\s[^?>]*\?>\s*/;

/**
 * Returns the document in a text or in bytes. Removes a byte order mark, a declared encoding and a style sheet, because none of them has a meaning here.
 * @throws MalformedXml
 */
export function documentIn(xml: string | Uint8Array): string {
  const text = unescaped((typeof xml === 'string' ? xml : decodedText(xml, encodingOf(xml))).trim().replace(ofBrowsers, ''));
  return text.replace(styleSheet, '$1').replace(declared, (declaration) => declaration.replace(/\sencoding\s*=\s*["'][\w.-]+["']$/, ''));
}
