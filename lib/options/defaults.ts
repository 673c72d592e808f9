/** The defaults of the options, and what the options are once these are filled in. */
import { type Completed, completed } from './declare.js';
import { optionTable } from './options.js';

type CompletedOptions = Completed<typeof optionTable>;

/** The documented defaults. Stores and keys have none here: whoever builds the service makes them. */
export const defaults: Omit<CompletedOptions, 'issuer'> = completed(optionTable);

/** The options, complete. What is still optional has no default, or one that whoever builds the service makes. */
export interface ResolvedOptions extends Pick<CompletedOptions, Exclude<keyof CompletedOptions, 'trustProxy'>> {
  /** How many proxies are in front, or what answers the client's address. */
  readonly trustProxy: Exclude<CompletedOptions['trustProxy'], boolean>;
  /** Whether tokens are minted and read by the service's handlers, or by oidc-provider as the host configured it: no request changes that. */
  readonly isAnsweredHere: boolean;
  /** Whether this is production, where insecure defaults are refused. */
  readonly production: boolean;
  /** Whether the issuer is https, and with it every URL and cookie. */
  readonly secure: boolean;
  /** The issuer's path, where the service is mounted: empty, or with a leading and no trailing slash. */
  readonly mountPath: string;
}
