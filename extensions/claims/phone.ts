import { defineClaims } from '../../lib/extension-door.js';

export const phoneClaims = defineClaims({
  name: 'phone',
  claims: {
    phone_number: {
      scope: 'phone',
      type: 'string',
      description: 'Phone number',
      value: ({ person }) => person.phoneNumber,
    },
    phone_number_verified: {
      scope: 'phone',
      type: 'boolean',
      description: 'Whether there is a phone number that is verified',
      value: ({ person }) => person.phoneNumber !== undefined && person.phoneNumberVerified,
    },
  },
});
