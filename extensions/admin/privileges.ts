/**
 * Errors of the admin API for callers that would grant more than they hold. The rules are in `directory.privileges`.
 */
import { isAdminScope, type OperationRequest, type Person, type PersonWithUser } from '../../lib/extension-door.js';
import { errors } from './errors.js';

type Request = Pick<OperationRequest, 'administrator' | 'directory'>;

/** @throws IdpError `grant_exceeds_own` unless the administrator may become the person. */
export async function checkMayBecome({ administrator, directory }: Request, person: PersonWithUser): Promise<void> {
  if (!(await directory.privileges.mayBecome(administrator, person))) throw errors('grant_exceeds_own');
}

/**
 * Judges the children whose links an operation ends: from then on their own credentials sign in to them.
 * @throws IdpError `grant_exceeds_own` for a child that the administrator may not become.
 */
export const mayEndLink =
  (request: Request) =>
  (child: PersonWithUser): Promise<void> =>
    checkMayBecome(request, child);

/**
 * @param user undefined for a new one
 * @throws IdpError `grant_exceeds_own` unless the administrator may put the user into the groups; `all_tenants_required` where the user is linked.
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

/** What a group gives to its users, and the name by which requests put users into it. */
export interface GroupMembers {
  readonly name: string;
  readonly permissionIds: readonly string[];
}

/**
 * @param before undefined for a new group
 * @throws IdpError `all_tenants_required` where privileged permissions are put into a group of the tenant; `grant_exceeds_own` where those that the
 * administrator does not hold are taken out of it, or a group that has such permissions is renamed.
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
 * Compares the value with that of the record: everybody with the scope may make it false, or repeat it.
 * @param before undefined for a new user
 * @throws IdpError `email_unproven` where a caller of single tenants makes it true.
 */
export function checkEmailVerified(
  { administrator }: Pick<Request, 'administrator'>,
  { emailVerified }: { readonly emailVerified?: unknown },
  before?: PersonWithUser['user'],
): void {
  if (emailVerified === true && before?.emailVerified !== true && !administrator.ofAllTenants) throw errors('email_unproven');
}

/**
 * Compares the number and the value with those of the record: everybody with the scope may make it false, or repeat it for the same number.
 * @param before undefined for a new person
 * @throws IdpError `phone_unproven` where a caller of single tenants makes it true.
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
 * Judges the id of a new user, which is the `sub` that applications know. A caller who chooses the id could give the new user the accounts that another user has there.
 * @throws IdpError `all_tenants_required` for an id that a caller of some tenants chose.
 */
export function checkUserId({ administrator }: Pick<Request, 'administrator'>, { id }: { readonly id?: unknown }, path: string): void {
  if (id === undefined || administrator.ofAllTenants) return;
  throw errors('all_tenants_required', { path, expected: 'no id, because the service makes the ids of users' });
}

/** @throws IdpError `policy_privileged` unless the administrator may become every user of the tenant. */
export async function checkWeakening({ administrator, directory }: Request, tid: string): Promise<void> {
  if (!(await directory.privileges.mayBecomeAnyone(administrator, tid))) throw errors('policy_privileged');
}

/** @throws IdpError `grant_exceeds_own` for a client that may do more in the admin API than who changes it: its secret would be theirs. */
export function checkScopesOfClient({ administrator: { holds } }: Request, ...scopes: readonly (readonly string[])[]): void {
  if (!scopes.flat().filter(isAdminScope).every(holds)) throw errors('grant_exceeds_own');
}

/**
 * @param isTrusted whether the client has `trustedLoginHint`, before the change or after it
 * @throws IdpError `grant_exceeds_own` for such a client, which signs in every user, unless the administrator administers all tenants and holds each scope
 * of the admin API that a group gives.
 */
export async function checkTrustOfClient({ administrator, directory }: Request, isTrusted: boolean): Promise<void> {
  if (isTrusted && !(await directory.privileges.mayTrustHints(administrator))) throw errors('grant_exceeds_own');
}
