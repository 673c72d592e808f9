/** Subject of resolved claims, with the records of its look-ups. */
import type { ClaimSubject, LinkedAccount } from '../../../lib/claims/contract.js';
import type { Group, Subsidiary } from '../../../lib/store/records/records.js';
import { person, tenant } from '../service/records.js';

interface Found {
  readonly subsidiary?: Subsidiary;
  readonly groups?: readonly Group[];
  /** The other linked accounts. */
  readonly others?: readonly LinkedAccount[];
}

export function claimSubject(values: Partial<ClaimSubject> = {}, found: Found = {}): ClaimSubject {
  const home = values.tenant ?? tenant();
  const somebody = values.person ?? person({ tid: home.id });
  return {
    person: somebody,
    user: somebody.user,
    tenant: home,
    scopes: new Set(['openid']),
    lookups: {
      subsidiary: async () => found.subsidiary,
      groups: async () => found.groups ?? [],
      linkedAccounts: async () => [{ person: somebody, tenant: home, canSignIn: true }, ...(found.others ?? [])],
    },
    ...values,
  };
}
