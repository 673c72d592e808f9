/** What happened, told in process. Names are the specification's. */

/**
 * What ended it: who acts, its time, an administrator, a sign-out, the sign-in or permission of who acts, or what became of the user: disabled, erased, given
 * a permission that nobody is impersonated with.
 */
export type ImpersonationEnd = 'operator' | 'time' | 'administrator' | 'sign-out' | 'permission' | 'target';

/** The data of each event. Plug-ins may add theirs by declaration merging. */
export interface EventMap {
  UserClaimAdded: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  UserClaimRemoved: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  PersonCreated: { readonly AggregateId: string };
  PersonUpdated: { readonly AggregateId: string };
  PersonErased: { readonly AggregateId: string };
  UserCreated: { readonly AggregateId: string; readonly PersonId: string };
  UserRemoved: { readonly AggregateId: string; readonly PersonId: string };
  /** An invitation waits for the user to accept it. */
  UserInvited: { readonly AggregateId: string; readonly InvitationId: string };
  /** The invited user is active: by the invitation, or by the first sign-in with an external identity that was recorded for them. */
  UserRegistered: { readonly AggregateId: string; readonly InvitationId?: string };
  /** The user signs in at the identity provider `Idp` as well from now on. */
  UserIdentityAdded: { readonly AggregateId: string; readonly Idp: string };
  UserIdentityRemoved: { readonly AggregateId: string; readonly Idp: string };
  /** The host's mail took the invitation. */
  InvitationSent: { readonly AggregateId: string; readonly UserId: string };
  /** The invitation cannot be accepted any more. */
  InvitationRevoked: { readonly AggregateId: string; readonly UserId: string };
  /** Somebody got to see the link of the invitation. */
  InvitationLinkFetched: { readonly AggregateId: string; readonly UserId: string };
  UserGroupsChanged: { readonly AggregateId: string; readonly GroupIds: readonly string[] };
  UserDisabled: { readonly AggregateId: string };
  UserEnabled: { readonly AggregateId: string };
  UserActivated: { readonly AggregateId: string };
  /** Every sign-in and token of the user before this moment is void. */
  UserSignedOut: { readonly AggregateId: string };
  /** Somebody who may had a link mailed to the user that resets the password. */
  UserPasswordResetRequested: { readonly AggregateId: string };
  /** The user has another password than before. */
  UserPasswordChanged: { readonly AggregateId: string };
  /** The person of the user has another e-mail address than before, which may not be proven yet. */
  UserEmailChanged: { readonly AggregateId: string };
  /** The user proved their e-mail address by a mailed link. */
  UserEmailVerified: { readonly AggregateId: string };
  /** An administrator ended one sign-in of the user. */
  SessionEnded: { readonly AggregateId: string; readonly SessionId: string };
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
  /** A connection got another client secret, or another key. */
  ConnectionSecretAdded: { readonly AggregateId: string };
  WebhookCreated: { readonly AggregateId: string };
  WebhookUpdated: { readonly AggregateId: string };
  WebhookRemoved: { readonly AggregateId: string };
  WebhookSecretAdded: { readonly AggregateId: string };
  /** The service switched a webhook off: its receiver failed for five days, or answered 410. */
  WebhookDisabled: { readonly AggregateId: string; readonly Reason: 'failing' | 'gone' };
  /** The user can prove themselves by another factor: an authenticator app, a passkey, a new set of recovery codes. */
  FactorAdded: { readonly AggregateId: string; readonly FactorId: string; readonly Kind: 'totp' | 'passkey' | 'recovery' };
  /** Without `Kind` where the record of the factor could not be read. */
  FactorRemoved: { readonly AggregateId: string; readonly FactorId: string; readonly Kind?: 'totp' | 'passkey' | 'recovery' };
  /**
   * Somebody acts as the user from now on; the event is there before any token is. The operator is who acts, as in the claim `act`. `Reason` is absent once one
   * of the two is erased. Instants are ISO 8601.
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
  /** A limit of wrong codes of the user's second factor was reached, so somebody may know the password. At most once a day. */
  FactorCodesGuessed: { readonly AggregateId: string };
  /** A passkey counted less than before, so there may be a copy of it: the sign-in was refused. */
  PasskeyCounterWentBack: { readonly AggregateId: string; readonly FactorId: string };
  /** A client asks the user to sign in on a device of their own. `RequestId` names the request. @see CIBA Core §7 */
  BackchannelAuthenticationRequested: { readonly AggregateId: string; readonly RequestId: string; readonly ClientId: string };
  /** The user approved such a request: the client may get tokens. */
  BackchannelAuthenticationApproved: { readonly AggregateId: string; readonly RequestId: string; readonly ClientId: string };
  /**
   * Such a request will give no tokens. `Reason`: the user `declined`; it was `unrecognised`, the user knows nothing of it; the `host` said so; or it was
   * `replaced` by another of the same client.
   */
  BackchannelAuthenticationDenied: {
    readonly AggregateId: string;
    readonly RequestId: string;
    readonly ClientId: string;
    readonly Reason: 'declined' | 'unrecognised' | 'host' | 'replaced';
  };
  /**
   * A refresh token came back after it was replaced, so it is in two hands: every token of its grant was ended. `SessionId` is the `sid` of the
   * client's ID tokens, `SpentAt` when the token was first used (ISO 8601).
   * @see RFC 9700 §4.14.2
   */
  RefreshTokenReplayed: {
    readonly AggregateId: string;
    readonly ClientId: string;
    readonly SessionId?: string;
    readonly SpentAt: string;
  };
  /**
   * A refresh token that had just been replaced came again from another address and another agent, and was answered, since it may be a retry.
   * Told once for each token; `SessionId` and `SpentAt` as above.
   */
  RefreshTokenRetriedElsewhere: {
    readonly AggregateId: string;
    readonly ClientId: string;
    readonly SessionId?: string;
    readonly SpentAt: string;
  };
  /** A signing key took over from another of its algorithm, which is `retiring` and still verifies, or `removed` and does not. Ids are `kid`s. */
  KeyRotated: {
    readonly AggregateId: string;
    readonly Algorithm: string;
    readonly PreviousKeyId: string;
    readonly PreviousKeyState: 'retiring' | 'removed';
  };
}

