import type { ClaimContext } from '../../lib/claims/contract.js';
import { defineClaims } from '../../lib/claims/contract.js';
import { isLinked, otherAccounts } from './linked-accounts.js';
import { onceFound } from './once-found.js';

/** The subsidiary the person is assigned to, else the tenant itself; the id of a tenant is its `tid`. */
const organisationOf = ({ person, tenant, lookups }: ClaimContext) =>
  person.subsidiaryId === undefined ? tenant : onceFound(lookups.subsidiary(), (subsidiary) => subsidiary ?? tenant);

async function mayLogin(context: ClaimContext) {
  const { pseudonym = (oid) => oid } = context;
  const accounts = await otherAccounts(context);
  return accounts
    ?.filter(({ canSignIn }) => canSignIn)
    .map(({ person, tenant }) => ({ oid: pseudonym(person.user.id), tid: tenant.id, companyname: tenant.name }));
}

export const orgClaims = defineClaims({
  name: 'org',
  load: organisationOf,
  claims: {
    orgid: {
      scope: 'org',
      type: 'string',
      description: 'Identifier of the organisation: the tenant, or the subsidiary the person is assigned to',
      value: ({ data: organisation }) => organisation.id,
    },
    orgin: {
      scope: 'org',
      type: 'string',
      description: 'Organisation number, if there is one',
      value: ({ data: organisation }) => organisation.organisationNumber,
    },
    company_name: {
      scope: 'org',
      type: 'string',
      description: 'Name of the organisation',
      value: ({ data: organisation }) => organisation.name,
    },
    may_login: {
      scope: 'org',
      type: 'objects',
      description:
        'Other organisations, among the tenants of the caller, that the user can sign in to, with `oid`, `tid` and `companyname`; linked accounts only',
      value: (context) => (isLinked(context) ? mayLogin(context) : undefined),
    },
  },
  onError: 'fail',
});
