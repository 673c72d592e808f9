/**
 * Records of authentication requests, one for each request.
 *
 * A request is `pending` until it becomes `approved`, `denied` or `replaced` by compare-and-swap. A second decision finds the outcome of the first. A
 * pending request that expires is `expired`. An approval that the client did not redeem in time is worthless. The form of the record is here.
 * `user-requests` has the list of a user's requests, and `requests` has the operations.
 */
import type { ArtifactKind, Attribution, AuthenticationRequest, DenialReason, Proof, SignedIn } from '../../../lib/extension-door.js';

/** Seconds that a request is stored after it expired, so that the token endpoint can answer `expired_token`. */
export const RETENTION_SECONDS = 600;
/** Maximum lifetime of a request, in seconds. */
export const MAX_LIFETIME_SECONDS = 600;

export const requestKind: ArtifactKind = {
  name: 'ciba.requests',
  lifetimeSeconds: MAX_LIFETIME_SECONDS + RETENTION_SECONDS,
  account: true,
};

/** The parts of a request that come from the client and its hint. */
export type Asked = Pick<
  AuthenticationRequest,
  'oid' | 'tid' | 'clientId' | 'scopes' | 'acrValues' | 'bindingMessage' | 'messageFormat' | 'initiator' | 'uiLocales'
>;

/** The sign-in with which the user approved. */
export interface Approval extends Pick<SignedIn, 'amr' | 'idp' | 'authTime' | 'provenAt' | 'used' | 'owner' | 'session'> {
  /** The sign-in method. Absent for the password, and for a method with the name of its `idp`. */
  readonly method?: string;
}

/** An approval with the proof of its sign-in. The approval is valid until the sign-in is revoked. */
export interface ProvenApproval extends Approval {
  readonly proof: Proof;
}

export type { AuthenticationRequest, DenialReason };
export type MessageFormat = AuthenticationRequest['messageFormat'];
export type State = Exclude<AuthenticationRequest['state'], 'expired'>;

/** A request as it is stored, encrypted. Times are in milliseconds since the epoch. */
export interface RequestRecord extends Asked {
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly state: State;
  readonly decidedAt?: number;
  /** The actor who decided, and the HTTP request. */
  readonly decidedBy?: Attribution;
  /** When the client got the outcome at the token endpoint: tokens or an error. */
  readonly collectedAt?: number;
  readonly approval?: ProvenApproval;
  readonly denial?: DenialReason;
  /** Values for the notification of a client in ping mode. */
  readonly notification?: { readonly authReqId: string; readonly token: string };
}

/** Returns whether a request has expired. @param now milliseconds since the epoch, by the clock that all nodes share */
export const isExpired = ({ expiresAt }: Pick<RequestRecord, 'expiresAt'>, now: number): boolean => expiresAt <= now;

/** Returns a request as the host API shows it. @param now as in {@link isExpired} */
export function viewOf(id: string, record: RequestRecord, now: number): AuthenticationRequest {
  const { createdAt, expiresAt, decidedAt, collectedAt: _, state, approval: __, notification, ...asked } = record;
  return {
    ...asked,
    id,
    createdAt: new Date(createdAt),
    expiresAt: new Date(expiresAt),
    ...(decidedAt === undefined ? {} : { decidedAt: new Date(decidedAt) }),
    state: state === 'pending' && isExpired(record, now) ? 'expired' : state,
    isPing: notification !== undefined,
  };
}
