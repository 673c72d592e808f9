/**
 * Groups of an extension's context: each file holds the interface of one group.
 *
 * The interface in this file is the group `service`. `extension-context` joins the groups, and `lib/service/extension-context` creates the groups.
 */
import type { AttributeRules } from '../../directory/index.js';
import type { Locale } from '../../display/locales.js';
import type { Logger } from '../../logger.js';
import type { Branding } from '../../store/records/records.js';
import type { AddressPart } from '../../text/ip-address.js';
import type { CibaNotification } from '../clients/authentication-requests.js';
import type { MountedOperation } from '../resources.js';

/** The group `service` of the context: the service itself, its time, its log, and options that extensions need. */
export interface ExtensionService {
  readonly issuer: string;
  /** Whether the service runs in production. In production, pages hide details for developers. */
  readonly production: boolean;
  /** Languages of the pages. The first language is the default for users who prefer none of these languages. */
  readonly locales: readonly Locale[];
  /** The look of the service, for pages and mails without another look: the option `branding`. */
  readonly branding: Branding;
  /** Prefix of the service's own paths, as opposed to the paths of the protocol: `/idp`. */
  readonly own: string;
  /** Whether `/.well-known/change-password` leads to the page on which users change their password: the option `paths.changePassword`. */
  readonly changePassword: boolean;
  /** Returns the absolute URL of a path below the issuer. */
  url(path: string): string;
  /**
   * Returns the time that all nodes share, in milliseconds since the epoch. `authTime` and `provenAt` of sign-ins, and the times of proofs of credentials,
   * are in this time. Compare these times with this time, because the clock of a node may be half a minute off.
   */
  now(): number;
  readonly logger: Logger;
  /** Returns all operations of the admin API. Extensions contribute the operations. */
  operations(): readonly MountedOperation[];
  /** The tenant of personal accounts: the option `personalTenant`. */
  readonly personalTenant?: string;
  /** Settings for the notification of users about authentication requests: the option `ciba`. */
  readonly ciba: {
    readonly notify?: (notification: CibaNotification, signal: AbortSignal) => unknown;
    readonly email?: boolean;
  };
  /** The schema of the attributes of persons: the option `attributes`. */
  readonly attributes?: Pick<AttributeRules, 'allowsNone' | 'schemaAt' | 'selfService'>;
  /** Data that is stored with sign-ins: the option `sessions`. */
  readonly sessions: { readonly address: AddressPart };
  /** Whether a mail notifies users of a sign-in from a browser that the account does not know: the option `signInHistory`. */
  readonly signInHistory: { readonly notify: boolean };
  readonly lifetimes: {
    /** Seconds for which a mailed link that proves an e-mail address is valid. */
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
