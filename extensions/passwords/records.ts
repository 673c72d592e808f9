/** Artifacts of requests that are enqueued, and of browsers that used a form or a mailed link. The queue has only the ids of artifacts. */
import type { ArtifactKind, Attribution, Proof, Voucher } from '../../lib/extension-door.js';

/** Requests for a password reset, until the name has been looked up. */
export const resetRequests: ArtifactKind = { name: 'passwords.asked', lifetimeSeconds: 3600 };
/** Requested addresses, until the link that proves the address has been mailed. */
export const wantedAddresses: ArtifactKind = { name: 'passwords.wanted', lifetimeSeconds: 36_000 };
/** Browsers that requested a change of address. In these browsers, the link that proves the address needs no sign-in. */
export const addressBrowsers: ArtifactKind = { name: 'passwords.email-asked', lifetimeSeconds: 30 * 86_400 };
/** Browsers that requested a password reset. Only these browsers return to the sign-in, because the application would not know another browser. */
export const resetBrowsers: ArtifactKind = { name: 'passwords.begun', lifetimeSeconds: 86_400 };
/** Browsers that just used a mailed link, so that a form that is sent twice gets the same answer twice. */
export const usedLinks: ArtifactKind = { name: 'passwords.used', lifetimeSeconds: 600 };
/** Parts of notices that were mailed, so that a delivery that is retried sends each part once. */
export const sentNotices: ArtifactKind = { name: 'passwords.told', lifetimeSeconds: 172_800 };

export interface ResetRequest {
  readonly identifier: string;
  /** Organisation that the user typed; empty by default. */
  readonly organisation: string;
  readonly tids?: readonly string[];
  readonly clientId: string;
  readonly uid: string;
  readonly locale?: string;
}

export interface WantedAddress {
  readonly oid: string;
  readonly address: string;
  /** Proof of the sign-in that requested the address. */
  readonly askedWith: Proof;
  /** Voucher of the sign-in that requested the address. */
  readonly vouchedBy?: Voucher;
  /** Language of the page. */
  readonly locale?: string;
}

/** Kinds of deliveries. */
export const LOOK_UP = 'passwords.look-up';
export const RESET = 'passwords.reset';
export const ADDRESS = 'passwords.address';
export const NOTICE = 'passwords.notice';

/** A reset link to be mailed to the owner of a password. */
export interface DueReset {
  readonly oid: string;
  readonly requestId: string;
  /** Unique name of the delivery, because a request that is retried enqueues another delivery. */
  readonly mailing: string;
  readonly clientId?: string;
  readonly uid?: string;
  readonly locale?: string;
  /** Administrator who sent the reset link to the user. */
  readonly by?: Attribution;
  /** Voucher of the administrator who sent the reset link. */
  readonly vouchedBy?: Voucher;
  /** The address that the administrator saw. */
  readonly address?: string;
}

/** Event of which its user is to be notified. */
export interface DueNotice {
  readonly event: string;
  readonly type: string;
  readonly oid: string;
  /** Time of the event, ISO 8601. */
  readonly time: string;
  /** Parts of the person that the user changed, as in `selfService` of a tenant. */
  readonly parts?: readonly string[];
  /** Id of the sign-in that the event is about, in the history of sign-ins. */
  readonly signIn?: string;
  /** Client whose access ended. */
  readonly clientId?: string;
}
