import { defineClaims } from 'tenant-idp';

/** Doors that the groups of a person open: in access tokens for the door locks, and nowhere else. */
export const doorClaims = defineClaims({
  name: 'doors',
  needs: ['groups'],
  claims: {
    doors: {
      scope: 'doors.open',
      type: 'strings',
      description: 'Doors that the groups of the user open',
      in: ['access_token'],
      apiResources: ['door-locks'],
      value: ({ groups }) => groups.map(({ name }) => name),
    },
  },
});
