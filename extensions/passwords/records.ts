/** What waits for the queue, which holds ids alone, and what a browser did a moment ago. */
import type { ArtifactKind, Attribution, Proof, Voucher } from '../../lib/extension-door.js';

/** A name that somebody typed who forgot a password, until it is looked up. */
export const resetRequests: ArtifactKind = { name: 'passwords.asked', lifetimeSeconds: 3600 };
/** An address that somebody wants, until the link is on its way. */
export const wantedAddresses: ArtifactKind = { name: 'passwords.wanted', lifetimeSeconds: 36_000 };
/** Browsers that asked for a change of address. In these, the link needs no sign-in. */
export const addressBrowsers: ArtifactKind = { name: 'passwords.email-asked', lifetimeSeconds: 30 * 86_400 };
/** Browsers that a reset was asked for in: the way back to the sign-in is for them, because the application would not know another. */
export const resetBrowsers: ArtifactKind = { name: 'passwords.begun', lifetimeSeconds: 86_400 };
/** Browsers that used a link a moment ago: a form that is sent twice is answered like the first. */
export const usedLinks: ArtifactKind = { name: 'passwords.used', lifetimeSeconds: 600 };
/** Events that were told of, so that a delivery that comes twice sends one mail. */
export const sentNotices: ArtifactKind = { name: 'passwords.told', lifetimeSeconds: 172_800 };

export interface ResetRequest {
  readonly identifier: string;
  /** Empty where the person named none. */
  readonly organisation: string;
  readonly tids?: readonly string[];
  readonly clientId: string;
  readonly uid: string;
  readonly locale?: string;
}

export interface WantedAddress {
  readonly oid: string;
  readonly address: string;
  /** Proof of the sign-in that asked. */
  readonly askedWith: Proof;
  /** Voucher of that sign-in. */
  readonly vouchedBy?: Voucher;
  /** Language of the page. */
  readonly locale?: string;
}

/** Kinds of deliveries. */
export const LOOK_UP = 'passwords.look-up';
export const RESET = 'passwords.reset';
export const ADDRESS = 'passwords.address';
export const NOTICE = 'passwords.notice';

/** A link to be mailed to the owner of a password. */
export interface DueReset {
  readonly oid: string;
  readonly requestId: string;
  /** Names the delivery, because a request that is run again enqueues another one. */
  readonly mailing: string;
  readonly clientId?: string;
  readonly uid?: string;
  readonly locale?: string;
  /** Who had it sent to somebody else. */
  readonly by?: Attribution;
  /** Voucher of that administrator. */
  readonly vouchedBy?: Voucher;
  /** The address that the administrator saw. */
  readonly address?: string;
}

/** An event that its person is to hear of. */
export interface DueNotice {
  readonly event: string;
  readonly type: string;
  readonly oid: string;
  /** When it happened, ISO 8601. */
  readonly time: string;
}
