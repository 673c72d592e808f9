/**
 * Pieces of XML that are in exclusive canonical form as they are written, so that they are digested and signed without a parser: namespaces are declared
 * where they are first used and nowhere else, attributes are in the order of their names, no element is abbreviated.
 * @see Exclusive XML Canonicalization 1.0 §3, Canonical XML 1.0 §2.3
 */
import { randomBytes } from 'node:crypto';
import { ns } from './namespaces.js';

/** A character that XML cannot carry, in a text that must not be changed. */
export class UnwritableText extends Error {
  override readonly name = 'UnwritableText';
}

/** @see XML 1.0 §2.2 */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu');

/** Texts without any of these are written as they are. */
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

/** Whether XML can carry it. */
export const isWritable = (value: string): boolean => !FORBIDDEN.test(value);

function refuseForbidden(value: string): void {
  if (!isWritable(value)) throw new UnwritableText('a character that XML 1.0 forbids');
}

const escapedText = (value: string): string => value.replace(/[&<>\r]/g, (character) => IN_TEXT[character] as string);

/** The content of an element. @throws UnwritableText because an identifier that lost a character could be somebody else's. */
export function text(value: string): string {
  if (PLAIN.test(value)) return value;
  refuseForbidden(value);
  return escapedText(value);
}

/**
 * The content of an element that people or their administrators wrote. U+FFFD stands for each character that XML forbids: a value that merely lost it could be
 * another value that means something.
 */
export function tolerantText(value: string): string {
  return PLAIN.test(value) ? value : escapedText(value.replace(ALL_FORBIDDEN, '\ufffd'));
}

/** An attribute with the space before it; nothing where there is no value. @throws UnwritableText */
export function attribute(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  if (PLAIN.test(value)) return ` ${name}="${value}"`;
  refuseForbidden(value);
  return ` ${name}="${value.replace(/[&<"\t\n\r]/g, (character) => IN_ATTRIBUTE[character] as string)}"`;
}

const LINE_ENDS = /[\u0085\u2028]/g;

/**
 * Signed XML as it is sent: U+0085 and U+2028 as references, because parsers such as xmldom read the characters themselves as ends of lines, as XML 1.1 has it,
 * and the signature would not hold. Canonical form, which the signature is over, has the characters.
 * @see XML 1.1 §2.11
 */
export const sendable = (xml: string): string => xml.replace(LINE_ENDS, (character) => (character === '\u0085' ? '&#x85;' : '&#x2028;'));

/** @param at milliseconds since the epoch. @see SAML Core §1.3.3 */
export const instant = (at: number): string => new Date(at).toISOString();

/** A new ID of 160 random bits, which begins as an `xs:ID` may. @see SAML Core §1.3.4 */
export const newMessageId = (): string => `_${randomBytes(20).toString('hex')}`;

/** An issuer that declares its namespace: of whatever stands in a protocol message. @see SAML Core §2.2.5 */
export const issuer = (entityId: string): string => `<saml:Issuer xmlns:saml="${ns.saml}">${text(entityId)}</saml:Issuer>`;
