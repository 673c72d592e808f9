/** Persons and their users, and what belongs to a user: credentials and invitations. */
import { Type } from '@sinclair/typebox';
import { email, inputSchema, languageTag, line, opaqueText, personName, pictureUrl, userNameText } from '../../text/schemas.js';
import { data, oneOf, type Shape, typed } from './shape.js';
import { named, type PendingEvent, pendingEvent, stored, type Voucher, vouchedBy, voucher } from './stored.js';

const identity = {
  idp: line(),
  subject: opaqueText(1000),
};
const externalIdentity = Type.Object({
  ...identity,
  vouchedBy: vouchedBy(),
  /** Whether the holder of the identity confirmed that the account is theirs. The confirmation vouches for no privileges. */
  isAcknowledged: Type.Optional(Type.Literal(true)),
});
export interface ExternalIdentity extends Shape<typeof externalIdentity> {}

const credentialRef = {
  /** `password`, or a name that an extension gives. */
  kind: Type.String(),
  /** Id of the record that an extension keeps. */
  id: Type.Optional(Type.String()),
};
const credentialRefForm = Type.Object(credentialRef);
/** A credential of a user: the password, or a factor that an extension keeps. */
export interface CredentialRef extends Shape<typeof credentialRefForm> {}

const credentialVoucher = Type.Object({
  ...credentialRef,
  /** Id that changes each time the credential is set. */
  revision: Type.String(),
  vouchedBy: typed<Voucher>(voucher),
});
/**
 * Voucher of a credential that a user set in a sign-in or by a mailed link. Recorded only if the voucher of that sign-in or mailed link has
 * limits.
 */
export interface CredentialVoucher extends Shape<typeof credentialVoucher> {}

const sparedSession = Type.Object({
  /** Name of the session, as extensions know it. */
  session: Type.String(),
  /** Instant of the cut-off. A later cut-off ends this session too. */
  notBefore: Type.Date(),
  /** Instant before which the sign-ins of the session ended too: of the previous cut-off, or of the session's last sign-in. */
  before: Type.Optional(Type.Date()),
  /** Id of the cause of the cut-off, so that a second call for the same cause changes nothing. */
  cause: Type.String(),
});
/** A session that kept its grants when the other sign-ins of its user were cut off. */
export interface SparedSession extends Shape<typeof sparedSession> {}

const newPassword = Type.Object({
  /** Number that grows with each new password. */
  serial: Type.Integer(),
  /** The credential that was offered with the new password, until it belongs to the user. */
  credentialId: Type.String(),
  /** The user's cut-off by the change, if the change ends the sign-ins of linked accounts too. */
  notBefore: Type.Optional(Type.Date()),
});
/** The password that counts if several are set concurrently. */
export interface NewPassword extends Shape<typeof newPassword> {}

const mailedLink = {
  /** Number of the mailed link, which grows with each mailed link that replaces another. */
  serial: Type.Integer(),
  /** The request that the mailed link answers. The same request gets the same mailed link. */
  requestId: Type.String(),
  /** The delivery that mails the mailed link, by the id that its data has. Another delivery of the same request mails nothing. */
  mailing: Type.Optional(Type.String()),
  expiresAt: Type.Date(),
  usedAt: Type.Optional(Type.Date()),
  /** The client whose branding the pages of the mailed link have. */
  clientId: Type.Optional(Type.String()),
};
const mailedLinkForm = Type.Object(mailedLink);
/** A mailed link that is sent on request, and can be used once. */
export interface MailedLink extends Shape<typeof mailedLinkForm> {}

const passwordReset = Type.Object({
  ...mailedLink,
  /** Voucher of the administrator who had the reset link sent. If the user requested the reset link, the voucher of the address. */
  vouchedBy: vouchedBy(),
  /** The sign-in that the request was made in. */
  uid: Type.Optional(Type.String()),
});
export interface PasswordReset extends Shape<typeof passwordReset> {}

const emailProof = Type.Object({
  ...mailedLink,
  address: Type.String(),
  /** Proof of the sign-in that requested the address, if there was one. The mailed link is invalid after that sign-in has ended. */
  askedWith: Type.Optional(Type.Object({ at: Type.Integer(), credentials: Type.String(), askedIn: Type.Optional(Type.String()) })),
  /** The address that was proven when another address was requested. The proven address gets a notice with a mailed link that stops the change. */
  former: Type.Optional(Type.String()),
  /** Instant at which the mailed link in the notice stopped the change. */
  stoppedAt: Type.Optional(Type.Date()),
  /** Voucher of the sign-in that requested the address. @default all */
  vouchedBy: vouchedBy(),
});
export interface EmailProof extends Shape<typeof emailProof> {}

