import { defineClaims } from '../../lib/extension-door.js';
import { memoized } from './memoized.js';

const namesOf = memoized((groups: readonly { readonly name: string }[]): readonly string[] => groups.map(({ name }) => name).sort());

export const rolesClaims = defineClaims({
  name: 'roles',
  needs: ['groups'],
  claims: {
    role: {
      scope: 'roles',
      type: 'strings',
      description: 'Names of the groups the user belongs to',
      value: ({ groups }) => [...namesOf(groups)],
    },
  },
  onError: 'fail',
});
