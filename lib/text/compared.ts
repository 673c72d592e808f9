/** Comparison of texts. Two texts that look the same to a reader have the same form for comparison. */
import { domainToASCII } from 'node:url';
import { withoutUnseen } from './kinds.js';
import { normalForm } from './normal-form.js';

/**
 * Returns a name in its form for comparison. Invisible characters, case, width and spaces at both ends are ignored. Each run of white space becomes one
 * space.
 * @see Unicode Standard Annex #15 (NFKC), Unicode Standard Annex #44 (White_Space)
 */
export const comparedText = (text: string): string =>
  folded(withoutUnseen(text))
    .replace(/\p{White_Space}+/gu, ' ')
    .trim();

const folded = (text: string): string => normalForm(text, 'NFKC').trim().toLowerCase();

/** A domain that has a second spelling. */
const international = /[^ -~]|(?:^|\.)xn--/;

/**
 * Returns an e-mail address, or a user name, in its form for comparison. A domain in its own script equals its ASCII form. The part before `@` is
 * compared like a name.
 * @see RFC 5890 §2.3.2.1
 */
export function comparedAddress(text: string): string {
  const compared = comparedText(text);
  const at = compared.lastIndexOf('@') + 1;
  const domain = compared.slice(at);
  // The time to convert a domain grows faster than its length, and a user name may be any text.
  if (at === 0 || domain.length > LONGEST_DOMAIN || !international.test(domain)) return compared;
  return compared.slice(0, at) + (domainToASCII(domain) || domain);
}

/**
 * Returns whether mail to both addresses goes to the same mailbox. Domains are compared without case, in their own script or in ASCII. Letters with marks
 * may be one character or several characters. The case of the part before `@` counts, because the mail server of the domain decides what the case means.
 * @see RFC 5321 §2.4, RFC 6532 §3.1
 */
export const isSameAddress = (one: string | undefined, other: string | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && mailboxOf(one) === mailboxOf(other));

function mailboxOf(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@') + 1);
  return normalForm(local, 'NFC') + comparedAddress(`x@${address.slice(local.length)}`).slice('x@'.length);
}

/** @see RFC 1035 §2.3.4 */
const LONGEST_DOMAIN = 253;

/**
 * Returns the forms by which a user name is looked up, best first. An older user name may have been written before invisible characters and the number of
 * spaces were ignored. If such a name now equals another name, the user is found by the former form.
 */
export function comparedUserNames(text: string): readonly string[] {
  const [former, now] = [folded(text), comparedAddress(text)];
  return former === now ? [now] : [former, now];
}
