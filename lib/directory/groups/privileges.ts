/** What opens more than an application to people: whoever can put somebody into a group, or become somebody, gets what they may do. */
import type { Group } from '../../store/records/records.js';
import { isAdminScope } from '../clients/client-scopes.js';

export interface Privileges {
  /** Whether a permission is of the admin API, or the one that lets people act as others. */
  isPrivileged(permissionId: string): boolean;
  /** Those that members of these groups have. */
  in(groups: readonly Pick<Group, 'permissionIds'>[]): readonly string[];
}

/** @param others permissions that count as those of the admin API do */
export function createPrivileges(others: readonly string[] = []): Privileges {
  const isPrivileged = (permissionId: string): boolean => isAdminScope(permissionId) || others.includes(permissionId);
  return { isPrivileged, in: (groups) => groups.flatMap(({ permissionIds }) => permissionIds.filter(isPrivileged)) };
}
