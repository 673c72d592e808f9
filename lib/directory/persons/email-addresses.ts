/** Effects on a user when the e-mail address of its person changes. */
import type { Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import { isSameAddress } from '../../text/compared.js';
import { isEmailAddress } from '../../text/email-address.js';
import { isNameOf } from '../identifiers.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { isAtLeast, weaker } from '../vouchers.js';
import { hasUser, withNewLink } from './user-record.js';

/** Returns the address for mail about the account. An unproven address does not replace a proven one. */
export function accountEmailOf({ email, user }: PersonWithUser): string | undefined {
  return mailable(user.provenEmail ?? email);
}

/** Returns the voucher of the address of {@link accountEmailOf}. */
export const accountEmailVoucherOf = ({ emailVouchedBy, user }: PersonWithUser): Voucher | undefined =>
  user.provenEmail === undefined ? emailVouchedBy : user.provenEmailVouchedBy;

/** Returns a stored address if it is valid, because a row may be older than the rule about addresses. */
export const mailable = (address: string | undefined): string | undefined =>
  address !== undefined && isEmailAddress(address) ? address : undefined;

/** Returns the address that the person proved last; undefined if there is none. */
export function provenEmailOf({ email, user }: PersonWithUser): string | undefined {
  const { provenEmail, emailVerified, emailProof } = user;
  if (provenEmail !== undefined) return provenEmail;
  const isProven =
    emailVerified ||
    (emailProof?.usedAt !== undefined && isSameAddress(emailProof.address, email)) ||
    (emailProof?.former !== undefined && isSameAddress(emailProof.former, email));
  return isProven ? email : undefined;
}

/**
 * Returns the document with another address. Mailed links for the former address expire, and the former address is notified of the change.
 * @param now the time that all nodes share
 * @param before the document before the change
 * @param vouchedBy voucher of the writer. The same address keeps its voucher.
 */
export function withChangedEmail(now: () => number, before: Person, next: Person, vouchedBy: Voucher | undefined): Person {
  if (isSameAddress(before.email, next.email)) return next;
  const { emailVouchedBy: _, ...others } = next;
  const vouched: Person = { ...others, ...(next.email !== undefined && vouchedBy && { emailVouchedBy: vouchedBy }) };
  const { user } = next;
  if (!user) return vouched;
  const { provenEmail: kept, provenEmailVouchedBy: ofKept, formerEmails = [], passwordReset, emailProof, ...rest } = user;
  const provenEmail = kept ?? (hasUser(before) ? provenEmailOf(before) : undefined);
  const ofProven = kept === undefined ? before.emailVouchedBy : ofKept;
  const former =
    before.email === undefined ? formerEmails : [...formerEmails.filter((address) => !isSameAddress(address, before.email)), before.email];
  const changed: User = {
    ...rest,
    emailVerified: false,
    ...(provenEmail !== undefined &&
      next.email !== undefined &&
      !isSameAddress(provenEmail, next.email) && { provenEmail, ...(ofProven && { provenEmailVouchedBy: ofProven }) }),
    ...(former.length > 0 && { formerEmails: former.slice(-MOST) }),
    ...(passwordReset && { passwordReset: { ...passwordReset, expiresAt: new Date(0) } }),
    // A used proof is the reason for this change.
    ...(emailProof && { emailProof: emailProof.usedAt ? emailProof : { ...emailProof, expiresAt: new Date(0) } }),
  };
  const event = pendingEvent(now, 'UserEmailChanged', next.tid, { AggregateId: user.id });
  return withEvents(withNewLink({ ...vouched, user: changed }, vouchedBy), event);
}

/** Maximum number of former addresses that wait to be notified. */
const MOST = 5;

/** Returns the person after a mailed link proved the address. `emailVerified` concerns the user name. @see service specification, claims */
export function withProvenEmail(person: PersonWithUser, address: string, vouchedBy: Voucher): PersonWithUser {
  if (!isSameAddress(address, person.email) || !isEmailAddress(address)) return person;
  const { provenEmail: _, provenEmailVouchedBy: __, ...user } = person.user;
  const emailVerified = user.emailVerified || isNameOf(user, address);
  return withEmailVoucher({ ...person, user: { ...user, emailVerified } }, vouchedBy);
}

/**
 * Returns the person with a new voucher for an address that a tenant's administrator vouched for. The former voucher stays if it covers something that the
 * new voucher does not cover.
 */
export function withEmailVoucher(person: PersonWithUser, vouchedBy: Voucher): PersonWithUser {
  const { emailVouchedBy: before } = person;
  return before?.by === 'tenant' && isAtLeast(vouchedBy, before) ? { ...person, emailVouchedBy: vouchedBy } : person;
}

/**
 * Returns the voucher of a person who used a link that was mailed to the account's address. The voucher covers no more than the writers of the link and of
 * the address vouch for. The reason is that the mailbox may belong to either writer.
 */
export const ofMailedLink = (link: Voucher | undefined, person: PersonWithUser): Voucher =>
  weaker(weaker(link, accountEmailVoucherOf(person)), { by: 'person' }) ?? { by: 'person' };

/** Returns the user without the formerly proven address, if the present address is verified by `emailVerified`. */
export function withoutDoubt(user: User): User {
  const { provenEmail: _, provenEmailVouchedBy: __, ...rest } = user;
  return user.emailVerified ? rest : user;
}
