import { v5 } from 'uuid';
import { isName } from '../../text/person-name.js';
import { userNameKey } from '../identifiers.js';
import type { SeedPerson, SeedTenant } from './schema.js';

/**
 * Ids of a seed's records. An id is given in the seed, or derived from issuer and names. Derived ids are the same on every node and at every start.
 * @see RFC 9562 §5.5
 */
export interface SeedIds {
  tenant(tenant: Pick<SeedTenant, 'id' | 'name'>): string;
  subsidiary(tid: string, subsidiary: { readonly id?: string; readonly name: string }): string;
  group(tid: string, group: { readonly id?: string; readonly name: string }): string;
  person(tid: string, person: SeedPerson): string;
  user(tid: string, user: NonNullable<SeedPerson['user']>): string;
}

export function seedIds(issuer: string): SeedIds {
  const namespace = v5(issuer, v5.URL);
  const id = (given: string | undefined, ...names: readonly string[]) => given?.toLowerCase() ?? v5(JSON.stringify(names), namespace);
  return {
    tenant: (tenant) => id(tenant.id, 'tenant', tenant.name),
    subsidiary: (tid, subsidiary) => id(subsidiary.id, 'subsidiary', tid, subsidiary.name),
    group: (tid, group) => id(group.id, 'group', tid, group.name),
    user: (tid, user) => id(user.id, 'user', tid, userNameKey(user.userName)),
    person: (tid, { id: given, user, externalId, email, givenName, familyName }) =>
      id(
        given,
        'person',
        tid,
        ...(user
          ? [userNameKey(user.userName)]
          : [externalId ?? email ?? '', ...[givenName, familyName].map((name) => (isName(name) ? name : ''))]),
      ),
  };
}
