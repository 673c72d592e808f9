/** Authentication requests of decoupled sign-in (CIBA), as host code sees them. */
import type { Attribution } from '../../events.js';

/** An authentication request: a client asks a person to approve a sign-in on another device. */
export interface AuthenticationRequest {
  /** Id of the request. The client's `auth_req_id` cannot be derived from it. */
  readonly id: string;
  /** Id of the user. */
  readonly oid: string;
  readonly tid: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** `acr_values` as the client sent them: `idp:`, `tenant:`, `mfa`. */
  readonly acrValues?: string;
  readonly bindingMessage?: string;
  readonly messageFormat: 'plaintext' | 'simpleMarkdownV1';
  /** The party that began: the user, or the relying party without a request of the user. */
  readonly initiator: 'user' | 'RP';
  /** Language tags, the preferred one first. */
  readonly uiLocales?: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** `replaced`: the same client sent a newer request. `expired`: the user did not answer in time. */
  readonly state: 'pending' | 'approved' | 'denied' | 'replaced' | 'expired';
  readonly decidedAt?: Date;
  /** Attribution of the decision, as events have it. */
  readonly decidedBy?: Attribution;
  readonly denial?: DenialReason;
  /** Whether the client gets a notification (ping mode). */
  readonly isPing: boolean;
}

/** Reason of a denial: the person declined, the person does not recognise the request, or the host denied it. */
export type DenialReason = 'declined' | 'unrecognised' | 'host';

/** Proof of identity of the person who approves. */
export interface Approver {
  /** Id of the user. Only the user of the request can approve it. */
  readonly oid: string;
  /** `pwd` or `external`, and `mfa` if a second factor was proven. */
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Time of the proof, in seconds since the epoch. */
  readonly authTime: number;
  /** Times of the proofs that were added to `amr` later, in seconds since the epoch. */
  readonly provenAt?: Readonly<Record<string, number>>;
  /** The sign-in method, if it is not the password and its name differs from `idp`. */
  readonly method?: string;
  /** As in `SignedIn`. Pass on the value of the sign-in that approves. */
  readonly used?: string;
  /** Id of the user whose credential was used. @default the parent account of a linked account, else the user */
  readonly owner?: string;
  /** Name of the session of the sign-in. */
  readonly session?: string;
  /** The impersonator. An impersonated user approves nothing. */
  readonly act?: object;
}

/** Outcome of an attempt to decide a request. `request` is its current state. */
export type RequestDecision =
  /** The request was decided by this call. */
  | { readonly outcome: 'decided'; readonly request: AuthenticationRequest }
  /** The request was decided before, or has expired. See `request.state`. */
  | { readonly outcome: 'over'; readonly request: AuthenticationRequest }
  /** The request is unknown, or the user of the request may no longer sign in. */
  | { readonly outcome: 'unknown' }
  /** The request belongs to another user, or the approver impersonates the user. */
  | { readonly outcome: 'not-theirs' }
  /** The sign-in lacks the method or the strength that the request or the tenant requires. */
  | { readonly outcome: 'insufficient'; readonly request: AuthenticationRequest }
  /** The client may no longer sign this user in. */
  | { readonly outcome: 'not-allowed'; readonly request: AuthenticationRequest };

/** Decisions about authentication requests by host code, such as the host's own app. The pages of the service use the same methods. */
export interface AuthenticationRequests {
  /** Returns the pending requests of a user, newest first. */
  pendingOf(oid: string): Promise<readonly AuthenticationRequest[]>;
  /**
   * Returns a request in any state, until ten minutes after the end of the request. Undefined after the user of the request was signed out everywhere,
   * disabled or erased.
   */
  read(id: string): Promise<AuthenticationRequest | undefined>;
  /** Approves a request for its user. Checks person, tenant, client, strength of the sign-in and time again. */
  approve(id: string, approver: Approver, by?: Attribution): Promise<RequestDecision>;
  /** Denies a request. The host's code has to make sure that the user or the host denies the request. */
  deny(id: string, why?: DenialReason, by?: Attribution): Promise<RequestDecision>;
}

/** Notification of an authentication request, for the person's device. */
export interface CibaNotification {
  /** Id of the request, for `ciba.approve` and `ciba.deny` of the service. */
  readonly id: string;
  /** URL of the page on which the person answers. The page requires a sign-in, and shows the request only to its user. */
  readonly url: string;
  /** The user, and their tenant. */
  readonly oid: string;
  readonly tid: string;
  readonly userName: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly email?: string;
  readonly phoneNumber?: string;
  /** Id and name of the client that sent the request. */
  readonly clientId: string;
  readonly clientName: string;
  /** Message as the client sent it, for the person to compare. Do not trust the message, because the client wrote it. */
  readonly bindingMessage?: string;
  readonly bindingMessageFormat: 'plaintext' | 'simpleMarkdownV1';
  /** The party that began: the user, or the relying party without a request of the user. */
  readonly callInitiator: 'user' | 'RP';
  /** The request's `acr_values`. */
  readonly acrValues?: string;
  readonly scopes: readonly string[];
  /** The request's `ui_locales`. */
  readonly uiLocales?: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
