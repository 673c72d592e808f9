/** Nobody grants more than they hold: whoever can put somebody into a group, or sign in as them, gets what they may do. */
import type { Administrator, Directory, Person } from '../../lib/extension-door.js';
import { errors } from './errors.js';

/** Permissions that open the admin API to people. */
const isPrivileged = (permissionId: string): boolean => permissionId.startsWith('idp.');

/** What the user of a person may do in the admin API, and what those may that are linked to it: who signs in as a parent signs in as its children. */
export async function privilegesOf({ accounts }: Directory, person: Person): Promise<readonly string[]> {
  if (!person.user) return [];
  const self = { ...person, user: person.user };
  const all = self.user.isParent ? (await accounts.family(self)).map((account) => account.person) : [self];
  const groups = await Promise.all(all.map((each) => accounts.groups(each)));
  return groups.flat().flatMap(({ permissionIds }) => permissionIds.filter(isPrivileged));
}

/** @throws IdpError `grant_exceeds_own` unless the administrator holds all of what is privileged among these, or administers all tenants. */
export function checkHolds({ ofAllTenants, holds }: Administrator, permissionIds: readonly string[]): void {
  if (!ofAllTenants && !permissionIds.filter(isPrivileged).every(holds)) throw errors('grant_exceeds_own');
}

/** @throws IdpError `all_tenants_required` where privileged permissions are put into a group. */
export function checkPermissionsOfGroup({ ofAllTenants }: Administrator, before: readonly string[], after: readonly string[]): void {
  if (!ofAllTenants && after.some((id) => isPrivileged(id) && !before.includes(id))) throw errors('all_tenants_required');
}

/** @throws IdpError `grant_exceeds_own` for a client that may do more in the admin API than who changes it: its secret would be theirs. */
export function checkScopesOfClient({ holds }: Administrator, ...scopes: readonly (readonly string[])[]): void {
  if (!scopes.flat().filter(isPrivileged).every(holds)) throw errors('grant_exceeds_own');
}
