import type { ClaimLookups } from '../../lib/claims.js';
import { defineClaims } from '../../lib/claims.js';
import { onceFound } from './once-found.js';

const namesOf = (lookups: ClaimLookups) => onceFound(lookups.groups(), (groups) => groups.map(({ name }) => name).sort());

export const rolesClaims = defineClaims({
  name: 'roles',
  claims: {
    role: {
      scope: 'roles',
      type: 'strings',
      description: 'Names of the groups the user belongs to',
      value: ({ user, lookups }) => (user.groupIds.length === 0 ? [] : namesOf(lookups)),
    },
  },
  onError: 'fail',
});
