/** Events of the service, as listeners in the host's program get them. Names are the service specification's. */

/**
 * Cause of the end of an impersonation:
 * - `operator`: the impersonator ended the impersonation.
 * - `time`: the time of the impersonation was up.
 * - `administrator`: an administrator ended the impersonation.
 * - `sign-out`: the impersonator or the user was signed out.
 * - `permission`: the impersonator lost the sign-in or the permission.
 * - `target`: the user was disabled, was erased, or got a permission with which nobody may be impersonated.
 */
export type ImpersonationEnd = 'operator' | 'time' | 'administrator' | 'sign-out' | 'permission' | 'target';

/** Credential whose change signed a user out: the password of the user or of the parent account, or a second factor. */
export type SignOutReason = 'password' | 'factor';

/** Data of each event, by type. Extensions add the data of their events by declaration merging. */
export interface EventMap {
  UserClaimAdded: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  UserClaimRemoved: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  PersonCreated: { readonly AggregateId: string };
  PersonUpdated: { readonly AggregateId: string };
  PersonErased: { readonly AggregateId: string };
  UserCreated: { readonly AggregateId: string; readonly PersonId: string };
  UserRemoved: { readonly AggregateId: string; readonly PersonId: string };
  /** An invitation was created and waits for the user to accept it. */
  UserInvited: { readonly AggregateId: string; readonly InvitationId: string };
  /** An invited user became active, by the invitation, or by the first sign-in with an external identity that was recorded for the user. */
  UserRegistered: { readonly AggregateId: string; readonly InvitationId?: string };
  /** The user can sign in at the identity provider `Idp`, in addition to existing methods. */
  UserIdentityAdded: { readonly AggregateId: string; readonly Idp: string };
  UserIdentityRemoved: { readonly AggregateId: string; readonly Idp: string };
  /** The user confirmed, when they signed in at `Idp`, the identity that a tenant's administrator had recorded for the user. */
  UserIdentityConfirmed: { readonly AggregateId: string; readonly Idp: string };
  /** The host's mail accepted the invitation. */
  InvitationSent: { readonly AggregateId: string; readonly UserId: string };
  /** The invitation can no longer be accepted. */
  InvitationRevoked: { readonly AggregateId: string; readonly UserId: string };
  /** The link of the invitation was shown to an administrator. */
  InvitationLinkFetched: { readonly AggregateId: string; readonly UserId: string };
  UserGroupsChanged: { readonly AggregateId: string; readonly GroupIds: readonly string[] };
  UserDisabled: { readonly AggregateId: string };
  UserEnabled: { readonly AggregateId: string };
  UserActivated: { readonly AggregateId: string };
  /**
   * Every sign-in and token of the user before this moment is revoked, except those of a session that the user keeps. `Reason` names the credential whose
   * change required the sign-out. `Reason` is absent if a user, an administrator or the host asked for the sign-out.
   */
  UserSignedOut: { readonly AggregateId: string; readonly Reason?: SignOutReason };
  /** An authorized client or administrator had a reset link mailed to the user. */
  UserPasswordResetRequested: { readonly AggregateId: string };
  /** The password of the user was changed. */
  UserPasswordChanged: { readonly AggregateId: string };
  /** The e-mail address of the user's person was changed. The new address may be unverified. */
  UserEmailChanged: { readonly AggregateId: string };
  /** The user changed their own person. `Parts` are entries of `selfService` of the tenant, such as `name`. */
  UserProfileChanged: { readonly AggregateId: string; readonly Parts: readonly string[] };
  /** The user proved their e-mail address by a mailed link. */
  UserEmailVerified: { readonly AggregateId: string };
  /**
   * The user signed in from a browser that the account does not know. `SignInId` is the id in the history of sign-ins. Raised at most once a day for each
   * browser.
   */
  UserSignedInWithNewBrowser: { readonly AggregateId: string; readonly SignInId: string };
  /** The user, or an administrator, ended one session of the user. */
  SessionEnded: { readonly AggregateId: string; readonly SessionId: string };
  /** The user, or an administrator, withdrew the consent of the user for a client. The grants and tokens of the client for this user are revoked. */
  ConsentWithdrawn: { readonly AggregateId: string; readonly ClientId: string };
  /** The user was signed out of one client that has no consent of the user. The grants and tokens of the client for this user are revoked. */
  UserSignedOutOfClient: { readonly AggregateId: string; readonly ClientId: string };
  TenantCreated: { readonly AggregateId: string };
  TenantUpdated: { readonly AggregateId: string };
  TenantRemoved: { readonly AggregateId: string };
  SubsidiaryCreated: { readonly AggregateId: string };
  SubsidiaryUpdated: { readonly AggregateId: string };
  SubsidiaryRemoved: { readonly AggregateId: string };
  GroupCreated: { readonly AggregateId: string };
  GroupUpdated: { readonly AggregateId: string };
  GroupRemoved: { readonly AggregateId: string };
  PermissionCreated: { readonly AggregateId: string };
  PermissionUpdated: { readonly AggregateId: string };
  PermissionRemoved: { readonly AggregateId: string };
  ClientCreated: { readonly AggregateId: string };
  ClientUpdated: { readonly AggregateId: string };
  ClientRemoved: { readonly AggregateId: string };
  ClientSecretAdded: { readonly AggregateId: string };
  ApiResourceCreated: { readonly AggregateId: string };
  ApiResourceUpdated: { readonly AggregateId: string };
  ApiResourceRemoved: { readonly AggregateId: string };
  ApiResourceSecretAdded: { readonly AggregateId: string };
  ConnectionCreated: { readonly AggregateId: string };
  ConnectionUpdated: { readonly AggregateId: string };
  ConnectionRemoved: { readonly AggregateId: string };
  /** A connection got a new client secret, or a new signing key. */
  ConnectionSecretAdded: { readonly AggregateId: string };
  WebhookCreated: { readonly AggregateId: string };
  WebhookUpdated: { readonly AggregateId: string };
  WebhookRemoved: { readonly AggregateId: string };
  WebhookSecretAdded: { readonly AggregateId: string };
  /** The service disabled a webhook, because its receiver failed for five days or answered 410. */
  WebhookDisabled: { readonly AggregateId: string; readonly Reason: 'failing' | 'gone' };
  /** The user got another factor: an authenticator app, a passkey, or a new set of recovery codes. */
  FactorAdded: { readonly AggregateId: string; readonly FactorId: string; readonly Kind: 'totp' | 'passkey' | 'recovery' };
  /** A factor was removed. `Kind` is absent if the record of the factor could not be read. */
  FactorRemoved: { readonly AggregateId: string; readonly FactorId: string; readonly Kind?: 'totp' | 'passkey' | 'recovery' };
  /**
   * An impersonation began. The event is written before any token is issued. The operator is the impersonator, as in the claim `act`. `Reason` is absent
   * after one of the two persons was erased. Instants are ISO 8601.
   */
  ImpersonationStarted: {
    readonly AggregateId: string;
    readonly ImpersonationId: string;
    readonly OperatorId: string;
    readonly OperatorSub: string;
    readonly OperatorTenantId: string;
    readonly Reason?: string;
    readonly ClientId: string;
    readonly StartedAt: string;
    readonly EndsAt: string;
  };
  ImpersonationEnded: {
    readonly AggregateId: string;
    readonly ImpersonationId: string;
    readonly OperatorId: string;
    readonly OperatorSub: string;
    readonly OperatorTenantId: string;
    readonly Reason?: string;
    readonly ClientId: string;
    readonly StartedAt: string;
    readonly EndsAt: string;
    readonly EndedAt: string;
    readonly EndedBy: ImpersonationEnd;
  };
  /** A limit of wrong codes of the user's second factor was reached, so another person may know the password. Raised at most once a day. */
  FactorCodesGuessed: { readonly AggregateId: string };
  /** The counter of a passkey decreased, so the passkey may have been copied. The sign-in was refused. */
  PasskeyCounterWentBack: { readonly AggregateId: string; readonly FactorId: string };
  /** A client asked the user to sign in on the user's own device. `RequestId` is the id of the request. @see CIBA Core §7 */
  BackchannelAuthenticationRequested: { readonly AggregateId: string; readonly RequestId: string; readonly ClientId: string };
  /** The user approved an authentication request. The client can get tokens. */
  BackchannelAuthenticationApproved: { readonly AggregateId: string; readonly RequestId: string; readonly ClientId: string };
  /**
   * An authentication request was denied. `Reason` is one of:
   * - `declined`: the user declined.
   * - `unrecognised`: the user does not recognise the request.
   * - `host`: the host denied the request.
   * - `replaced`: the same client sent a newer request.
   */
  BackchannelAuthenticationDenied: {
    readonly AggregateId: string;
    readonly RequestId: string;
    readonly ClientId: string;
    readonly Reason: 'declined' | 'unrecognised' | 'host' | 'replaced';
  };
  /**
   * A refresh token was replayed after it was replaced, so two parties may have the refresh token. Every token of the grant was revoked. `SessionId` is the
   * `sid` of the client's ID tokens. `SpentAt` is the time of the first use (ISO 8601).
   * @see RFC 9700 §4.14.2
   */
  RefreshTokenReplayed: {
    readonly AggregateId: string;
    readonly ClientId: string;
    readonly SessionId?: string;
    readonly SpentAt: string;
  };
  /**
   * A refresh token that had just been replaced was sent again from another address and another user agent. The service answered the request, because the
   * request may be a retry. There is one event for each token. `SessionId` and `SpentAt` are as in `RefreshTokenReplayed`.
   */
  RefreshTokenRetriedElsewhere: {
    readonly AggregateId: string;
    readonly ClientId: string;
    readonly SessionId?: string;
    readonly SpentAt: string;
  };
  /**
   * A signing key replaced another signing key of its algorithm. The replaced key is `retiring` and still verifies, or was `removed` and no longer
   * verifies. Ids are `kid`s.
   */
  KeyRotated: {
    readonly AggregateId: string;
    readonly Algorithm: string;
    readonly PreviousKeyId: string;
    readonly PreviousKeyState: 'retiring' | 'removed';
  };
}

