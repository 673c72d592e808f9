/**
 * Vouchers: a voucher names the writer of a means by which a user signs in or joins a group. The voucher also names the privileges that the
 * writer held. A means opens an account only while its voucher covers the privileges of the account. So a means that is older than a privilege
 * does not open the account.
 *
 * A means without a voucher counts, because a row may have been written by another program.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CredentialRef, ExternalIdentity, Person, PersonWithUser, User, Voucher } from '../store/records/records.js';
import type { DirectoryContext, Privilege } from './context.js';
import { newId } from './identifiers.js';

/**
 * Returns the voucher for a means that the context's caller writes now.
 * @param person whose account the means opens; absent for a new person. The voucher covers the tenants of child accounts too.
 */
export async function voucherFor(context: DirectoryContext, tid: string, person?: Person): Promise<Voucher> {
  const { vouching, collections, isPrivileged } = context;
  if ('by' in vouching) return vouching;
  if (vouching.ofAllTenants) return { by: 'operator' };
  const children = person?.user?.isParent ? await collections.persons.find({ byParent: [person.user.id] }) : [];
  const tids = [...new Set([tid, ...children.map((child) => child.tid)])].filter((one) => vouching.administers(one));
  return { by: 'tenant', tids, permissionIds: vouching.permissionIds.filter(isPrivileged) };
}

/** Returns whether a means with this voucher opens an account with these privileges. */
export const covers = (voucher: Voucher | undefined, privileges: readonly Privilege[]): boolean =>
  voucher?.by !== 'tenant' ||
  privileges.every(
    ({ tid, permissionId }) => permissionId !== undefined && voucher.tids?.includes(tid) && voucher.permissionIds?.includes(permissionId),
  );

/** Returns whether the voucher covers every privilege that the other voucher covers. */
export const isAtLeast = (voucher: Voucher, other: Voucher): boolean =>
  voucher.by !== 'tenant' || (other.by === 'tenant' && covers(voucher, privilegesOf(other)));

const privilegesOf = ({ tids = [], permissionIds = [] }: Voucher): readonly Privilege[] =>
  tids.flatMap((tid) => permissionIds.map((permissionId) => ({ tid, permissionId })));

/** Returns the identities. New identities get the voucher; identities that were recorded before keep their vouchers. */
export const vouchedIdentities = (
  given: readonly ExternalIdentity[],
  before: readonly ExternalIdentity[],
  vouchedBy: Voucher,
): readonly ExternalIdentity[] =>
  given.map(({ idp, subject }) => before.find((one) => one.idp === idp && one.subject === subject) ?? { idp, subject, vouchedBy });

/**
 * Returns the voucher for the privileges that both writers held, for example for an invitation link that both have seen.
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

const isSame = (one: CredentialRef, other: CredentialRef): boolean => one.kind === other.kind && one.id === other.id;

/** Returns the voucher that the user's record has for a credential. */
export const credentialVoucherOf = ({ credentialVouchers = [] }: User, credential: CredentialRef): Voucher | undefined =>
  credentialVouchers.find((one) => isSame(one, credential))?.vouchedBy;

/** Returns the user with the voucher of a credential that was set now. Only a voucher that has limits is recorded. */
export function withCredentialVoucher(user: User, { kind, id }: CredentialRef, vouchedBy: Voucher | undefined): User {
  const { credentialVouchers = [], ...rest } = user;
  const credential = { kind, ...(id !== undefined && { id }) };
  const others = credentialVouchers.filter((one) => !isSame(one, credential));
  const all = vouchedBy?.by === 'tenant' ? [...others, { ...credential, revision: newId(), vouchedBy }] : others;
  return { ...rest, ...(all.length > 0 && { credentialVouchers: all }) };
}

/**
 * Returns the voucher of a means of many users after another administrator vouched for it too. A voucher that covers the privileges stays.
 * Otherwise the result covers no privilege that neither writer held. The result keeps as many privileges of the former voucher as one list
 * of tenants and one list of permissions can state.
 * @example
 * ```ts
 * import { raised, type Voucher } from 'tenant-idp/extension';
 *
 * const tids = ['0197a000-0000-7000-8000-000000000001'];
 * const former: Voucher = { by: 'tenant', tids, permissionIds: ['idp.users:read'] };
 * const now = raised(former, { by: 'tenant', tids, permissionIds: ['idp.users:write'] }, [{ tid: tids[0] ?? '', permissionId: 'idp.users:write' }]);
 * console.log(now?.permissionIds); // ['idp.users:read', 'idp.users:write']
 * ```
 */
export function raised(former: Voucher | undefined, vouchedBy: Voucher, privileges: readonly Privilege[]): Voucher | undefined {
  if (covers(former, privileges)) return former;
  if (former?.by !== 'tenant' || vouchedBy.by !== 'tenant') return vouchedBy;
  const shared = weaker(former, vouchedBy);
  const all = (of: readonly string[] = [], others: readonly string[] = []) => [...new Set([...of, ...others])];
  const inSharedTenants: Voucher = { by: 'tenant', ...shared, permissionIds: all(former.permissionIds, vouchedBy.permissionIds) };
  const ofSharedPermissions: Voucher = { by: 'tenant', ...shared, tids: all(former.tids, vouchedBy.tids) };
  return [ofSharedPermissions, inSharedTenants].find((one) => covers(one, privileges)) ?? vouchedBy;
}

