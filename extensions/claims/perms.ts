import { defineClaims } from '../../lib/extension-door.js';
import { memoized } from './memoized.js';

const permissionsOf = memoized((groups: readonly { readonly permissionIds: readonly string[] }[]): readonly string[] =>
  [...new Set(groups.flatMap(({ permissionIds }) => permissionIds))].sort(),
);

export const permsClaims = defineClaims({
  name: 'perms',
  needs: ['groups'],
  claims: {
    perm: {
      scope: 'perms',
      type: 'strings',
      description: 'Identifiers of the permissions that the groups of the user carry',
      value: ({ groups }) => [...permissionsOf(groups)],
    },
  },
  onError: 'fail',
});