export type EventName = keyof EventMap;

/** Events that `lib` itself raises. Extensions declare their events in `events`. */
export const eventNames = [
  'UserClaimAdded',
  'UserClaimRemoved',
  'PersonCreated',
  'PersonUpdated',
  'PersonErased',
  'UserCreated',
  'UserInvited',
  'UserRegistered',
  'UserIdentityAdded',
  'UserIdentityRemoved',
  'UserIdentityConfirmed',
  'InvitationSent',
  'InvitationRevoked',
  'InvitationLinkFetched',
  'UserGroupsChanged',
  'UserDisabled',
  'UserRemoved',
  'UserEnabled',
  'UserActivated',
  'UserSignedOut',
  'UserPasswordResetRequested',
  'UserPasswordChanged',
  'UserEmailChanged',
  'UserEmailVerified',
  'UserProfileChanged',
  'UserSignedInWithNewBrowser',
  'SessionEnded',
  'ConsentWithdrawn',
  'UserSignedOutOfClient',
  'TenantCreated',
  'TenantUpdated',
  'TenantRemoved',
  'SubsidiaryCreated',
  'SubsidiaryUpdated',
  'SubsidiaryRemoved',
  'GroupCreated',
  'GroupUpdated',
  'GroupRemoved',
  'PermissionCreated',
  'PermissionUpdated',
  'PermissionRemoved',
  'ClientCreated',
  'ClientUpdated',
  'ClientRemoved',
  'ClientSecretAdded',
  'ApiResourceCreated',
  'ApiResourceUpdated',
  'ApiResourceRemoved',
  'ApiResourceSecretAdded',
  'RefreshTokenReplayed',
  'RefreshTokenRetriedElsewhere',
  'KeyRotated',
] as const satisfies readonly EventName[];

