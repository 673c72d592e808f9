/** Claims of a provider as fields of a person here. */
import { type ExtensionContext, IdpError, isEmailAddress, type PersonWithUser } from '../../../lib/extension-door.js';
import type { Connection, Mapping } from '../records.js';
import type { Claims } from '../upstream/answer.js';

const personFields = ['givenName', 'familyName', 'email', 'phoneNumber', 'pictureUrl', 'externalId'] as const;
type PersonField = (typeof personFields)[number];

/** What a claim may fill a field with: anything else is left out, because a provider's mistake stops nobody who is here already. */
const limits: Readonly<Record<PersonField, { test(value: string): boolean }>> = {
  givenName: /^\P{Cc}{1,200}$/u,
  familyName: /^\P{Cc}{1,200}$/u,
  email: { test: isEmailAddress },
  phoneNumber: /^\P{Cc}{1,40}$/u,
  pictureUrl: /^https?:\/\/[^\s]{1,1990}$/,
  externalId: /^\P{Cc}{1,200}$/u,
};

const textOf = (claims: Claims, claim: string | undefined): string | undefined => {
  const value = claim === undefined ? undefined : claims[claim];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
};

/** The fields that the claims fill. @param which those that a sign-in changes, or all */
export function fieldsOf(mapping: Mapping, claims: Claims, which: 'all' | 'updated'): Partial<Record<PersonField, string>> {
  return Object.fromEntries(
    personFields.flatMap((field) => {
      const mapped = mapping[field];
      const value = textOf(claims, mapped?.claim);
      const isWanted = which === 'all' || mapped?.update === true;
      return isWanted && value !== undefined && limits[field].test(value) ? [[field, value] as const] : [];
    }),
  );
}

/** Whether the provider says that the address is the person's. */
export const isVerified = (claims: Claims): boolean => claims.email_verified === true || claims.email_verified === 'true';

/** The user name of a new user: its claim, else the address. */
export const userNameOf = (mapping: Mapping, claims: Claims): string | undefined =>
  textOf(claims, mapping.userName?.claim) ?? textOf(claims, mapping.email?.claim);

/** What the person is called there, for a page. */
export const labelOf = (mapping: Mapping, claims: Claims, subject: string): string =>
  (textOf(claims, mapping.email?.claim) ?? textOf(claims, mapping.userName?.claim) ?? textOf(claims, 'name') ?? subject).slice(0, 200);

/** Ids of the groups that the claim names, and of all that the mapping is about; undefined where no groups are mapped. */
export function groupsOf(
  { groups }: Mapping,
  claims: Claims,
): { readonly named: readonly string[]; readonly all: readonly string[] } | undefined {
  if (groups === undefined) return undefined;
  const told = [claims[groups.claim] ?? []].flat().map(String);
  const ids = (entries: typeof groups.values) => [...new Set(entries.map(({ groupId }) => groupId))];
  return { named: ids(groups.values.filter(({ value }) => told.includes(value))), all: ids(groups.values) };
}

/** A linked account gets no groups from a connection, because the identity is the parent's. */
function checkOwner({ user }: PersonWithUser): void {
  if (user.parentUserId !== undefined) throw new IdpError('already_linked');
}

/** Brings the fields that the mapping marks up to what the provider says; never the user name, and groups only where they are mapped. */
export async function updatePerson(
  { directory, logger }: ExtensionContext,
  { id: connectionId, mapping }: Connection,
  person: PersonWithUser,
  claims: Claims,
): Promise<void> {
  const tenant = directory.as({ actor: `connection:${connectionId}` }).forTenant(person.tid);
  const fields = fieldsOf(mapping, claims, 'updated');
  const isChanged = Object.entries(fields).some(([field, value]) => person[field as PersonField] !== value);
  try {
    if (isChanged) await tenant.persons.update(person.id, fields);
    const isNewAddress = fields.email !== undefined && fields.email !== person.email;
    if (fields.email !== undefined && isVerified(claims) && (isNewAddress || !person.user.emailVerified))
      await tenant.users.update(person.user.id, { emailVerified: true });
    const groups = mapping.groups?.update ? groupsOf(mapping, claims) : undefined;
    if (groups === undefined) return;
    const existing = new Set((await tenant.groups.find()).map(({ id }) => id));
    const others = person.user.groupIds.filter((id) => !groups.all.includes(id));
    const next = [...others, ...groups.named].filter((id) => existing.has(id));
    const isSame = next.length === person.user.groupIds.length && next.every((id) => person.user.groupIds.includes(id));
    if (!isSame) await tenant.users.setGroups(person.user.id, { ids: next }, checkOwner);
  } catch (err) {
    // Who may sign in signs in, though a field of theirs cannot be written.
    logger.warn({ err, connection: connectionId, user: person.user.id }, 'what a provider says of a user could not be kept');
  }
}