const userInvitation = Type.Object({
  id: Type.String(),
  /** Number of the invitation link, which grows with each invitation link that replaces another. */
  serial: Type.Integer(),
  expiresAt: Type.Date(),
  /** Whether the invitation link is sent to the person's address. */
  send: Type.Boolean(),
  /** Number of times that a caller other than the user fetched the invitation link. An invitation link that was fetched proves no address. */
  fetches: Type.Optional(Type.Integer()),
  /** The delivery that mails the invitation link, by the id that its data has. */
  mailing: Type.Optional(Type.String()),
  /** The request that had the invitation link sent again, as `WriteOnce` names the request. */
  once: Type.Optional(Type.String()),
  /** Voucher for the privileges that all administrators who made, sent or saw the invitation link held. */
  vouchedBy: vouchedBy(),
});
/** The invitation of a user that can be accepted, and the valid invitation link. */
export interface UserInvitation extends Shape<typeof userInvitation> {}

const acceptedInvitation = Type.Object({
  id: Type.String(),
  at: Type.Date(),
  /** The credential that was offered with the acceptance, until it belongs to the user. */
  credentialId: Type.Optional(Type.String()),
  /** Name of the caller who accepted the invitation, as the caller gave the name. */
  by: Type.Optional(Type.String()),
});
export interface AcceptedInvitation extends Shape<typeof acceptedInvitation> {}

/** Maximum identities in one request. A user who has more keeps them. */
const MOST_IDENTITIES = 100;

/** Members of a user that callers write. A new member of this table is accepted, answered, checked and seeded. */
export const userMembers = {
  userName: userNameText(),
  emailVerified: Type.Boolean(),
  externalIdentities: Type.Array(inputSchema(identity), { maxItems: MOST_IDENTITIES }),
};
/** Values of {@link userMembers} that a new user may leave out. */
export const userDefaults = { emailVerified: false, externalIdentities: [] };

const user = Type.Object({
  /** The claim `oid`. */
  id: Type.String(),
  ...userMembers,
  externalIdentities: Type.Array(typed<ExternalIdentity>(externalIdentity)),
  /** {@link userName} in the form that comparisons use: NFKC, lower case. */
  userNameKey: Type.String(),
  /** Whether the person registered without an invitation. */
  isSelfRegistered: Type.Optional(Type.Literal(true)),
  parentUserId: Type.Optional(Type.String()),
  /** Voucher of the account link to the parent account: of its maker, and of the sign-ins and mailed links by which it was made. */
  parentVouchedBy: vouchedBy(),
  /** Vouchers of credentials. A credential without a voucher counts. */
  credentialVouchers: Type.Optional(Type.Array(typed<CredentialVoucher>(credentialVoucher))),
  /** Ways to sign in that are being removed, and do not count as ways any more. */
  leavingWays: Type.Optional(Type.Array(typed<CredentialRef>(credentialRefForm))),
  /** Whether {@link childUserIds} has any. */
  isParent: Type.Boolean(),
  /**
   * Child accounts. A child account is added before it gets its parent account, and removed after it has lost the parent account. So the list
   * may have users that are not linked yet, or no longer.
   */
  childUserIds: Type.Optional(Type.Array(Type.String())),
  groupIds: Type.Array(Type.String()),
  /** Status of the user. Only `active` users can sign in. */
  status: oneOf('invited', 'active', 'disabled'),
  /** The status before `disabled`. @default 'active' */
  statusBefore: Type.Optional(oneOf('invited', 'active')),
  /** Instant before which sign-ins do not count. */
  notBefore: Type.Optional(Type.Date()),
  /** The session that the cut-off spared which set {@link notBefore}. */
  spared: Type.Optional(typed<SparedSession>(sparedSession)),
  /** `idp` and subject in one string, for the index. */
  externalIdentityKeys: Type.Array(Type.String()),
  /** The invitation that makes the user active, while it can be accepted. */
  invitation: Type.Optional(typed<UserInvitation>(userInvitation)),
  /** The acceptance that made the user active. */
  accepted: Type.Optional(typed<AcceptedInvitation>(acceptedInvitation)),
  /** The most recent password that replaced a password. */
  newPassword: Type.Optional(typed<NewPassword>(newPassword)),
  /** The reset link of the password. Only the newest reset link is valid. */
  passwordReset: Type.Optional(typed<PasswordReset>(passwordReset)),
  /** The mailed link that proves an e-mail address. Only the newest mailed link is valid. */
  emailProof: Type.Optional(typed<EmailProof>(emailProof)),
  /**
   * The address that was proven last, while the person's record has another address that nobody proved. Mail about the account goes to the proven address.
   */
  provenEmail: Type.Optional(Type.String()),
  /** Voucher of {@link provenEmail}. The voucher of `email` is `emailVouchedBy` of the person. */
  provenEmailVouchedBy: vouchedBy(),
  /** Former addresses of the person, until they were notified of the change. */
  formerEmails: Type.Optional(Type.Array(Type.String())),
});
export interface User extends Shape<typeof user> {}

