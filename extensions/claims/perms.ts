import type { ClaimLookups } from '../../lib/claims.js';
import { defineClaims } from '../../lib/claims.js';
import { onceFound } from './once-found.js';

const permissionsOf = (lookups: ClaimLookups) =>
  onceFound(lookups.groups(), (groups) => [...new Set(groups.flatMap(({ permissionIds }) => permissionIds))].sort());

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
