import { defineClaims } from '../../lib/claims/contract.js';
import type { Group } from '../../lib/store/records.js';
import { keptWith, onceFound } from './once-found.js';

const permissionsOf = keptWith((groups: readonly Group[]) =>
  Object.freeze([...new Set(groups.flatMap(({ permissionIds }) => permissionIds))].sort()),
);

export const permsClaims = defineClaims({
  name: 'perms',
  claims: {
    perm: {
      scope: 'perms',
      type: 'strings',
      description: 'Identifiers of the permissions that the groups of the user carry',
      value: ({ user, lookups }) => (user.groupIds.length === 0 ? [] : onceFound(lookups.groups(), permissionsOf)),
    },
  },
  onError: 'fail',
});
