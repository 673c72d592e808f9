/** Texts as they are compared: two texts that people take for the same have the same compared form. */
import { domainToASCII } from 'node:url';
import { withoutUnseen } from './kinds.js';
import { normalForm } from './normal-form.js';

/** Returns a name as it is compared: without what nobody sees, and without case and width. @see Unicode Standard Annex #15 (NFKC) */
export const comparedText = (text: string): string => folded(withoutUnseen(text));

const folded = (text: string): string => normalForm(text, 'NFKC').trim().toLowerCase();

/** A domain that has a second spelling. */
const international = /[^ -~]|(?:^|\.)xn--/;

/**
 * Returns an e-mail address, or a user name, as it is compared. A domain in a script and its form in ASCII are the same domain. The part before `@` is
 * compared as names are.
 * @see RFC 5890 §2.3.2.1
 */
export function comparedAddress(text: string): string {
  const compared = comparedText(text);
  const at = compared.lastIndexOf('@') + 1;
  const domain = compared.slice(at);
  // Anybody can type a user name, and the time to convert a domain grows faster than its length.
  if (at === 0 || domain.length > LONGEST_DOMAIN || !international.test(domain)) return compared;
  return compared.slice(0, at) + (domainToASCII(domain) || domain);
}

/**
 * Returns whether mail to both addresses goes to one mailbox, because they are spellings of one address: domains in any case, in a script or in ASCII, and
 * letters with their signs in one character or several. The case of the part before `@` counts, because the mail server of the domain decides what it means.
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
 * Returns the forms by which a user name is looked up, best first. A user whose name was written before invisible characters were dropped, and fell together
 * with another name, is found by its former form.
 */
export function comparedUserNames(text: string): readonly string[] {
  const [former, now] = [folded(text), comparedAddress(text)];
  return former === now ? [now] : [former, now];
}
