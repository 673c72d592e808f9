/** Checks that no caller of the admin API grants more than the caller holds. The rules are in `directory.privileges`. */
import { isAdminScope, type OperationRequest, type Person, type PersonWithUser } from '../../lib/extension-door.js';
import { errors } from './errors.js';

type Request = Pick<OperationRequest, 'administrator' | 'directory'>;

/** Checks that the administrator may become the person. @throws IdpError `grant_exceeds_own` */
export async function checkMayBecome({ administrator, directory }: Request, person: PersonWithUser): Promise<void> {
  if (!(await directory.privileges.mayBecome(administrator, person))) throw errors('grant_exceeds_own');
}

/**
 * Judges the child accounts whose account links an operation ends, because the own credentials of each child account sign in to it afterwards.
 * @throws IdpError `grant_exceeds_own` for a child account that the administrator may not become.
 */
export const mayEndLink =
  (request: Request) =>
  (child: PersonWithUser): Promise<void> =>
    checkMayBecome(request, child);

/**
 * @param user undefined for a new user
 * @throws IdpError `grant_exceeds_own` unless the administrator may put the user into the groups; `all_tenants_required` instead if the user is linked
 */
export async function checkGrant(
  { administrator, directory }: Request,
  groups: { readonly tid: string; readonly groupIds: readonly string[] },
  user?: PersonWithUser['user'],
): Promise<void> {
  if (await directory.privileges.mayGrant(administrator, groups, user)) return;
  throw errors(user?.parentUserId === undefined ? 'grant_exceeds_own' : 'all_tenants_required');
}

/** @throws IdpError `grant_exceeds_own` unless the administrator may take the groups away from users. */
export async function checkTaking(
  { administrator, directory }: Request,
  groups: { readonly tid: string; readonly groupIds: readonly string[] },
): Promise<void> {
  if (!(await directory.privileges.mayTake(administrator, groups))) throw errors('grant_exceeds_own');
}

/** Permissions that a group gives to its users, and the name by which requests put users into the group. */
export interface GroupMembers {
  readonly name: string;
  readonly permissionIds: readonly string[];
}

/**
 * @param before undefined for a new group
 * @throws IdpError `all_tenants_required` if a caller of single tenants adds privileged permissions to the group
 * @throws IdpError `grant_exceeds_own` if permissions that the administrator does not hold are removed from the group, or if a group with such permissions
 * is renamed
 */
export function checkGroupWrite(
  { administrator, directory: { privileges } }: Request,
  tid: string,
  { name, permissionIds: before }: GroupMembers = { name: '', permissionIds: [] },
  after: GroupMembers,
): void {
  const added = after.permissionIds.filter((id) => !before.includes(id));
  if (!administrator.ofAllTenants && privileges.ofGroups([{ tid, permissionIds: added }]).length > 0) throw errors('all_tenants_required');
  // Requests put users into groups by name. After a new name, users whom a request puts into the old name do not get the group.
  const taken = after.name === name ? before.filter((id) => !after.permissionIds.includes(id)) : before;
  if (!privileges.mayTakePermissions(administrator, { tid, permissionIds: taken })) throw errors('grant_exceeds_own');
}

/**
 * Compares `emailVerified` with the value of the record. Every caller with the scope may make the value false, or repeat it.
 * @param before undefined for a new user
 * @throws IdpError `email_unproven` if a caller of single tenants makes the value true
 */
export function checkEmailVerified(
  { administrator }: Pick<Request, 'administrator'>,
  { emailVerified }: { readonly emailVerified?: unknown },
  before?: PersonWithUser['user'],
): void {
  if (emailVerified === true && before?.emailVerified !== true && !administrator.ofAllTenants) throw errors('email_unproven');
}

/**
 * Compares the number and `phoneNumberVerified` with the record. Every caller with the scope may make the value false, or repeat it for the same number.
 * @param before undefined for a new person
 * @throws IdpError `phone_unproven` if a caller of single tenants makes the value true
 */
export function checkPhoneVerified(
  { administrator }: Pick<Request, 'administrator'>,
  { phoneNumber, phoneNumberVerified }: { readonly phoneNumber?: unknown; readonly phoneNumberVerified?: unknown },
  before?: Person,
): void {
  if (phoneNumberVerified !== true || administrator.ofAllTenants) return;
  const isSame = phoneNumber === undefined || phoneNumber === before?.phoneNumber;
  if (!isSame || before?.phoneNumberVerified !== true) throw errors('phone_unproven');
}

/**
 * Judges the id of a new user, which is the `sub` that applications know. A caller who chooses the id could give the new user another user's accounts in
 * these applications.
 * @throws IdpError `all_tenants_required` if a caller of single tenants chose the id
 */
export function checkUserId({ administrator }: Pick<Request, 'administrator'>, { id }: { readonly id?: unknown }, path: string): void {
  if (id === undefined || administrator.ofAllTenants) return;
  throw errors('all_tenants_required', { path, expected: 'no id, because the service makes the ids of users' });
}

/** @throws IdpError `policy_privileged` unless the administrator may become every user of the tenant. */
export async function checkWeakening({ administrator, directory }: Request, tid: string): Promise<void> {
  if (!(await directory.privileges.mayBecomeAnyone(administrator, tid))) throw errors('policy_privileged');
}

/** @throws IdpError `grant_exceeds_own` if the client may do more in the admin API than the caller, because the caller could get the client's secret */
export function checkScopesOfClient({ administrator: { holds } }: Request, ...scopes: readonly (readonly string[])[]): void {
  if (!scopes.flat().filter(isAdminScope).every(holds)) throw errors('grant_exceeds_own');
}

/**
 * Judges a change of a client with `trustedLoginHint`, which signs in every user.
 * @param isTrusted whether the client has `trustedLoginHint`, before the change or after it
 * @throws IdpError `grant_exceeds_own` unless the administrator administers all tenants and holds each scope of the admin API that a group gives
 */
export async function checkTrustOfClient({ administrator, directory }: Request, isTrusted: boolean): Promise<void> {
  if (isTrusted && !(await directory.privileges.mayTrustHints(administrator))) throw errors('grant_exceeds_own');
}
