import { defineClaims } from '../../lib/extension-door.js';

export const permsClaims = defineClaims({
  name: 'perms',
  needs: ['groups'],
  claims: {
    perm: {
      scope: 'perms',
      type: 'strings',
      description: 'Identifiers of the permissions that the groups of the user carry',
      value: ({ groups }) => [...new Set(groups.flatMap(({ permissionIds }) => permissionIds))].sort(),
    },
  },
  onError: 'fail',
});
