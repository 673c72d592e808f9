import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { userDefaults, userMembers } from '../../store/records/persons.js';
import type { ExternalIdentity, Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import { inputSchema } from '../../text/schemas.js';
import type { NextNotBefore } from '../context.js';
import { groupRefs } from '../groups/group-refs.js';
import { idFor, userNameKey } from '../identifiers.js';
import { defined, type Patch, patchSchema, withDefaults } from '../input.js';
import { vouchedIdentities, weaker } from '../vouchers.js';

/** Statuses that a user may be created with. @default `invited` */
export const userStatus = () => Type.Union([Type.Literal('invited'), Type.Literal('active')]);
const userFields = inputSchema(userMembers);
export const userPatch = patchSchema(userFields);
/** @interface */
export type UserFields = Static<typeof userFields>;

export const userInput = inputSchema({
  id: Type.Optional(Type.String()),
  ...withDefaults(userMembers, userDefaults),
  status: Type.Optional(userStatus()),
  groups: Type.Optional(groupRefs),
});
/** @interface */
export type UserInput = Static<typeof userInput>;

/** Default values of members of a new user. */
export const newUserDefaults = { ...userDefaults, status: 'invited' } as const;

export function newUser(input: UserInput, groupIds: readonly string[], voucher: Voucher): User {
  const { id, userName, externalIdentities, groups: _, ...members } = { ...newUserDefaults, ...defined(input) };
  return {
    ...members,
    id: idFor(id),
    ...namedUser(userName),
    ...identified(vouchedIdentities(externalIdentities, [], voucher)),
    isParent: false,
    groupIds,
  };
}

/** A change of a user, whose identities have their vouchers. */
type UserChange = Omit<Patch<UserFields>, 'externalIdentities'> & { readonly externalIdentities?: readonly ExternalIdentity[] | undefined };

/** Returns the members of a user that change with these. A removed member is `null`. */
export function changedUser({ userName, externalIdentities, ...members }: UserChange): Partial<User> {
  return {
    ...(defined(members) as Partial<User>),
    ...(userName !== undefined && namedUser(userName)),
    ...(externalIdentities !== undefined && identified(externalIdentities)),
  };
}

/** Returns the user with changed members. A member whose change is `null` is left out. */
export const withMembers = (user: User, changes: Partial<User>): User =>
  Object.fromEntries(
    Object.entries({ ...user, ...changes }).filter(([, value]) => value !== null && value !== undefined),
  ) as unknown as User;

/** Throws if an account link of the child account must not be made, or must not end. */
export type JudgeChild = (child: PersonWithUser) => Promise<void>;

export const hasUser = (person: Person | undefined): person is PersonWithUser => person?.user !== undefined;

/** The session that a cut-off spares. */
export interface Spared {
  /** The session's name, as `sessions.list` has it. */
  readonly session: string;
  /** Name of the cause of the cut-off. */
  readonly cause: string;
  /** Time of the session's last sign-in, if grants of the session's earlier sign-ins end. @default all grants of the session continue */
  readonly signedInAt?: Date;
}

/** Returns the members of a user whose sign-ins are cut off, except the sign-in of one session and its grants. */
export function sparing(
  { spared: last, notBefore: before }: User,
  { session, cause, signedInAt }: Spared,
  nextNotBefore: NextNotBefore,
): Required<Pick<User, 'notBefore' | 'spared'>> {
  const notBefore = nextNotBefore({ ...(before && { notBefore: before }) });
  // If the former cut-off spared the same session, the session need not be newer than that cut-off.
  const isOn = last?.session === session && last.notBefore.getTime() === before?.getTime();
  const bounds = [isOn ? last.before : before, signedInAt].flatMap((at) => at?.getTime() ?? []);
  return { notBefore, spared: { session, cause, notBefore, ...(bounds.length > 0 && { before: new Date(Math.max(...bounds)) }) } };
}

/**
 * Invalidates the invitation link of an open invitation, because it went to the person's former address. The next invitation link goes to
 * the new address, so the writer of the address vouches for the invitation as well.
 */
export const withNewLink = (person: Person, addressVouchedBy: Voucher | undefined): Person => {
  const { user } = person;
  if (!user?.invitation) return person;
  const { fetches: _, ...invitation } = user.invitation;
  const vouchedBy = weaker(invitation.vouchedBy, addressVouchedBy);
  const next = { ...invitation, serial: invitation.serial + 1, ...(vouchedBy && { vouchedBy }) };
  return { ...person, user: { ...user, invitation: next } };
};

/** Returns the text by which an external identity is looked up. */
export const externalIdentityKey = ({ idp, subject }: ExternalIdentity): string => JSON.stringify([idp, subject]);

function namedUser(userName: string): Pick<User, 'userName' | 'userNameKey'> {
  const key = userNameKey(userName);
  if (key === '') throw new IdpError('invalid_record', { path: '/userName', expected: 'a name' });
  return { userName: userName.trim(), userNameKey: key };
}

const identified = (externalIdentities: readonly ExternalIdentity[]): Pick<User, 'externalIdentities' | 'externalIdentityKeys'> => ({
  externalIdentities,
  externalIdentityKeys: externalIdentities.map(externalIdentityKey),
});
