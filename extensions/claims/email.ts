import { defineClaims, isEmailVerified } from '../../lib/extension-door.js';
import { ofOtherAccounts } from './linked-accounts.js';

export interface EmailOptions {
  /** Addresses in `email` of a person with a second address, for clients and API resources without their own setting. */
  readonly email: 'all' | 'first';
}

export const emailClaims = (options: EmailOptions) =>
  defineClaims({
    name: 'email',
    needs: ['linkedAccounts'],
    claims: {
      email: {
        scope: 'email',
        type: 'string or strings',
        description: 'E-mail address; a list of two when the person has a second one',
        value: ({ person, client }) => {
          const { email: wanted = options.email } = client ?? {};
          const addresses = [person.email, person.secondEmail].filter((address) => address !== undefined);
          return addresses.length > 1 && wanted !== 'first' ? addresses : addresses[0];
        },
      },
      email_verified: {
        scope: 'email',
        type: 'boolean',
        description: 'Whether the address used as user name is verified',
        value: ({ person }) => isEmailVerified(person),
      },
      secondary_emails: {
        scope: 'email',
        type: 'objects',
        description:
          'E-mail addresses of the other linked accounts in tenants of the caller, with `email` and `email_verified`; linked accounts only',
        value: (context) =>
          ofOtherAccounts(context, ({ person }) =>
            person.email === undefined ? [] : [{ email: person.email, email_verified: isEmailVerified(person) }],
          ),
      },
    },
    onError: 'fail',
  });
