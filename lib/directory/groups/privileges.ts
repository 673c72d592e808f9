/** What opens more than an application to people: whoever can put somebody into a group, or become somebody, gets what they may do. */
import { isAdminScope } from '../clients/client-scopes.js';
import type { Privileges } from '../context.js';

/** @param others permissions that count as those of the admin API do */
export function createPrivileges(others: readonly string[] = []): Privileges {
  const isPrivileged = (permissionId: string): boolean => isAdminScope(permissionId) || others.includes(permissionId);
  return { isPrivileged, in: (groups) => groups.flatMap(({ permissionIds }) => permissionIds.filter(isPrivileged)) };
}
