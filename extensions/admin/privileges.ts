/** Nobody grants more than they hold: whoever can put somebody into a group, or sign in as them, gets what they may do. */
import { isAdminScope, type OperationRequest } from '../../lib/extension-door.js';
import { errors } from './errors.js';

type Request = Pick<OperationRequest, 'administrator' | 'directory'>;

/** @throws IdpError `grant_exceeds_own` unless the administrator holds all of what is privileged among these, or administers all tenants. */
export function checkHolds({ administrator: { ofAllTenants, holds }, directory }: Request, permissionIds: readonly string[]): void {
  if (!ofAllTenants && !permissionIds.filter(directory.privileges.isPrivileged).every(holds)) throw errors('grant_exceeds_own');
}

/** @throws IdpError `all_tenants_required` where privileged permissions are put into a group. */
export function checkPermissionsOfGroup({ administrator, directory }: Request, before: readonly string[], after: readonly string[]): void {
  const isAdded = (id: string): boolean => directory.privileges.isPrivileged(id) && !before.includes(id);
  if (!administrator.ofAllTenants && after.some(isAdded)) throw errors('all_tenants_required');
}

/** @throws IdpError `grant_exceeds_own` for a client that may do more in the admin API than who changes it: its secret would be theirs. */
export function checkScopesOfClient({ administrator: { holds } }: Request, ...scopes: readonly (readonly string[])[]): void {
  if (!scopes.flat().filter(isAdminScope).every(holds)) throw errors('grant_exceeds_own');
}
