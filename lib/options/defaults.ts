/** The defaults of the options, and what the options are once these are filled in. */
import { locales } from '../display/locales.js';
import type { LogFields, Logger } from '../logger.js';
import { DAY_SECONDS } from '../times/lifetime-bounds.js';
import type {
  CibaOptions,
  CookieOptions,
  IdentityProviderOptions,
  KeyOptions,
  LifetimeOptions,
  LimitOptions,
  OutgoingOptions,
  PasswordOptions,
  PathOptions,
  RotationOptions,
} from './options.js';

/* biome-ignore-start lint/suspicious/noConsole: the logger of those who give none */
const warningsToConsole: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(message, ...shown(fields)),
  error: (fields, message) => console.error(message, ...shown(fields)),
};
/* biome-ignore-end lint/suspicious/noConsole: the logger of those who give none */

const shown = (fields: LogFields): readonly LogFields[] => (Object.keys(fields).length > 0 ? [fields] : []);

/** The documented defaults. Stores and keys have none here: whoever builds the service makes them. */
export const defaults = {
  keys: { rotation: { active: 90 * DAY_SECONDS, announced: DAY_SECONDS, retiring: 30 * DAY_SECONDS } },
  cookies: { prefix: '' },
  trustProxy: false,
  assertionAudience: 'issuer',
  paths: { own: '/idp' },
  claims: [],
  claimMapping: {},
  oid: 'linked',
  email: 'all',
  initialsAsPicture: true,
  extensions: [],
  logger: warningsToConsole,
  lifetimes: {
    code: 60,
    interaction: 1_800,
    accessToken: 3_600,
    jwtAccessToken: 600,
    idToken: 300,
    refreshTokenIdle: 15 * DAY_SECONDS,
    refreshTokenAbsolute: 30 * DAY_SECONDS,
    refreshTokenGrace: 10,
    sessionIdle: 3_600,
    sessionAbsolute: 43_200,
    invitation: DAY_SECONDS,
    passwordReset: 3_600,
    emailProof: DAY_SECONDS,
    impersonation: 1_800,
    authenticationRequest: 120,
    events: 365 * DAY_SECONDS,
  },
  limits: {
    signInFailures: 10,
    signInWindow: 900,
    signInFailuresPerAccount: 100,
    signInFailuresPerAddress: 100,
    adminRequestsPerMinute: 600,
    authenticationRequestsPerMinute: 60,
    requestsAtOnce: 1000,
    requestsAtOncePerConnection: 10,
  },
  ciba: { email: false },
  outgoing: { allowHosts: [] },
  passwords: { algorithm: 'scrypt', scryptCost: 2 ** 14 },
  branding: { accentColor: '#4450b8', radius: 10, font: 'system' },
  locales,
  features: {},
} as const satisfies Partial<IdentityProviderOptions>;

type Groups = 'keys' | 'cookies' | 'paths' | 'lifetimes' | 'limits' | 'ciba' | 'outgoing' | 'passwords' | 'trustProxy';
type Always = Exclude<keyof typeof defaults, Groups>;
type Sometimes = Exclude<keyof IdentityProviderOptions, keyof typeof defaults>;

/** The options, complete. What is still optional has no default, or one that whoever builds the service makes. */
export interface ResolvedOptions extends Pick<IdentityProviderOptions, Sometimes>, Required<Pick<IdentityProviderOptions, Always>> {
  readonly keys: Omit<KeyOptions, 'rotation'> & { readonly rotation: Required<RotationOptions> };
  readonly cookies: Required<Pick<CookieOptions, 'prefix'>> & CookieOptions;
  readonly paths: Required<PathOptions>;
  readonly lifetimes: Required<LifetimeOptions>;
  readonly limits: Required<LimitOptions>;
  readonly ciba: Required<Pick<CibaOptions, 'email'>> & CibaOptions;
  readonly outgoing: Required<OutgoingOptions>;
  readonly passwords: Required<Pick<PasswordOptions, 'algorithm' | 'scryptCost'>> & PasswordOptions;
  /** How many proxies are in front, or what answers the client's address. */
  readonly trustProxy: number | Extract<IdentityProviderOptions['trustProxy'], (...args: never) => unknown>;
  /** Whether tokens are minted and read by the service's handlers, or by oidc-provider as the host configured it: no request changes that. */
  readonly isAnsweredHere: boolean;
  /** Whether this is production, where insecure defaults are refused. */
  readonly production: boolean;
  /** Whether the issuer is https, and with it every URL and cookie. */
  readonly secure: boolean;
  /** The issuer's path, where the service is mounted: empty, or with a leading and no trailing slash. */
  readonly mountPath: string;
}
