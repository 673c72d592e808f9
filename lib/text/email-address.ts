/** E-mail addresses: the one rule for every place that accepts an address. */
import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { normalForm } from './normal-form.js';

/** Maximum octets of an address. @see RFC 5321 §4.5.3.1 */
export const LONGEST_ADDRESS = 254;
const LONGEST_LOCAL_PART = 64;
const LONGEST_LABEL = 63;

/** Atoms with dots between them, of ASCII and of the letters, marks and digits of all scripts. @see RFC 5322 §3.2.3, RFC 6531 §3.3 */
const dotAtom = /^(?!\p{M})[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}-]+(?:\.(?!\p{M})[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}-]+)*$/u;
/** Labels with dots between them. @see RFC 5321 §2.3.5, RFC 5890 §2.3.2.1 */
const labels = /^(?![\p{M}-])[\p{L}\p{M}\p{N}-]+(?<!-)(?:\.(?![\p{M}-])[\p{L}\p{M}\p{N}-]+(?<!-))*$/u;
/** Invisible letters and marks. If they were allowed, two texts that look the same would be two addresses. */
const unseen = /\p{Default_Ignorable_Code_Point}/u;

/**
 * Returns whether the text is one e-mail address: a dot-atom, `@`, and a domain or an address literal. A domain is of ASCII or of any script, and may be
 * one label. Quoted local parts, comments, and names in addition to the address are refused, because programs that send mail read them in different ways.
 * @example
 * ```ts
 * import { isEmailAddress } from 'tenant-idp/extension';
 *
 * console.log(isEmailAddress('root@localhost'), isEmailAddress('a@b.test,c@d.test')); // true false
 * ```
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > LONGEST_ADDRESS || Buffer.byteLength(text) > LONGEST_ADDRESS) return false;
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(0, at));
  const domain = text.slice(at + 1);
  if (Buffer.byteLength(local) > LONGEST_LOCAL_PART || !isWritten(local, dotAtom)) return false;
  return domain.startsWith('[') ? isLiteral(domain) : isDomain(domain);
}

/**
 * Returns whether the text matches the pattern. The pattern must also match in normal form, because some letters become signs and spaces in normal form.
 */
const isWritten = (text: string, pattern: RegExp): boolean =>
  pattern.test(text) && !unseen.test(text) && pattern.test(normalForm(text, 'NFKC'));

function isDomain(domain: string): boolean {
  if (!isWritten(domain, labels)) return false;
  const ascii = domainToASCII(domain);
  const parts = ascii.split('.');
  // An IPv4 address is not a domain, and must be written as a literal.
  return ascii !== '' && !/^\d+$/.test(parts.at(-1) ?? '') && parts.every((label) => label !== '' && label.length <= LONGEST_LABEL);
}

/** @see RFC 5321 §4.1.3 */
function isLiteral(domain: string): boolean {
  const [, version6, address = ''] = /^\[(IPv6:)?([\d.:a-f]+)\]$/i.exec(domain) ?? [];
  return version6 === undefined ? isIPv4(address) : isIPv6(address);
}