/**
 * Attribution of a change: the actor, the impersonator, the request, and the client behind an invitation. The events of the change have these members.
 * @example
 * ```ts
 * import type { Attribution } from 'tenant-idp';
 *
 * export const attribution: Attribution = { actor: 'client:hr-sync', requestId: '0197a000-0000-7000-8000-000000000001' };
 * ```
 */
export interface Attribution {
  /** `client:<client id>`, `user:<oid>`, or a name chosen by the host: 1 to 256 printable characters. */
  readonly actor?: string;
  /** The impersonator: `user:<oid>`. */
  readonly act?: string;
  /** Id of the request, as in the log and in the answer: 1 to 256 printable characters. */
  readonly requestId?: string;
  /** Client of the invitation that led to the change. @see service specification, Events 2 */
  readonly metadata?: EventMetadata;
  /** The request, if the request may be run again. The member is not a part of events. */
  readonly once?: WriteOnce;
}

/**
 * A request that may be run again, because the store made a write and the answer was lost. A run makes only the writes with events that no earlier run
 * made. Each run is its own object, and makes its writes in the same order.
 */
export interface WriteOnce {
  /** Id that is the same in each run of the request, and in no other request. */
  readonly id: string;
  /** Whether the request was run before. */
  readonly isRetry: boolean;
}

/** Client of an invitation, in the events that the invitation leads to. @see service specification, Events 2 */
export interface EventMetadata {
  readonly ClientId: string;
  readonly ClientName: string;
}

/** @see CloudEvents 1.0 §3 */
export interface IdpEvent<Name extends EventName = EventName> {
  readonly specversion: '1.0';
  readonly id: string;
  /** The issuer. */
  readonly source: string;
  readonly type: Name;
  /** Time of the event, in ISO 8601. */
  readonly time: string;
  /** Id of the aggregate. */
  readonly subject: string;
  readonly tid?: string;
  /** Actor of the change. Absent if the service made the change, or if the host did not name an actor. */
  readonly actor?: string;
  /** The impersonator who acted in the name of the actor. */
  readonly act?: string;
  /** Id of the request that made the change. */
  readonly requestid?: string;
  /** Position in the one order of all events: 16 digits, one more with each event. The text sorts as the number does. */
  readonly sequence: string;
  readonly data: EventMap[Name] & { readonly metadata?: EventMetadata };
}

export type EventListener<Name extends EventName> = (event: IdpEvent<Name>) => void | Promise<void>;
