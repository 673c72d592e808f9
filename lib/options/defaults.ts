/** Defaults of the options, and the type of complete options. */
import { type Completed, completed } from './declare.js';
import { optionTable } from './options.js';

type CompletedOptions = Completed<typeof optionTable>;

/** The documented defaults. Stores and keys have no default here, because the composition root creates them. */
export const defaults: Omit<CompletedOptions, 'issuer'> = completed(optionTable);

/** Complete options. A member that is still optional has no default, or the composition root creates the value of the member. */
export interface ResolvedOptions extends Pick<CompletedOptions, Exclude<keyof CompletedOptions, 'trustProxy'>> {
  /** Number of proxies in front of the service, or the function that returns the client's address. */
  readonly trustProxy: Exclude<CompletedOptions['trustProxy'], boolean>;
  /**
   * Whether the service's own handlers answer at the token endpoints. If false, oidc-provider's handlers answer, as the host configured oidc-provider. No
   * request changes this setting.
   */
  readonly isAnsweredHere: boolean;
  /** Whether the service runs in production, where insecure defaults are refused. */
  readonly production: boolean;
  /** Whether the issuer, and so every URL and cookie, is https. */
  readonly secure: boolean;
  /** Path of the issuer, at which the service is mounted. Empty, or with a leading slash and no trailing slash. */
  readonly mountPath: string;
}
