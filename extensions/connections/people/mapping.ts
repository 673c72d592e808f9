/** Mapping of a provider's claims to fields, user names and groups. */
import { createHash } from 'node:crypto';
import {
  cleanText,
  type ExtensionContext,
  IdpError,
  ownMember,
  type PersonWithUser,
  problemsOf,
  recordForms,
  type TextKind,
  type Voucher,
  weaker,
} from '../../../lib/extension-door.js';
import { domainOf } from '../email-domains.js';
import type { Connection, Mapping } from '../records.js';
import type { Claims, Upstream } from '../upstream/answer.js';
import { voucherOf } from '../vouchers.js';

const personFields = ['givenName', 'familyName', 'email', 'phoneNumber', 'locale', 'pictureUrl', 'externalId'] as const;
type PersonField = (typeof personFields)[number];

/** Kind of text of each field. */
const kinds: Readonly<Record<PersonField, TextKind>> = {
  givenName: 'personName',
  familyName: 'personName',
  email: 'address',
  phoneNumber: 'line',
  locale: 'line',
  pictureUrl: 'line',
  externalId: 'line',
};

/** Returns whether a claim may fill the field. Other claims are left out, because a mistake of a provider must not prevent a sign-in. */
const mayFill = (field: PersonField, value: string): boolean =>
  problemsOf(recordForms.person[field], value).length === 0 && (field !== 'pictureUrl' || /^[^\s]{1,2000}$/.test(value));

/** Returns a claim without invisible characters and U+FFFD. U+FFFD stands for a letter that the provider has lost. */
export const textOf = (claims: Claims, claim: string | undefined, kind: TextKind): string | undefined => {
  const value = claim === undefined ? undefined : ownMember(claims, claim);
  return (typeof value === 'string' && cleanText(kind, value.slice(0, LONGEST).replaceAll('\ufffd', ''))) || undefined;
};

/** Returns whether the claim needed no cleaning. A cleaned address is left out, because it differs from the address that the provider may have verified. */
const isClean = (claims: Claims, claim: string | undefined, value: string): boolean =>
  claim !== undefined && String(ownMember(claims, claim)).trim() === value;

/** Maximum characters of a claim that are read. Every field is shorter. */
const LONGEST = 4096;

/** Returns the fields that the claims fill. @param which all fields, or the fields that a later sign-in updates */
export function fieldsOf(mapping: Mapping, claims: Claims, which: 'all' | 'updated'): Partial<Record<PersonField, string>> {
  return Object.fromEntries(
    personFields.flatMap((field) => {
      const mapped = mapping[field];
      const value = textOf(claims, mapped?.claim, kinds[field]);
      const isWanted = which === 'all' || mapped?.update === true;
      if (!isWanted || value === undefined || !mayFill(field, value)) return [];
      return kinds[field] === 'address' && !isClean(claims, mapped?.claim, value) ? [] : [[field, value] as const];
    }),
  );
}

/** Returns whether the provider states that it verified the address. */
export const isVerified = (claims: Claims): boolean => claims.email_verified === true || claims.email_verified === 'true';

/**
 * Returns whether the connection verifies the address of a user. The provider must state that the address in the claim `email` is verified. The connection
 * must be of the instance or have the domain. Only an operator gives domains to connections.
 */
export const provesEmail = (
  { tid, domains }: Pick<Connection, 'tid' | 'domains'>,
  ofInstance: string,
  claims: Claims,
  address: string | undefined,
): boolean =>
  address !== undefined &&
  isVerified(claims) &&
  textOf(claims, 'email', 'address') === address &&
  (tid === ofInstance || domains.includes(domainOf(address) ?? ''));

const isUserName = (text: string): boolean => problemsOf(recordForms.user.properties.userName, text).length === 0;
/** A subject that stays unique as a part of a user name, although user names are compared without case. */
const plainSubject = /^[a-z0-9._-]{1,100}$/;
/** A hash in place of a subject. A subject in the form of a hash is hashed too, because it could otherwise get the user name of another subject. */
const hashedSubject = /^[0-9a-f]{32}$/;

/**
 * Returns the user name of a new user: the mapped claim, else the address, else a name of the connection and the subject. Every provider sends a subject.
 */
