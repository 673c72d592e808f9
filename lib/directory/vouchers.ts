/**
 * Vouchers: who wrote a means by which a user signs in or joins a group, and which privileges that writer held. A means opens an account only while its
 * voucher covers the privileges of the account, so a means from before a privilege was granted does not open the privilege.
 *
 * A means without a voucher counts, because a row may have been written by another program.
 */
import type { ExternalIdentity, Person, Voucher } from '../store/records/records.js';
import type { DirectoryContext, Privilege } from './context.js';

/**
 * The voucher of what the context's caller writes now.
 * @param person whose account the means opens; absent for a new one. The voucher covers the tenants of linked children too.
 */
export async function voucherFor(context: DirectoryContext, tid: string, person?: Person): Promise<Voucher> {
  const { vouching, collections, isPrivileged } = context;
  if (typeof vouching === 'string') return { by: vouching };
  if (vouching.ofAllTenants) return { by: 'operator' };
  const children = person?.user?.isParent ? await collections.persons.find({ byParent: [person.user.id] }) : [];
  const tids = [...new Set([tid, ...children.map((child) => child.tid)])].filter((one) => vouching.administers(one));
  return { by: 'tenant', tids, permissionIds: vouching.permissionIds.filter(isPrivileged) };
}

/** Whether a means of this voucher opens an account with these privileges. */
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
