/** What opens the admin API to people: whoever can put somebody into a group, or become somebody, gets what they may do. */
import type { Group } from '../../store/records/records.js';

/**
 * Whether a permission is of the admin API.
 * @example
 * ```ts
 * import { isPrivileged } from 'tenant-idp/extension';
 *
 * console.log(isPrivileged('idp.users:read'), isPrivileged('orders.view')); // true false
 * ```
 */
export const isPrivileged = (permissionId: string): boolean => permissionId.startsWith('idp.');

/**
 * Permissions of the admin API that members of these groups have.
 * @example
 * ```ts
 * import { type Directory, privilegesIn } from 'tenant-idp/extension';
 *
 * export const ofAll = async (directory: Directory, tid: string) => privilegesIn(await directory.forTenant(tid).groups.find());
 * ```
 */
export const privilegesIn = (groups: readonly Pick<Group, 'permissionIds'>[]): readonly string[] =>
  groups.flatMap(({ permissionIds }) => permissionIds.filter(isPrivileged));