export type EventName = keyof EventMap;

/** Those that `lib` raises by itself. Extensions of the service declare theirs in their `events`, as those of a host do. */
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
  'SessionEnded',
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
 * Who made a change, by which request, and for whom: what the events of the change tell beside their data.
 * @example
 * ```ts
 * import type { Attribution } from 'tenant-idp';
 *
 * export const attribution: Attribution = { actor: 'client:hr-sync', requestId: '0197a000-0000-7000-8000-000000000001' };
 * ```
 */
export interface Attribution {
  /** `client:<client id>`, `user:<oid>`, or a name of the host's: 1 to 256 printable characters. */
  readonly actor?: string;
  /** Who acts as the actor: `user:<oid>` of the person who impersonates. */
  readonly act?: string;
  /** The request, as the log and its answer name it: 1 to 256 printable characters. */
  readonly requestId?: string;
  /** The client of the invitation behind the change. @see service specification, Events 2 */
  readonly metadata?: EventMetadata;
  /** The request, if it may be run again. Not a part of events. */
  readonly once?: WriteOnce;
}

/**
 * A request that may be run again, because the store made a write and its answer was lost. A run makes only those writes with events that no earlier run made.
 * Each run is an object of its own, and makes its writes in the same order.
 */
export interface WriteOnce {
  /** The same one in each run of the request, and in no other request. */
  readonly id: string;
  /** Whether there was an earlier run. */
  readonly isRetry: boolean;
}

/** The client of an invitation, in the events that the invitation leads to. @see service specification, Events 2 */
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
  /** ISO 8601. */
  readonly time: string;
  /** The aggregate's id. */
  readonly subject: string;
  readonly tid?: string;
  /** Who made the change. Absent where the service did, or code of the host that did not say. */
  readonly actor?: string;
  /** Who acted as the actor. */
  readonly act?: string;
  /** The request that made the change. */
  readonly requestid?: string;
  /** Its place in the one order: 16 digits, one more with each event, so that texts sort as numbers do. */
  readonly sequence: string;
  readonly data: EventMap[Name] & { readonly metadata?: EventMetadata };
}

export type EventListener<Name extends EventName> = (event: IdpEvent<Name>) => void | Promise<void>;
