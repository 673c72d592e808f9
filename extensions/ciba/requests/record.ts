/**
 * Authentication requests: one record each, and what becomes of it.
 *
 * A request is `pending` until one of `approved`, `denied` and `replaced` takes its place, by compare-and-swap: whoever comes second finds the outcome of the
 * first. It is `expired` when its time is over while it is pending; an approval that nobody redeemed in time is worth nothing. This file is the form of the record, `user-requests`
 * what each user has of them, `requests` what may be done with them.
 */
import type { ArtifactKind, Attribution, AuthenticationRequest, DenialReason, Proof, SignedIn } from '../../../lib/extension-door.js';

/** Seconds that a request is kept beyond its end, to answer `expired_token`. */
export const RETENTION_SECONDS = 600;
/** Longest that a request can live, in seconds. */
export const MAX_LIFETIME_SECONDS = 600;

export const requestKind: ArtifactKind = {
  name: 'ciba.requests',
  lifetimeSeconds: MAX_LIFETIME_SECONDS + RETENTION_SECONDS,
  account: true,
};

/** What a client asks for. */
export type Asked = Pick<
  AuthenticationRequest,
  'oid' | 'tid' | 'clientId' | 'scopes' | 'acrValues' | 'bindingMessage' | 'messageFormat' | 'initiator' | 'uiLocales'
>;

/** The sign-in that a person approved with. */
export interface Approval extends Pick<SignedIn, 'amr' | 'idp' | 'authTime' | 'provenAt' | 'used' | 'owner' | 'session'> {
  /** Where it is neither the password nor called as its `idp`. */
  readonly method?: string;
}

/** An approval, and the proof of its sign-in. The approval is valid until that sign-in is revoked. */
export interface ProvenApproval extends Approval {
  readonly proof: Proof;
}

export type { AuthenticationRequest, DenialReason };
export type MessageFormat = AuthenticationRequest['messageFormat'];
export type State = Exclude<AuthenticationRequest['state'], 'expired'>;

/** As it is kept, encrypted; times in milliseconds since the epoch. */
export interface RequestRecord extends Asked {
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly state: State;
  readonly decidedAt?: number;
  /** Who decided, and by which request. */
  readonly decidedBy?: Attribution;
  /** When the client got the outcome at the token endpoint: tokens, or that there are none. */
  readonly collectedAt?: number;
  readonly approval?: ProvenApproval;
  readonly denial?: DenialReason;
  /** Of a client that is to be notified. */
  readonly notification?: { readonly authReqId: string; readonly token: string };
}

/** Whether a request has expired. @param now milliseconds since the epoch, by the time that all nodes share */
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