export function userNameOf({ id, mapping }: Pick<Connection, 'id' | 'mapping'>, { claims, subject }: Pick<Upstream, 'claims' | 'subject'>) {
  const isWhole = (claim: string | undefined): boolean => claim !== undefined && !String(ownMember(claims, claim)).includes('\ufffd');
  const name = isWhole(mapping.userName?.claim) ? textOf(claims, mapping.userName?.claim, 'userName') : undefined;
  const address = textOf(claims, mapping.email?.claim, 'address');
  const cleanAddress = address !== undefined && isClean(claims, mapping.email?.claim, address) ? address : undefined;
  const sent = [name, cleanAddress].find((one) => one !== undefined && isUserName(one));
  if (sent !== undefined) return { userName: sent, isSent: true };
  const isPlain = plainSubject.test(subject) && !hashedSubject.test(subject);
  const part = isPlain ? subject : createHash('sha256').update(subject).digest('hex').slice(0, 32);
  return { userName: `${id}.${part}`, isSent: false };
}

/** Returns the name of the person at the provider, for a page. */
export const labelOf = (mapping: Mapping, claims: Claims, subject: string): string => {
  const label =
    textOf(claims, mapping.email?.claim, 'address') ??
    textOf(claims, mapping.userName?.claim, 'userName') ??
    textOf(claims, 'name', 'personName') ??
    subject;
  return [...label].slice(0, 200).join('');
};

/**
 * Returns the groups of a user after a sign-in. The user keeps groups that are not mapped, and gets the groups that the claim names. A group with privileges
 * is given only if the writers of the mapping and of the identity vouch for the privileges.
 * @param identity voucher of the identity that signs in
 */
export async function groupsFor(
  { directory, service: { logger } }: ExtensionContext,
  connection: Connection,
  claims: Claims,
  { tid, before, identity }: { readonly tid: string; readonly before: readonly string[]; readonly identity: Voucher | undefined },
): Promise<readonly string[]> {
  const { groups: mapped } = connection.mapping;
  if (mapped === undefined) return before;
  const values = [claims[mapped.claim] ?? []].flat().map(String);
  const named = mapped.values.filter(({ value }) => values.includes(value));
  const existing = new Map((await directory.forTenant(tid).groups.find()).map((group) => [group.id, group]));
  const isGiven = (entry: (typeof named)[number]): boolean => {
    const group = existing.get(entry.groupId);
    if (group === undefined || before.includes(entry.groupId)) return group !== undefined;
    return directory.means.give(weaker(voucherOf(connection, entry), identity), group);
  };
  const given = named.filter(isGiven).map(({ groupId }) => groupId);
  const refused = named.map(({ groupId }) => groupId).filter((id) => existing.has(id) && !given.includes(id));
  if (refused.length > 0)
    logger.warn(
      { connection: connection.id, tenant: tid, groups: refused },
      'a connection did not give a user groups, because the writer of the mapping or identity did not hold the permissions of the groups',
    );
  const others = before.filter((id) => existing.has(id) && !mapped.values.some(({ groupId }) => groupId === id));
  return [...new Set([...others, ...given])];
}

/** Refuses groups for a linked account, because the identity belongs to the parent account. @throws IdpError `already_linked` */
function checkOwner({ user }: PersonWithUser): void {
  if (user.parentUserId !== undefined) throw new IdpError('already_linked');
}

/** Updates the fields and groups that the mapping marks with `update`, and `emailVerified`. The user name never changes. */
export async function updatePerson(
  context: ExtensionContext,
  connection: Connection,
  person: PersonWithUser,
  { claims, identity }: { readonly claims: Claims; readonly identity: Voucher | undefined },
): Promise<void> {
  const {
    directory,
    records: { ofInstance },
    service: { logger },
  } = context;
  const { id: connectionId, mapping } = connection;
  const vouchedBy = weaker(connection.vouchedBy, identity);
  const tenant = directory.as({ actor: `connection:${connectionId}` }, vouchedBy).forTenant(person.tid);
  const fields = fieldsOf(mapping, claims, 'updated');
  const isChanged = Object.entries(fields).some(([field, value]) => person[field as PersonField] !== value);
  try {
    if (isChanged) await tenant.persons.update(person.id, fields);
    if (mapping.groups?.update) {
      const before = person.user.groupIds;
      const next = await groupsFor(context, connection, claims, { tid: person.tid, before, identity });
      const isSame = next.length === before.length && next.every((id) => before.includes(id));
      if (!isSame) await tenant.users.setGroups(person.user.id, { ids: [...next] }, checkOwner);
    }
    const isKnown = fields.email === person.email && person.user.emailVerified;
    if (!isKnown && provesEmail(connection, ofInstance, claims, fields.email))
      await tenant.users.update(person.user.id, { emailVerified: true }, ({ email }) => {
        // Another request may have changed the address since.
        if (email !== fields.email) throw new IdpError('conflict');
      });
  } catch (err) {
    // A failed update does not prevent the sign-in.
    logger.warn(
      { err, connection: connectionId, user: person.user.id },
      'the service could not update a user from the claims of a provider',
    );
  }
}
