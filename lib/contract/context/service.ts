/**
 * Groups of an extension's context: each file holds the interface of one group.
 *
 * This file is the group `service`. `extension-context` puts the groups together, and `lib/service/extension-context` makes them.
 */
import type { Locale } from '../../display/locales.js';
import type { Logger } from '../../logger.js';
import type { Branding } from '../../store/records/records.js';
import type { CibaNotification } from '../clients/authentication-requests.js';
import type { MountedOperation } from '../resources.js';

/** The group `service` of the context: the service itself, its time, its log, and options that extensions need. */
export interface ExtensionService {
  readonly issuer: string;
  /** Whether the service runs in production. Pages then hide what only a developer needs. */
  readonly production: boolean;
  /** Languages of the pages. The first is the language for people who want none of them. */
  readonly locales: readonly Locale[];
  /** The look of the service, for pages and mails that have none of their own: the option `branding`. */
  readonly branding: Branding;
  /** Prefix of the paths that are the service's own and not the protocol's: `/idp`. */
  readonly own: string;
  /** Returns the absolute URL of a path below the issuer. */
  url(path: string): string;
  /**
   * Returns the time that all nodes share, in milliseconds since the epoch. The service takes `authTime` and `provenAt` of sign-ins, and the time of proofs of
   * credentials, from it. Compare them with it, because the clock of a node may be half a minute off.
   */
  now(): number;
  readonly logger: Logger;
  /** Returns all operations of the admin API, which extensions contribute. */
  operations(): readonly MountedOperation[];
  /** The tenant of personal accounts: the option `personalTenant`. */
  readonly personalTenant?: string;
  /** How users are notified of authentication requests: the option `ciba`. */
  readonly ciba: {
    readonly notify?: (notification: CibaNotification, signal: AbortSignal) => unknown;
    readonly email?: boolean;
  };
  readonly lifetimes: {
    /** Seconds that a link which proves an e-mail address is valid. */
    readonly emailProof: number;
    /** Seconds after which a sign-in ends, even if it is used. */
    readonly session: number;
    /** Maximum seconds of an impersonation. */
    readonly impersonation: number;
    /** Seconds that an authentication request of CIBA is valid. */
    readonly authenticationRequest: number;
    /** Seconds that events are kept. */
    readonly events: number;
  };
}
