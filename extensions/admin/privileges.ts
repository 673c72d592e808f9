/** Nobody grants more than they hold: whoever can put somebody into a group, or sign in as them, gets what they may do. */
import { type Administrator, isPrivileged } from '../../lib/extension-door.js';
import { errors } from './errors.js';

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
