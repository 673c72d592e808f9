import { defineClaims } from '../../lib/extension-door.js';
import { keptWith } from './kept-with.js';

const namesOf = keptWith((groups: readonly { readonly name: string }[]): readonly string[] => groups.map(({ name }) => name).sort());

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
