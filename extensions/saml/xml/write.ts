/**
 * Writers of XML in exclusive canonical form, which can be digested and signed without a parser. A namespace is declared only at its first use. Attributes
 * are in the order of their names. No element is abbreviated.
 * @see Exclusive XML Canonicalization 1.0 §3, Canonical XML 1.0 §2.3
 */
import { randomBytes } from 'node:crypto';
import { ns } from './namespaces.js';

/** Thrown for a character that XML forbids, in a text that must not change. */
export class UnwritableText extends Error {
  override readonly name = 'UnwritableText';
}

/** @see XML 1.0 §2.2 */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu');

/** Texts of these characters alone need no escape. */
const PLAIN = /^[ !#-%'-;=?-~]*$/;
const IN_TEXT: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };
const IN_ATTRIBUTE: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
};

/** Returns whether XML allows every character of a text. */
export const isWritable = (value: string): boolean => !FORBIDDEN.test(value);

function refuseForbidden(value: string): void {
  if (!isWritable(value)) throw new UnwritableText('a character that XML 1.0 forbids');
}

const escapedText = (value: string): string => value.replace(/[&<>\r]/g, (character) => IN_TEXT[character] as string);

/** Returns the content of an element. @throws UnwritableText, because an identifier without one of its characters could name another user */
export function text(value: string): string {
  if (PLAIN.test(value)) return value;
  refuseForbidden(value);
  return escapedText(value);
}

/**
 * Returns the content of an element that users or administrators wrote. U+FFFD replaces each character that XML forbids, because a value without the
 * character could be another valid value.
 */
export function tolerantText(value: string): string {
  return PLAIN.test(value) ? value : escapedText(value.replace(ALL_FORBIDDEN, '\ufffd'));
}

/** Returns an attribute with a leading space, or an empty text if there is no value. @throws UnwritableText */
export function attribute(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  if (PLAIN.test(value)) return ` ${name}="${value}"`;
  refuseForbidden(value);
  return ` ${name}="${value.replace(/[&<"\t\n\r]/g, (character) => IN_ATTRIBUTE[character] as string)}"`;
}

const LINE_ENDS = /[\u0085\u2028]/g;

/**
 * Returns signed XML as it is sent, with U+0085 and U+2028 as references. Parsers such as xmldom read the characters themselves as line ends, as XML 1.1
 * does, and the signature would be invalid. The signed canonical form has the characters.
 * @see XML 1.1 §2.11
 */
export const sendable = (xml: string): string => xml.replace(LINE_ENDS, (character) => (character === '\u0085' ? '&#x85;' : '&#x2028;'));

/** Returns an `xs:dateTime`. @param milliseconds since the epoch. @see SAML Core §1.3.3 */
export const instant = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Returns a new ID of 160 random bits. The first character of the ID is valid for an `xs:ID`. @see SAML Core §1.3.4 */
export const newMessageId = (): string => `_${randomBytes(20).toString('hex')}`;

/** Returns an `Issuer` that declares its namespace, for elements of the protocol. @see SAML Core §2.2.5 */
export const issuer = (entityId: string): string => `<saml:Issuer xmlns:saml="${ns.saml}">${text(entityId)}</saml:Issuer>`;