/** Members of a person that callers write. A new member of this table is accepted, answered, checked and seeded. */
export const personMembers = {
  subsidiaryId: Type.Optional(Type.String()),
  /** Neither name is required. A person without a name has an address or a user, unless the user was removed. */
  givenName: Type.Optional(personName()),
  familyName: Type.Optional(personName()),
  email: Type.Optional(email()),
  secondEmail: Type.Optional(email()),
  phoneNumber: Type.Optional(line(40)),
  phoneNumberVerified: Type.Boolean(),
  /** Language that the person prefers, as a language tag. Mails to the person are in this language. */
  locale: Type.Optional(languageTag()),
  /** National id, encrypted in the store. */
  nationalId: Type.Optional(line(64)),
  pictureUrl: Type.Optional(pictureUrl()),
  externalId: Type.Optional(line()),
  /** Members for claim plugins. */
  attributes: data({ $id: 'PersonAttributes' }),
};
/** Values of {@link personMembers} that a new person may leave out. */
export const personDefaults = { phoneNumberVerified: false, attributes: {} };

export const person = Type.Object({
  ...named,
  tid: Type.String(),
  ...personMembers,
  /** Voucher of {@link email}: of its writer, or of the person who later proved the address. */
  emailVouchedBy: vouchedBy(),
  /** {@link email} and {@link secondEmail} in the form that comparisons use, derived as {@link nameKey} is. */
  emailKey: Type.Optional(Type.String()),
  secondEmailKey: Type.Optional(Type.String()),
  /** Keyed hash of the national id, to look it up. */
  nationalIdHash: Type.Optional(Type.String()),
  user: Type.Optional(typed<User>(user)),
  /** `yes` for a person with a user, derived as {@link nameKey} is. */
  hasUser: Type.Optional(oneOf('yes')),
  /** `yes` for a person whose user is linked to a parent account, derived as {@link nameKey} is. */
  isLinked: Type.Optional(oneOf('yes')),
  /** The user name of a parent account, as names are compared, derived as {@link nameKey} is. */
  parentNameKey: Type.Optional(Type.String()),
  pendingEvents: Type.Array(typed<PendingEvent>(pendingEvent)),
});
/** A person, the user it may have, and the events of its writes: one document, so they commit together. */
export interface Person extends Shape<typeof person> {}

/** A person that has a user. */
export type PersonWithUser = Person & { readonly user: User };

export const invitation = Type.Object({
  ...stored,
  tid: Type.String(),
  personId: Type.String(),
  userId: Type.String(),
  /** The client whose branding the pages have, and to which the user is redirected afterwards. */
  clientId: Type.Optional(Type.String()),
  /** The name of the client when the invitation was made, for events after the client was removed. */
  clientName: Type.Optional(Type.String()),
  /** Whether the user is linked to a personal account. */
  link: Type.Boolean(),
  /** The language of the invitation's mail and pages. */
  locale: Type.Optional(Type.String()),
  /** Whether the invitation link is sent to the person's address. */
  send: Type.Boolean(),
  /** The status in the person's document when it was last compared. */
  status: oneOf('pending', 'accepted', 'revoked'),
  expiresAt: Type.Date(),
  acceptedAt: Type.Optional(Type.Date()),
});
/**
 * An invitation of a user. The person's document decides whether the invitation can be accepted. An invitation that no person's document
 * names is invalid.
 */
export interface Invitation extends Shape<typeof invitation> {}

export const credential = Type.Object({
  ...stored,
  /** A PHC string. */
  passwordHash: Type.Optional(Type.String()),
  /** The serial of the {@link NewPassword} that the hash came from; absent for the first password. */
  serial: Type.Optional(Type.Integer()),
});
/**
 * The password of a user. The id of the record is the user's id, or the id of an acceptance under way. The admin API never writes a
 * credential.
 */
export interface Credential extends Shape<typeof credential> {}
