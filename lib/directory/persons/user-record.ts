import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { ExternalIdentity, Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import { groupRefs } from '../groups/group-refs.js';
import { idFor, USER_NAME_LENGTH, userNameKey } from '../identifiers.js';
import { defined, inputSchema, line, opaqueText, patchSchema, userNameText } from '../input.js';
import { vouchedIdentities, weaker } from '../vouchers.js';

/** Identities in one request. A user who has more keeps them. */
const MOST_IDENTITIES = 100;

const fields = {
  userName: userNameText(USER_NAME_LENGTH),
  emailVerified: Type.Boolean(),
  externalIdentities: Type.Array(inputSchema({ idp: line(), subject: opaqueText(1000) }), { maxItems: MOST_IDENTITIES }),
};
/** What a user may be made with; unless it is said, `invited`. */
export const userStatus = () => Type.Union([Type.Literal('invited'), Type.Literal('active')]);
const userFields = inputSchema(fields);
export const userPatch = patchSchema(userFields);
/** @interface */
export type UserFields = Static<typeof userFields>;

export const userInput = inputSchema({
  id: Type.Optional(Type.String()),
  userName: fields.userName,
  emailVerified: Type.Optional(fields.emailVerified),
  externalIdentities: Type.Optional(fields.externalIdentities),
  status: Type.Optional(userStatus()),
  groups: Type.Optional(groupRefs),
});
/** @interface */
export type UserInput = Static<typeof userInput>;

/** Default values of members that the input of a new user leaves out. */
export const userDefaults = { emailVerified: false, externalIdentities: [], status: 'invited' } as const;

export function newUser(input: Omit<UserInput, 'groups'>, groupIds: readonly string[], voucher: Voucher): User {
  const { id, userName, emailVerified, externalIdentities, status } = { ...userDefaults, ...defined(input) };
  return {
    id: idFor(id),
    ...namedUser(userName),
    ...identified(vouchedIdentities(externalIdentities, [], voucher)),
    emailVerified,
    isParent: false,
    groupIds,
    status,
  };
}

/** The members of a user that change with these. */
export function changedUser({
  userName,
  emailVerified,
  externalIdentities,
}: Partial<Pick<User, 'userName' | 'emailVerified' | 'externalIdentities'>>): Partial<User> {
  return {
    ...(userName === undefined ? {} : namedUser(userName)),
    ...present({ emailVerified }),
    ...(externalIdentities === undefined ? {} : identified(externalIdentities)),
  };
}

/** Throws where a link of the child is not to be made, or not to be ended. */
export type JudgeChild = (child: PersonWithUser) => Promise<void>;

export const hasUser = (person: Person | undefined): person is PersonWithUser => person?.user !== undefined;

/**
 * Invalidates the link of an open invitation, because it went to the person's former address. The next link goes to the new address, so the writer of the
 * address vouches for the invitation as well.
 */
export const withNewLink = (person: Person, addressVouchedBy: Voucher | undefined): Person => {
  const { user } = person;
  if (!user?.invitation) return person;
  const { fetches: _, ...invitation } = user.invitation;
  const vouchedBy = weaker(invitation.vouchedBy, addressVouchedBy);
  const next = { ...invitation, serial: invitation.serial + 1, ...(vouchedBy && { vouchedBy }) };
  return { ...person, user: { ...user, invitation: next } };
};

/** How an external identity is looked up. */
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
