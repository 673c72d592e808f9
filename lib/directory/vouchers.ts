/**
 * Vouchers: a voucher names the writer of a means by which a user signs in or joins a group, and the privileges that the writer held. A means opens an
 * account only while its voucher covers the privileges of the account, so a means from before a privilege was granted does not open the privilege.
 *
 * A means without a voucher counts, because a row may have been written by another program.
 */
import type { ExternalIdentity, Person, PersonWithUser, Voucher } from '../store/records/records.js';
import type { DirectoryContext, Privilege } from './context.js';

/**
 * Returns the voucher for a means that the context's caller writes now.
 * @param person whose account the means opens; absent for a new one. The voucher covers the tenants of linked children too.
 */
export async function voucherFor(context: DirectoryContext, tid: string, person?: Person): Promise<Voucher> {
  const { vouching, collections, isPrivileged } = context;
  if ('by' in vouching) return vouching;
  if (vouching.ofAllTenants) return { by: 'operator' };
  const children = person?.user?.isParent ? await collections.persons.find({ byParent: [person.user.id] }) : [];
  const tids = [...new Set([tid, ...children.map((child) => child.tid)])].filter((one) => vouching.administers(one));
  return { by: 'tenant', tids, permissionIds: vouching.permissionIds.filter(isPrivileged) };
}

/** Whether a means with this voucher opens an account with these privileges. */
export const covers = (voucher: Voucher | undefined, privileges: readonly Privilege[]): boolean =>
  voucher?.by !== 'tenant' ||
  privileges.every(
    ({ tid, permissionId }) => permissionId !== undefined && voucher.tids?.includes(tid) && voucher.permissionIds?.includes(permissionId),
  );

/** Identities that are new get the voucher. Identities that were recorded before keep theirs. */
export const vouchedIdentities = (
  given: readonly ExternalIdentity[],
  before: readonly ExternalIdentity[],
  vouchedBy: Voucher,
): readonly ExternalIdentity[] =>
  given.map(({ idp, subject }) => before.find((one) => one.idp === idp && one.subject === subject) ?? { idp, subject, vouchedBy });

/**
 * Returns the voucher for the privileges that both writers held, for example for a link that both have seen.
 * @example
 * ```ts
 * import { type Voucher, weaker } from 'tenant-idp/extension';
 *
 * const ofLink: Voucher = { by: 'operator' };
 * const ofReader: Voucher = { by: 'tenant', tids: ['0197a000-0000-7000-8000-000000000001'], permissionIds: ['idp.users:read'] };
 * console.log(weaker(ofLink, ofReader)?.by); // tenant
 * ```
 */
export function weaker(one: Voucher | undefined, other: Voucher | undefined): Voucher | undefined {
  if (one?.by !== 'tenant') return other ?? one;
  if (other?.by !== 'tenant') return one;
  const shared = (of: readonly string[] = [], others: readonly string[] = []) => of.filter((item) => others.includes(item));
  return { by: 'tenant', tids: shared(one.tids, other.tids), permissionIds: shared(one.permissionIds, other.permissionIds) };
}

/** A means that lets somebody in, or puts users into a group. */
export interface Means {
  /** `invitation`, `reset`, `identity` or `address` of a user; an extension has names of its own. */
  readonly kind: string;
  readonly tid: string;
  readonly userId?: string;
  /** Of an invitation, or of the record that an extension keeps. */
  readonly id?: string;
  readonly idp?: string;
  readonly subject?: string;
  /** An e-mail address, to which the links of “Forgotten password?” go. */
  readonly address?: string;
}

type VouchedMeans = Means & { readonly vouchedBy?: Voucher | undefined };

/** Returns the means of a user that still work, with their vouchers. */
export function meansOf({ tid, email, emailVouchedBy, user }: PersonWithUser): readonly VouchedMeans[] {
  const { id: userId, invitation, passwordReset, externalIdentities, provenEmail, provenEmailVouchedBy, status, statusBefore } = user;
  const isOpen = ({ expiresAt }: { readonly expiresAt: Date }) => expiresAt.getTime() > Date.now();
  const isInvited = status === 'invited' || statusBefore === 'invited';
  return [
    ...(invitation && isInvited && isOpen(invitation)
      ? [{ kind: 'invitation', tid, userId, id: invitation.id, vouchedBy: invitation.vouchedBy }]
      : []),
    ...(passwordReset && passwordReset.usedAt === undefined && isOpen(passwordReset)
      ? [{ kind: 'reset', tid, userId, vouchedBy: passwordReset.vouchedBy }]
      : []),
    ...externalIdentities.map(({ idp, subject, vouchedBy }) => ({ kind: 'identity', tid, userId, idp, subject, vouchedBy })),
    ...(email === undefined ? [] : [{ kind: 'address', tid, userId, address: email, vouchedBy: emailVouchedBy }]),
    ...(provenEmail === undefined ? [] : [{ kind: 'address', tid, userId, address: provenEmail, vouchedBy: provenEmailVouchedBy }]),
  ];
}

/** Returns the person with the given voucher on each means whose own voucher does not cover the privileges. */
export function withVoucher(person: PersonWithUser, privileges: readonly Privilege[], vouchedBy: Voucher): PersonWithUser {
  const vouched = <Of extends { readonly vouchedBy?: Voucher }>(means: Of): Of =>
    covers(means.vouchedBy, privileges) ? means : { ...means, vouchedBy };
  const isShort = (own: Voucher | undefined): boolean => !covers(own, privileges);
  const { invitation, passwordReset, externalIdentities, provenEmailVouchedBy } = person.user;
  return {
    ...person,
    ...(isShort(person.emailVouchedBy) && { emailVouchedBy: vouchedBy }),
    user: {
      ...person.user,
      externalIdentities: externalIdentities.map(vouched),
      ...(invitation && { invitation: vouched(invitation) }),
      ...(passwordReset && { passwordReset: vouched(passwordReset) }),
      ...(isShort(provenEmailVouchedBy) && { provenEmailVouchedBy: vouchedBy }),
    },
  };
}
