/** Changes that users make to their own person. The tenant decides which parts of the person its users may change. */
import { IdpError } from '../../errors.js';
import { selfServiceParts } from '../../store/records/organisations.js';
import { personMembers } from '../../store/records/persons.js';
import type { Person, SelfServicePart, Tenant } from '../../store/records/records.js';
import { inputSchema } from '../../text/schemas.js';
import { checkInput, type Patch, patchSchema } from '../input.js';

const { givenName, familyName, phoneNumber, locale } = personMembers;

/** Members of each part. */
const members = {
  name: { givenName, familyName },
  phone: { phoneNumber },
  locale: { locale },
} as const satisfies Readonly<Record<SelfServicePart, object>>;

const ownPatch = patchSchema(inputSchema({ ...members.name, ...members.phone, ...members.locale }));

/** Members that users change in their own person. An absent member stays, `null` removes the member. */
export type OwnChanges = Patch<Pick<Person, 'givenName' | 'familyName' | 'phoneNumber' | 'locale'>>;

const byDefault: readonly SelfServicePart[] = ['name', 'locale'];

/**
 * Returns the parts of their own person that users of the tenant may change.
 * @example
 * ```ts
 * import { type BrowserSignIn, selfServiceOf } from 'tenant-idp/extension';
 *
 * export const mayRename = ({ account }: BrowserSignIn): boolean => selfServiceOf(account.tenant).includes('name');
 * ```
 */
export const selfServiceOf = ({ selfService = byDefault }: Pick<Tenant, 'selfService'>): readonly SelfServicePart[] => selfService;

/** Checks the form of the changes, and that the tenant allows each of them. @throws IdpError `invalid_record`, `self_service_refused`. */
export function checkOwnChanges(changes: OwnChanges, tenant: Tenant): void {
  checkInput(ownPatch, changes);
  const allowed = selfServiceOf(tenant);
  for (const part of selfServiceParts) {
    const refused = allowed.includes(part) ? undefined : Object.keys(members[part]).find((name) => Object.hasOwn(changes, name));
    if (refused !== undefined) throw new IdpError('self_service_refused', { path: `/${refused}` });
  }
}

/** Returns the parts in which two versions of a person differ. */
export const changedParts = (before: Person, next: Person): readonly SelfServicePart[] =>
  selfServiceParts.filter((part) => (Object.keys(members[part]) as (keyof OwnChanges)[]).some((name) => before[name] !== next[name]));
