/** The durable records, as they are kept. Ids are UUIDs, v7 when we make them. */
import type { Row } from '../directory-store.js';

export interface Stored extends Row {
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A record that is listed by name. */
export interface Named extends Stored, Outboxed {
  /** The name as it is compared: NFKC, lower case. Derived by each write; rows from before get it in the background. */
  readonly nameKey?: string;
}

/** Something that happened, kept inside the record it happened to until it is dispatched. @see CloudEvents 1.0 */
export interface PendingEvent {
  readonly id: string;
  readonly type: string;
  readonly time: Date;
  readonly subject: string;
  readonly tid?: string;
  readonly actor?: string;
  readonly act?: string;
  readonly requestId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A record that keeps the events of its writes until they are dispatched, so that both are kept or both are lost. */
export interface Outboxed {
  readonly pendingEvents?: readonly PendingEvent[];
  /** `yes` while {@link pendingEvents} has any, for the index. */
  readonly outbox?: 'yes';
}

export type SignInMethodName = string;

export interface Branding {
  /** An https URL or a path of this origin. */
  readonly logoUri?: string;
  /** The icon of the browser's tab, as {@link logoUri}. */
  readonly faviconUri?: string;
  /** `#rrggbb`. */
  readonly accentColor?: string;
  /** Corner radius in pixels, 0 to 24. */
  readonly radius?: number;
  /** Of those that devices have: nothing is loaded. */
  readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
}

export interface Tenant extends Named {
  readonly name: string;
  /**
   * The name as names of tenants are compared. Unique, and set by each write of the name. Rows that an older release or another program wrote lack it until
   * their names change.
   */
  readonly uniqueName?: string;
  readonly organisationNumber?: string;
  readonly signIn?: {
    /** Those that are allowed; absent: all. */
    readonly methods?: readonly SignInMethodName[];
    readonly requireMfa?: boolean;
    /** Whether people may create accounts for themselves. */
    readonly selfRegistration?: boolean;
    /** Whether users may be linked to accounts of other tenants, as a parent or as a child; absent: they may. */
    readonly accountLinks?: boolean;
  };
  readonly branding?: Branding;
  /** A language tag of the pages' languages. */
  readonly locale?: string;
  readonly status: 'active' | 'disabled';
  /** Sign-ins of its users before this instant are void. */
  readonly notBefore?: Date;
}

/** Gives `orgid`, `orgin` and `company_name` to the persons assigned to it. */
export interface Subsidiary extends Named {
  readonly tid: string;
  readonly name: string;
  readonly organisationNumber?: string;
}

export interface ExternalIdentity {
  readonly idp: string;
  readonly subject: string;
  readonly vouchedBy?: Voucher;
  /** Whether the person who has the identity said that the account is theirs. It vouches for no privileges. */
  readonly isAcknowledged?: true;
}

/** The writer of a means by which a user signs in or joins a group, and the privileges that the writer held then. @see lib/directory/vouchers.ts */
export interface Voucher {
  /**
   * `operator`: a caller of all tenants, host code or a seed. `person`: the user, who was signed in to the account by other means. Both vouch for all
   * privileges. `tenant`: an administrator of tenants, who vouches for the privileges below.
   */
  readonly by: 'operator' | 'person' | 'tenant';
  /** The tenants, of the account and of its linked accounts, that the administrator administered. */
  readonly tids?: readonly string[];
  /** The privileged permissions that the administrator held there. */
  readonly permissionIds?: readonly string[];
}

/** The voucher of a credential that a user set in a sign-in, or by a link, whose own voucher has limits. */
export interface CredentialVoucher extends CredentialRef {
  /** Changes each time that the credential is set. */
  readonly revision: string;
  readonly vouchedBy: Voucher;
}

/** A credential of a user: the password, or a factor that an extension keeps. */
export interface CredentialRef {
  /** `password`; an extension has names of its own. */
  readonly kind: string;
  /** Id of the record that an extension keeps. */
  readonly id?: string;
}

export interface User {
  /** The claim `oid`. */
  readonly id: string;
  readonly userName: string;
  /** {@link userName} as it is compared: NFKC, lower case. */
  readonly userNameKey: string;
  readonly emailVerified: boolean;
  /** Whether the person made it, and nobody who knows them. */
  readonly isSelfRegistered?: true;
  readonly parentUserId?: string;
  /** Voucher of the account link to the parent: of its maker, and of the sign-ins and links by which it was made. */
  readonly parentVouchedBy?: Voucher;
  /** Vouchers of credentials. A credential without one counts. */
  readonly credentialVouchers?: readonly CredentialVoucher[];
  /** Whether {@link childUserIds} has any. */
  readonly isParent: boolean;
  /** Children, and users about to be linked or just unlinked: a child is entered before it gets its parent, and removed after it lost the parent. */
  readonly childUserIds?: readonly string[];
  readonly groupIds: readonly string[];
  /** Only `active` users sign in. */
  readonly status: 'invited' | 'active' | 'disabled';
  /** The status before `disabled`. @default 'active' */
  readonly statusBefore?: 'invited' | 'active';
  /** Sign-ins before this instant are void. */
  readonly notBefore?: Date;
  /** The session that the cut-off spared which set {@link notBefore}. */
  readonly spared?: SparedSession;
  readonly externalIdentities: readonly ExternalIdentity[];
  /** `idp` and subject in one string, for the index. */
  readonly externalIdentityKeys: readonly string[];
  /** The invitation that makes the user active, while it can be accepted. */
  readonly invitation?: UserInvitation;
  /** The acceptance that made the user active. */
  readonly accepted?: AcceptedInvitation;
  /** The password that took the place of another last. */
  readonly newPassword?: NewPassword;
  /** The link that resets the password: the newest alone holds. */
  readonly passwordReset?: PasswordReset;
  /** The link that proves an e-mail address: the newest alone holds. */
  readonly emailProof?: EmailProof;
  /** The address that was proven last, while the person's record has another one that nobody proved: mail about the account goes there. */
  readonly provenEmail?: string;
  /** Voucher of {@link provenEmail}. The voucher of `email` is `emailVouchedBy` of the person. */
  readonly provenEmailVouchedBy?: Voucher;
  /** Addresses that the person had, until they were told of the change. */
  readonly formerEmails?: readonly string[];
}

/** A session that a cut-off of the other sign-ins of its user spared, with its grants. */
export interface SparedSession {
  /** Its name, as extensions know it. */
  readonly session: string;
  /** The cut-off. A later one ends this session too. */
  readonly notBefore: Date;
  /** The former cut-off, which the session must still be newer than. */
  readonly before?: Date;
  /** Names the cause of the cut-off, so that a second call for it changes nothing. */
  readonly cause: string;
}

/** What decides which password of several that are set at once is the user's. */
export interface NewPassword {
  /** Grows with each. */
  readonly serial: number;
  readonly at: Date;
  /** The credential that was offered with it, until it is the user's. */
  readonly credentialId: string;
  /** Whether the sign-ins of linked accounts end with it, as the user's own do. */
  readonly endsSignIns: boolean;
}

/** A link that is mailed on request, and good once. */
export interface MailedLink {
  /** Number of the link, which grows with each that takes the place of another. */
  readonly serial: number;
  /** The request that it answers: asked again, it is the same link. */
  readonly requestId: string;
  /** The delivery that mails the link, by the id that its data has. Another delivery of the same request mails nothing. */
  readonly mailing?: string;
  readonly expiresAt: Date;
  readonly usedAt?: Date;
  /** Whose look its pages have. */
  readonly clientId?: string;
}

export interface PasswordReset extends MailedLink {
  /** Voucher of the administrator who had the link sent. If the user asked for it, the voucher of the address. */
  readonly vouchedBy?: Voucher;
  /** The sign-in that the request was made in. */
  readonly uid?: string;
}

export interface EmailProof extends MailedLink {
  readonly address: string;
  /** Proof of the sign-in that asked for the address, if there was one. The link is invalid after that sign-in is revoked. */
  readonly askedWith?: { readonly at: number; readonly credentials: string };
  /** The address that was proven when another was asked for. A mail notified it, with a link that stops the change. */
  readonly former?: string;
  /** When the change was stopped by that link. */
  readonly stoppedAt?: Date;
  /** Voucher of the sign-in that asked for the address. @default all */
  readonly vouchedBy?: Voucher;
}

/** What decides which invitation of a user is good, and which of its links. */
export interface UserInvitation {
  readonly id: string;
  /** Number of the link, which grows with each that takes the place of another. */
  readonly serial: number;
  readonly expiresAt: Date;
  /** Whether the link is sent to the person's address. */
  readonly send: boolean;
  /** Number of times that somebody else fetched the link. A link that was fetched proves no address. */
  readonly fetches?: number;
  /** The delivery that mails the link, by the id that its data has. */
  readonly mailing?: string;
  /** The request that had the link sent again, as `WriteOnce` names it. */
  readonly once?: string;
  /** Voucher for the privileges that all administrators who made, sent or saw the link held. */
  readonly vouchedBy?: Voucher;
}

export interface AcceptedInvitation {
  readonly id: string;
  readonly at: Date;
  /** The credential that was offered with the acceptance, until it is the user's. */
  readonly credentialId?: string;
  /** Who accepted it, by a name that the caller gave. */
  readonly by?: string;
}

/** A person, the user it may have, and the events of its writes: one document, so they commit together. */
export interface Person extends Named {
  readonly tid: string;
  readonly subsidiaryId?: string;
  /** Neither name is required. A person without a name has an address or a user, unless the user was removed. */
  readonly givenName?: string;
  readonly familyName?: string;
  readonly email?: string;
  /** Voucher of {@link email}: of its writer, or of the person who proved it since. */
  readonly emailVouchedBy?: Voucher;
  readonly secondEmail?: string;
  /** {@link email} and {@link secondEmail} as they are compared, derived as {@link nameKey} is. */
  readonly emailKey?: string;
  readonly secondEmailKey?: string;
  readonly phoneNumber?: string;
  readonly phoneNumberVerified: boolean;
  /** Encrypted. */
  readonly nationalId?: string;
  /** Keyed hash of the national id, to look it up. */
  readonly nationalIdHash?: string;
  readonly pictureUrl?: string;
  readonly externalId?: string;
  /** For claim plugins. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly user?: User;
  /** `yes` of a person with a user, derived as {@link nameKey} is. */
  readonly hasUser?: 'yes';
  /** `yes` of a person whose user is linked to a parent, derived as {@link nameKey} is. */
  readonly isLinked?: 'yes';
  /** The user name of a parent account, as names are compared, derived as {@link nameKey} is. */
  readonly parentNameKey?: string;
  readonly pendingEvents: readonly PendingEvent[];
  /** `yes` while {@link pendingEvents} has any, for the index. */
  readonly outbox?: 'yes';
}

/** A person that has a user. */
export type PersonWithUser = Person & { readonly user: User };

/**
 * What an invitation is for. Its person's document decides whether it can be accepted: one that no person names is void.
 */
export interface Invitation extends Stored {
  readonly tid: string;
  readonly personId: string;
  readonly userId: string;
  /** Whose look its pages have, and where its user goes afterwards. */
  readonly clientId?: string;
  /** The name of the client when the invitation was made, for events after the client is gone. */
  readonly clientName?: string;
  /** Whether the user is linked to a personal account. */
  readonly link: boolean;
  /** The language of its mail and pages. */
  readonly locale?: string;
  /** Whether the link is sent to the person's address. */
  readonly send: boolean;
  /** As the person's document said when it was last compared. */
  readonly status: 'pending' | 'accepted' | 'revoked';
  readonly expiresAt: Date;
  readonly acceptedAt?: Date;
}

/** Its id is the user's, or that of an acceptance under way. Never writable through the admin API. */
export interface Credential extends Stored {
  /** A PHC string. */
  readonly passwordHash?: string;
  /** That of the {@link NewPassword} it came from; absent for a first one. */
  readonly serial?: number;
}

export interface Group extends Named {
  readonly tid: string;
  readonly name: string;
  readonly permissionIds: readonly string[];
  /** `yes` of a group with a permission of the admin API, derived as {@link nameKey} is. */
  readonly givesAdminScope?: 'yes';
}

/** Its id is the value of the claim `perm`; not a UUID. */
export interface Permission extends Named {
  readonly name: string;
  readonly description?: string;
}

/** `sha256:` and the digest; secrets are generated with 256 bits, or seeded. */
export interface HashedSecret {
  readonly hash: string;
  readonly expiresAt?: Date;
}

export interface Lifetimes {
  /** Seconds, each. */
  readonly accessToken?: number;
  readonly idToken?: number;
  readonly refreshTokenIdle?: number;
  readonly refreshTokenAbsolute?: number;
  /** 0 for public clients that do not prove possession of a key, because their retries look like a thief's. */
  readonly refreshTokenGrace?: number;
  /** Of CIBA; requests may ask for less. */
  readonly authenticationRequest?: number;
}

/** A registered application. Its id is the `client_id`; not a UUID. */
export interface Client extends Named {
  readonly name: string;
  /** Registered metadata in the standard's own names. @see RFC 7591 §2 */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly secrets: readonly HashedSecret[];
  /** Identity and API scopes it may ask for. */
  readonly allowedScopes: readonly string[];
  /** Whether a request for a code needs PKCE. Absent: of public and native clients and under FAPI. Only confidential clients may have `false`. */
  readonly requirePkce?: boolean;
  /** The FAPI profile of the client, with all its settings. Absent: the option `fapi` decides. */
  readonly fapi?: '2.0';
  readonly allowPlainPkce: boolean;
  readonly requireConsent: boolean;
  readonly accessTokenType: 'reference' | 'jwt';
  readonly idTokenClaims: 'minimal' | 'scopes';
  /** Absent: as the option `email` says. */
  readonly email?: 'all' | 'first';
  readonly styles?: Branding;
  readonly lifetimes: Lifetimes;
  /** Tenants whose users may sign in, and whom it may ask about; absent: all. */
  readonly allowedTenants?: readonly string[];
  /** Access tokens it may introspect: those issued to it, or `all`. */
  readonly introspects: 'own' | 'all';
  /** Tenants it administers; `['*']`: all. */
  readonly adminTenants: readonly string[];
  readonly trustedLoginHint: boolean;
  readonly corsOrigins: readonly string[];
  readonly postRegistrationUri?: string;
  /** `refuse`: it gets no token of who acts as somebody else. @default 'allow' */
  readonly impersonation?: 'allow' | 'refuse';
  readonly status: 'active' | 'disabled';
  /** The scopes of the admin API that all writers of its secrets and metadata held. A client without a voucher counts. */
  readonly vouchedBy?: Voucher;
}

/** A text for every language, or texts by language: `en`, `nb` … */
export type ScopeDescription = string | Readonly<Record<string, string>>;

/** Its id is the name it authenticates with, shared with client ids; not a UUID. */
export interface ApiResource extends Named {
  readonly name: string;
  readonly secrets: readonly HashedSecret[];
  /** API scopes it owns; it is the audience of access tokens that carry one. */
  readonly scopes: readonly string[];
  /** What each scope allows, in words for the people who are asked: one text, or one for each language. */
  readonly scopeDescriptions?: Readonly<Record<string, ScopeDescription>>;
  /** Access tokens it may introspect: those with a scope of its own, or `all`. */
  readonly introspects: 'own' | 'all';
  /** Tenants whose users it may ask about; absent: all. */
  readonly allowedTenants?: readonly string[];
  /** What signs introspection responses to it. @default 'RS256' @see RFC 9701 §6 */
  readonly introspectionSignedResponseAlg?: 'RS256' | 'ES256';
  /** `refuse`: nobody gets a token for it who acts as somebody else. @default 'allow' */
  readonly impersonation?: 'allow' | 'refuse';
  readonly status: 'active' | 'disabled';
}

/** What a user allowed a client. Its id is derived from both. */
export interface Consent extends Stored {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Claims that were asked for one by one. */
  readonly claims?: readonly string[];
  readonly at: Date;
  /** Voucher of the sign-ins in which the user gave the consent. A consent without a voucher counts. */
  readonly vouchedBy?: Voucher;
}

/** A signing key. It is published in each of its states, beside the keys of the other algorithm. */
export interface StoredSigningKey {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  /** `next`: announced. `active`: signs. `retiring`: signs no more, and what it signed still verifies. A removed key has no record. */
  readonly state: 'next' | 'active' | 'retiring';
  /** The private key, a JWK, encrypted. */
  readonly sealed: string;
  /** When the key was made, and so announced. */
  readonly announcedAt: Date;
  readonly activatedAt?: Date;
  readonly retiredAt?: Date;
  /** When a key that is retiring is to be removed. */
  readonly removeAt?: Date;
}

/** All signing keys and the events of their rotations. They are one document, so that each reader sees one state of all. One row. */
export interface KeyRing extends Stored {
  readonly keys: readonly StoredSigningKey[];
  readonly pendingEvents: readonly PendingEvent[];
  /** `yes` while {@link pendingEvents} has any, for the index. */
  readonly outbox?: 'yes';
}

/** An event in the one order that every reader follows. Its id is its number: 16 digits, without a gap. */
export interface EventRecord extends Row, Omit<PendingEvent, 'id'> {
  readonly eventId: string;
  /** When it got its number; `time` is when it happened. */
  readonly recordedAt: Date;
  /** When dispatch of the event was given up, because a listener failed too often. */
  readonly parkedAt?: Date;
}

/** A message to another party, kept until the other party took it. */
export interface Delivery extends Stored {
  /** `backchannel-logout` … */
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Names the deliveries that were enqueued together. */
  readonly batch?: string;
  /** `dead`: given up. */
  readonly state: 'waiting' | 'dead';
  readonly attempts: number;
  /** When the next attempt may begin; of a dead one, when it is removed. */
  readonly due: Date;
  /** Why the last attempt failed. */
  readonly problem?: string;
}

/**
 * The changes that seeds made to one record, so that no seed makes them again. `values` keeps a digest of each value that a seed gave. `items`
 * keeps the things that a seed gives once: a scope, a group's id, a secret's hash. One row, named `origin`, says how the ledger began.
 */
export interface SeedRecord extends Row {
  /** The record's id, which differs from what the seed would give it where somebody had made one of that name. */
  readonly recordId: string;
  /** The record's `createdAt`, which distinguishes it from a later record with the same id. */
  readonly recordCreatedAt?: Date;
  /** Absent until the record is complete. The next start completes a record that a node left so. */
  readonly madeAt?: Date;
  readonly values: readonly { readonly field: string; readonly digest: string }[];
  readonly items: readonly { readonly field: string; readonly item: string; readonly isInSeed: boolean }[];
  /** Whether somebody else made the record, and a seed found it. */
  readonly isFound?: true;
  /** Of `origin`: records existed before the ledger did, so an absent record may have been removed. */
  readonly isAfterRecords?: boolean;
}

/** A tenant that was removed, until nothing is kept of it. Its id is the tenant's. */
export interface Removal extends Stored, Outboxed {
  /** Who removed it, as its event says. */
  readonly by: Pick<PendingEvent, 'actor' | 'act' | 'requestId'>;
}

/**
 * The id of a removed user. The row's id is a keyed hash of the user's id, and the row has nothing else. The row with the id `keys` has the keys of the
 * hashes, encrypted.
 */
export interface RemovedUser extends Row {
  readonly sealed?: readonly string[];
}

/** Work over all records that was done. `keys of <collection>`: the version of the derived members that all of its rows have. */
export interface UpkeepRecord extends Row {
  readonly done: number;
  /** The keys, encrypted. Only in the row `keys of national ids`. */
  readonly sealed?: readonly string[];
  /** Only in the row `sweep of records`. */
  readonly sweep?: {
    /** When the last pass over all records began. */
    readonly startedAt: Date;
    /** Where the pass continues. Absent when the pass has ended. */
    readonly collection?: string;
    /** The last row of the collection that was read. */
    readonly after?: string;
    /** Unreadable rows that were found, a bounded number. */
    readonly unreadable: readonly SweptRow[];
    /** Readable rows that have a problem, a bounded number. */
    readonly dangling?: readonly SweptRow[];
  };
}

/** A row that the sweep found. */
export interface SweptRow {
  readonly collection: string;
  readonly id: string;
}

/** How often each collection was written, for the caches of all nodes. One row. */
export interface ChangeRecord extends Row {
  readonly revisions: Readonly<Record<string, number>>;
}
