/** What happened, told in process. Names are the specification's. */

/** The data of each event. Plug-ins may add theirs by declaration merging. */
export interface EventMap {
  UserClaimAdded: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  UserClaimRemoved: { readonly AggregateId: string; readonly ClaimType: string; readonly ClaimValue: string };
  PersonCreated: { readonly AggregateId: string };
  PersonUpdated: { readonly AggregateId: string };
  PersonErased: { readonly AggregateId: string };
  UserCreated: { readonly AggregateId: string; readonly PersonId: string };
  UserGroupsChanged: { readonly AggregateId: string; readonly GroupIds: readonly string[] };
  UserDisabled: { readonly AggregateId: string };
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

/** Those of the service. */
export const eventNames = [
  'UserClaimAdded',
  'UserClaimRemoved',
  'PersonCreated',
  'PersonUpdated',
  'PersonErased',
  'UserCreated',
  'UserGroupsChanged',
  'UserDisabled',
  'RefreshTokenReplayed',
  'RefreshTokenRetriedElsewhere',
  'KeyRotated',
] as const satisfies readonly EventName[];

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
  /** The order that every reader follows. */
  readonly sequence: number;
  readonly data: EventMap[Name];
}

export type EventListener<Name extends EventName> = (event: IdpEvent<Name>) => void | Promise<void>;
