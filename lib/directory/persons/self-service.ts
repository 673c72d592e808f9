/** Changes that users make to their own person. The tenant decides which parts of the person its users may change. */
import { isDeepStrictEqual } from 'node:util';
import { IdpError } from '../../errors.js';
import { selfServiceParts } from '../../store/records/organisations.js';
import { personMembers } from '../../store/records/persons.js';
import type { Person, SelfServicePart, Tenant } from '../../store/records/records.js';
import { referenceToken } from '../../text/json-pointer.js';
import { inputSchema } from '../../text/schemas.js';
import type { AttributeChanges, AttributeRules } from '../attributes.js';
import { checkInput, type Patch, patchSchema } from '../input.js';

const { givenName, familyName, phoneNumber, locale, attributes } = personMembers;

/** Members of each part. */
const members = {
  name: { givenName, familyName },
  phone: { phoneNumber },
  locale: { locale },
  attributes: { attributes },
} as const satisfies Readonly<Record<SelfServicePart, object>>;

const ownPatch = patchSchema(inputSchema({ ...members.name, ...members.phone, ...members.locale, ...members.attributes }));

/** Members that users change in their own person. An absent member stays, `null` removes the member. */
export interface OwnChanges extends Patch<Pick<Person, 'givenName' | 'familyName' | 'phoneNumber' | 'locale'>> {
  readonly attributes?: AttributeChanges;
}

const byDefault: readonly SelfServicePart[] = ['name', 'locale', 'attributes'];

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

/** Checks the form of the changes, and that the tenant and the schema allow each of them. @throws IdpError `invalid_record`, `self_service_refused`. */
export function checkOwnChanges(changes: OwnChanges, tenant: Tenant, rules: AttributeRules | undefined): void {
  checkInput(ownPatch, changes);
  const allowed = selfServiceOf(tenant);
  for (const part of selfServiceParts) {
    const refused = allowed.includes(part) ? undefined : Object.keys(members[part]).find((name) => Object.hasOwn(changes, name));
    if (refused !== undefined) throw new IdpError('self_service_refused', { path: `/${refused}` });
  }
  const own = rules?.selfService.map(({ name }) => name) ?? [];
  const other = Object.keys(changes.attributes ?? {}).find((name) => !own.includes(name));
  if (other !== undefined) throw new IdpError('self_service_refused', { path: `/attributes/${referenceToken(other)}` });
}

/** Returns the parts in which two versions of a person differ. */
export const changedParts = (before: Person, next: Person): readonly SelfServicePart[] =>
  selfServiceParts.filter((part) =>
    (Object.keys(members[part]) as (keyof OwnChanges)[]).some((name) => !isDeepStrictEqual(before[name], next[name])),
  );
