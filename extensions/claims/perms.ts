import type { ClaimLookups } from '../../lib/claims.js';
import { defineClaims } from '../../lib/claims.js';

async function permissionsOf(lookups: ClaimLookups): Promise<string[]> {
  const groups = await lookups.groups();
  return [...new Set(groups.flatMap(({ permissionIds }) => permissionIds))].sort();
}

export const permsClaims = defineClaims({
  name: 'perms',
  claims: {
    perm: {
      scope: 'perms',
      type: 'strings',
      description: 'Identifiers of the permissions that the groups of the user carry',
      value: ({ user, lookups }) => (user.groupIds.length === 0 ? [] : permissionsOf(lookups)),
    },
  },
  onError: 'fail',
});
