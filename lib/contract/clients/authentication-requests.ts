/** Authentication requests of decoupled sign-in (CIBA), as a host sees them in process. */
import type { Attribution } from '../../events.js';

/** What a client asks a person to approve. */
export interface AuthenticationRequest {
  /** Names the request; the client's `auth_req_id` cannot be had from it. */
  readonly id: string;
  /** The user. */
  readonly oid: string;
  readonly tid: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** As the client sent them: `idp:`, `tenant:`, `mfa`. */
  readonly acrValues?: string;
  readonly bindingMessage?: string;
  readonly messageFormat: 'plaintext' | 'simpleMarkdownV1';
  /** Who began: the user, or the relying party without being asked. */
  readonly initiator: 'user' | 'RP';
  /** Language tags, the first wanted most. */
  readonly uiLocales?: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** `replaced`: by another of the same client. `expired`: nobody answered in time. */
  readonly state: 'pending' | 'approved' | 'denied' | 'replaced' | 'expired';
  readonly decidedAt?: Date;
  /** Who made it happen, as events have it. */
  readonly decidedBy?: Attribution;
  readonly denial?: DenialReason;
  /** Whether its client waits for a notification. */
  readonly isPing: boolean;
}

/** Why a request was denied: by the person, by the person who knows nothing of it, or because the host said so. */
export type DenialReason = 'declined' | 'unrecognised' | 'host';

/** How a person who approves proved who they are. */
export interface Approver {
  /** The user: nobody approves for somebody else. */
  readonly oid: string;
  /** `pwd` or `external`, and `mfa` where a second factor was proven. */
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** When they did, in seconds since the epoch. */
  readonly authTime: number;
  /** When members of `amr` were proven that joined later, in seconds since the epoch. */
  readonly provenAt?: Readonly<Record<string, number>>;
  /** The sign-in method, where it is neither the password nor called as its `idp`. */
  readonly method?: string;
  /** As in `SignedIn`: pass it on from the sign-in that approves. */
  readonly used?: string;
  /** The user whose credential the sign-in rests on. @default the parent of a linked account, else the user */
  readonly owner?: string;
  /** The name of the session of the sign-in. */
  readonly session?: string;
  /** Who acts as the user: such a sign-in approves nothing. */
  readonly act?: object;
}

/** What became of an attempt to decide. `request` is as it is now. */
export type RequestDecision =
  /** Decided by this call. */
  | { readonly outcome: 'decided'; readonly request: AuthenticationRequest }
  /** Somebody was faster, or time was: `request.state` tells. */
  | { readonly outcome: 'over'; readonly request: AuthenticationRequest }
  /** There is no such request, or its user may not sign in any more. */
  | { readonly outcome: 'unknown' }
  /** It is somebody else's request, or who approves acts as the person. */
  | { readonly outcome: 'not-theirs' }
  /** The sign-in is not of the kind, or the strength, that the request or the tenant asks for. */
  | { readonly outcome: 'insufficient'; readonly request: AuthenticationRequest }
  /** The client may not sign the person in any more. */
  | { readonly outcome: 'not-allowed'; readonly request: AuthenticationRequest };

/** Approval by the host's own means, such as its app. The pages of the service use the same. */
export interface AuthenticationRequests {
  /** Requests of a user that wait for an answer, the newest first. */
  pendingOf(oid: string): Promise<readonly AuthenticationRequest[]>;
  /** A request in whatever state, until ten minutes after its end. Undefined once its user was signed out everywhere, disabled or erased. */
  read(id: string): Promise<AuthenticationRequest | undefined>;
  /** Approves a request in the name of its user. Person, tenant, client, strength of the sign-in and time are asked anew here. */
  approve(id: string, approver: Approver, by?: Attribution): Promise<RequestDecision>;
  /** Denies a request. The caller sees to it that it is the user who does, or the host. */
  deny(id: string, why?: DenialReason, by?: Attribution): Promise<RequestDecision>;
}

/** A request to sign in, for the person's device. */
export interface CibaNotification {
  /** Names the request; what `ciba.approve` and `ciba.deny` of the service take. */
  readonly id: string;
  /** The page where the person answers. It asks them to sign in, and shows the request to nobody else. */
  readonly url: string;
  /** The user, and their tenant. */
  readonly oid: string;
  readonly tid: string;
  readonly userName: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly email?: string;
  readonly phoneNumber?: string;
  /** Who asks. */
  readonly clientId: string;
  readonly clientName: string;
  /** As the client sent it: text of somebody else, which is to be compared and not to be trusted. */
  readonly bindingMessage?: string;
  readonly bindingMessageFormat: 'plaintext' | 'simpleMarkdownV1';
  /** Who began: the person, or the relying party by itself. */
  readonly callInitiator: 'user' | 'RP';
  /** The request's `acr_values`. */
  readonly acrValues?: string;
  readonly scopes: readonly string[];
  /** The request's `ui_locales`. */
  readonly uiLocales?: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
