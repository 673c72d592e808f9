import type { ClaimLookups } from '../../lib/claims.js';
import { defineClaims } from '../../lib/claims.js';

const namesOf = async (lookups: ClaimLookups): Promise<string[]> => (await lookups.groups()).map(({ name }) => name).sort();

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
