import { defineClaims } from '../../lib/claims/contract.js';
import type { Group } from '../../lib/store/records.js';
import { keptWith, onceFound } from './once-found.js';

const namesOf = keptWith((groups: readonly Group[]) => Object.freeze(groups.map(({ name }) => name).sort()));

export const rolesClaims = defineClaims({
  name: 'roles',
  claims: {
    role: {
      scope: 'roles',
      type: 'strings',
      description: 'Names of the groups the user belongs to',
      value: ({ user, lookups }) => (user.groupIds.length === 0 ? [] : onceFound(lookups.groups(), namesOf)),
    },
  },
  onError: 'fail',
});
