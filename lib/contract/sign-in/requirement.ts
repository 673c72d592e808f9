/** Requirements: steps that a signed-in user has to complete before an application gets its answer, such as a second factor or terms of service. */
import type { Context } from 'koa';
import type { AcrValues } from '../../acr-values.js';
import type { Awaitable } from '../../awaitable.js';
import type { Account } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import type { Interaction } from './interaction.js';

/** Demands of requests and tenants that need a requirement with a page. If no requirement serves the demand, the request is refused. */
export const demands = ['mfa', 'impersonate'] as const;
/**
 * Name of a demand:
 * - `mfa`: requested by `acr_values` or a tenant's `signIn.requireMfa`, proven by `mfa` in `amr`.
 * - `impersonate`: requested by `acr_values`, proven by a sign-in with `act`.
 */
export type Demand = (typeof demands)[number];

/** Errors that an application can get instead of a page. @see OpenID Connect Core §3.1.2.6 */
export const requirementErrors = [
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'access_denied',
  'unmet_authentication_requirements',
] as const;

/** A sign-in as requirements see it: the sign-in of the browser, or the sign-in that a grant stores. */
export interface SignedIn {
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Name of the method in a tenant's `signIn.methods`, if it is neither `password` nor the `idp`. */
  readonly method?: string;
  /**
   * As in `SignIn`. Present only if a tenant's administrator vouched for the identity or credential. Pass the value on, because the sign-in is worth only as much
   * as this identity or credential.
   */
  readonly used?: string;
  /** Time of the sign-in, in seconds since the epoch. */
  readonly authTime: number;
  /** Time of each proof in `amr`, in seconds since the epoch. A proof without an entry was made at `authTime`. */
  readonly provenAt: Readonly<Record<string, number>>;
  /**
   * Id of the user whose credential the sign-in used. The sign-in works only while that user can sign in. @default the parent account of a linked account,
   * else the user
   */
  readonly owner?: string;
  /** Name of the session, as in `sessions.list`. The name is not a credential. Absent if the sign-in has no browser session. */
  readonly session?: string;
  /** The impersonator. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
}

/** Request of an application. */
export interface Ask {
  readonly client: Client;
  readonly scopes: readonly string[];
  /** Parameters of the authorization request. Empty if tokens are issued without the person. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly acr: AcrValues;
  /** Whether the request cannot show a page: a refresh, or the exchange of a code. */
  readonly isSilent: boolean;
}

/** A request that did not come through the browser of the sign-in. */
export interface AskedElsewhere {
  readonly client: Client;
  readonly scopes: readonly string[];
  /** `idp:`, `tenant:` and `mfa`, as at the authorization endpoint. */
  readonly acrValues?: string | undefined;
}

export interface Requirement {
  /** Name of the requirement, as in `requirement` of its {@link Interaction}: lower-case letters, digits and hyphens. */
  readonly name: string;
  /**
   * Names of requirements that come first, if these requirements exist. `*`: all requirements without `*` in `after`.
   * @default the order of the extensions
   */
  readonly after?: readonly string[];
  /** The demand that the page lets users meet. The service decides whether the demand applies and is met. `check` can only require more. */
  readonly serves?: Demand;
  /** Whether the requirement is left out if another extension's requirement serves the same demand. @default false */
  readonly givesWay?: boolean;
  /**
   * Checks the sign-in for this request. `open` shows the page, `refused` answers `access_denied`. Called at every authorization request. Called again
   * after each page, because a posted page alone proves nothing.
   */
  check(account: Account, signedIn: SignedIn, ask: Ask): Awaitable<'met' | 'open' | 'refused'>;
  /**
   * Returns whether a sign-in may change how the account signs in: factors, password, address, account links, identities. If this method returns false, the
   * pages require `mfa` first. Only for a requirement that serves `mfa`.
   * @default true
   */
  mayChange?(account: Account, signedIn: SignedIn & { readonly session: string }): Awaitable<boolean>;
  /** The error for `prompt=none` while the requirement is open. */
  readonly error: (typeof requirementErrors)[number];
  /** Whether tokens are issued without the person (the exchange of a code, a refresh) while the requirement is open. */
  readonly silent: 'refuse' | 'pass';
  /** Shows the page. The page posts to a route of the extension, which ends in `interactions.goOn`, `strengthen` or `abort`. */
  show(ctx: Context, interaction: Interaction): Awaitable<void>;
}
