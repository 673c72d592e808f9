import { defineClaims } from '../../lib/extension-door.js';
import { ofOtherAccounts } from './linked-accounts.js';

export const orgClaims = defineClaims({
  name: 'org',
  needs: ['subsidiary', 'linkedAccounts'],
  claims: {
    orgid: {
      scope: 'org',
      type: 'string',
      description: 'Identifier of the organisation: the tenant, or the subsidiary the person is assigned to',
      value: ({ subsidiary, tenant }) => (subsidiary ?? tenant).id,
    },
    orgin: {
      scope: 'org',
      type: 'string',
      description: 'Organisation number, if there is one',
      value: ({ subsidiary, tenant }) => (subsidiary ?? tenant).organisationNumber,
    },
    company_name: {
      scope: 'org',
      type: 'string',
      description: 'Name of the organisation',
      value: ({ subsidiary, tenant }) => (subsidiary ?? tenant).name,
    },
    may_login: {
      scope: 'org',
      type: 'objects',
      description:
        'Other organisations, among the tenants of the caller, that the user can sign in to, with `oid`, `tid` and `companyname`; linked accounts only',
      value: (context) =>
        ofOtherAccounts(context, ({ person: { user }, tenant, canSignIn }) =>
          canSignIn ? [{ oid: context.pseudonym?.(user.id) ?? user.id, tid: tenant.id, companyname: tenant.name }] : [],
        ),
    },
  },
  onError: 'fail',
});
