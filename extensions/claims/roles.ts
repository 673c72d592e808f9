import { defineClaims } from '../../lib/extension-door.js';

export const rolesClaims = defineClaims({
  name: 'roles',
  needs: ['groups'],
  claims: {
    role: {
      scope: 'roles',
      type: 'strings',
      description: 'Names of the groups the user belongs to',
      value: ({ groups }) => groups.map(({ name }) => name).sort(),
    },
  },
  onError: 'fail',
});