/** A means that signs a user in, or adds users to a group. */
export interface Means {
  /** Kind of the means: `invitation`, `reset`, `identity`, `address`, `password` or `link` of a user. Extensions add further kinds. */
  readonly kind: string;
  readonly tid: string;
  readonly userId?: string;
  /** Id of the invitation, of the parent account of an account link, or of the record of an extension. */
  readonly id?: string;
  readonly idp?: string;
  readonly subject?: string;
  /** An e-mail address that gets the reset links of “Forgotten password?”. */
  readonly address?: string;
}

/** A means with its voucher, as it was read. */
export interface VouchedMeans extends Means {
  readonly vouchedBy?: Voucher | undefined;
  /** Text that changes with each write of the record behind the means. Present only if the other members do not describe the means completely. */
  readonly revision?: string;
}

/** Returns whether a means is unchanged since it was listed. */
const isListed = (means: VouchedMeans, listed: readonly VouchedMeans[]): boolean => listed.some((one) => isDeepStrictEqual(one, means));

/** Returns a text that changes with each new mailed link and with each fetch of a mailed link, because another person may have fetched it. */
const revisionOf = ({ serial, fetches = 0 }: { readonly serial: number; readonly fetches?: number }): string => `${serial}.${fetches}`;

/** Returns the address of a person as a means. */
export const addressesOf = ({ tid, email, emailVouchedBy, user }: Person): readonly VouchedMeans[] =>
  email === undefined ? [] : [{ kind: 'address', tid, ...(user && { userId: user.id }), address: email, vouchedBy: emailVouchedBy }];

/** Returns the means of a user that still work, with their vouchers. @param now milliseconds since the epoch, by the time that all nodes share */
export function meansOf(person: PersonWithUser, now: number): readonly VouchedMeans[] {
  const { tid, user } = person;
  const { id: userId, invitation, passwordReset, externalIdentities, provenEmail, provenEmailVouchedBy, status, statusBefore } = user;
  const { parentUserId, parentVouchedBy, credentialVouchers = [] } = user;
  const isOpen = ({ expiresAt }: { readonly expiresAt: Date }) => expiresAt.getTime() > now;
  const isInvited = status === 'invited' || statusBefore === 'invited';
  return [
    ...(invitation && isInvited && isOpen(invitation)
      ? [{ kind: 'invitation', tid, userId, id: invitation.id, revision: revisionOf(invitation), vouchedBy: invitation.vouchedBy }]
      : []),
    ...(passwordReset && passwordReset.usedAt === undefined && isOpen(passwordReset)
      ? [{ kind: 'reset', tid, userId, revision: revisionOf(passwordReset), vouchedBy: passwordReset.vouchedBy }]
      : []),
    ...externalIdentities.map(({ idp, subject, vouchedBy }) => ({ kind: 'identity', tid, userId, idp, subject, vouchedBy })),
    ...addressesOf(person),
    ...(provenEmail === undefined ? [] : [{ kind: 'address', tid, userId, address: provenEmail, vouchedBy: provenEmailVouchedBy }]),
    ...credentialVouchers.map((one) => ({ ...one, tid, userId })),
    ...(parentUserId === undefined ? [] : [{ kind: 'link', tid, userId, id: parentUserId, vouchedBy: parentVouchedBy }]),
  ];
}

/** Returns the person with the given voucher on each means that is unchanged since it was listed. @param now as {@link meansOf} has it */
export function withVoucher(person: PersonWithUser, listed: readonly VouchedMeans[], vouchedBy: Voucher, now: number): PersonWithUser {
  const confirmed = meansOf(person, now).filter((means) => isListed(means, listed));
  const isConfirmed = (members: Partial<Means>): boolean => confirmed.some((means) => isDeepStrictEqual({ ...means, ...members }, means));
  const { invitation, passwordReset, externalIdentities, provenEmail, credentialVouchers } = person.user;
  const hasAddress = (address: string | undefined): boolean => address !== undefined && isConfirmed({ kind: 'address', address });
  return {
    ...person,
    ...(hasAddress(person.email) && { emailVouchedBy: vouchedBy }),
    user: {
      ...person.user,
      externalIdentities: externalIdentities.map((one) =>
        isConfirmed({ kind: 'identity', idp: one.idp, subject: one.subject }) ? { ...one, vouchedBy } : one,
      ),
      ...(invitation && isConfirmed({ kind: 'invitation' }) && { invitation: { ...invitation, vouchedBy } }),
      ...(passwordReset && isConfirmed({ kind: 'reset' }) && { passwordReset: { ...passwordReset, vouchedBy } }),
      ...(hasAddress(provenEmail) && { provenEmailVouchedBy: vouchedBy }),
      ...(credentialVouchers && {
        credentialVouchers: credentialVouchers.map(({ vouchedBy: former, ...one }) => ({
          ...one,
          vouchedBy: isConfirmed(one) ? vouchedBy : former,
        })),
      }),
      ...(isConfirmed({ kind: 'link' }) && { parentVouchedBy: vouchedBy }),
    },
  };
}
