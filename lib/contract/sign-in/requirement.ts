/** What is still asked of a person who is signed in, before an application gets its answer: a second factor, terms of service. */
import type { Context } from 'koa';
import type { AcrValues } from '../../acr-values.js';
import type { Awaitable } from '../../awaitable.js';
import type { Account } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import type { Interaction } from './interaction.js';

/** Demands of requests and tenants that are refused unless a requirement serves them: a page stands behind each. */
export const demands = ['mfa', 'impersonate'] as const;
/**
 * `mfa`: asked for by `acr_values` or a tenant's `signIn.requireMfa`, proven by `mfa` in `amr`. `impersonate`: asked for by `acr_values`, proven by a
 * sign-in with `act`.
 */
export type Demand = (typeof demands)[number];

/** Errors that an application can be answered with in place of a page. @see OpenID Connect Core §3.1.2.6 */
export const requirementErrors = [
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'access_denied',
  'unmet_authentication_requirements',
] as const;

/** A sign-in, as requirements judge it: the browser's, or the one that a grant keeps. */
export interface SignedIn {
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** What a tenant's `signIn.methods` calls it, where that is neither `password` nor the `idp`. */
  readonly method?: string;
  /**
   * As in `SignIn`. Present only if a tenant's administrator vouched for the means. Pass it on, because the sign-in counts only as far as the means.
   */
  readonly used?: string;
  /** Seconds since the epoch. */
  readonly authTime: number;
  /** When each member of `amr` was proven, in seconds since the epoch; one that is not named: at `authTime`. */
  readonly provenAt: Readonly<Record<string, number>>;
  /** The user whose credential the sign-in rests on. The sign-in works only while that user can sign in. @default the parent of a linked account, else the user */
  readonly owner?: string;
  /** Names the session, as `sessions.list` does. It is not a credential. Absent if the sign-in has no browser session. */
  readonly session?: string;
  /** Who acts as the user. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
}

/** What an application asks for. */
export interface Ask {
  readonly client: Client;
  readonly scopes: readonly string[];
  /** The authorization request; empty where tokens are minted without the person. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly acr: AcrValues;
  /** Nobody can be shown a page: a refresh, or a code that is redeemed. */
  readonly isSilent: boolean;
}

/** What was asked for elsewhere than in the browser that somebody is signed in in. */
export interface AskedElsewhere {
  readonly client: Client;
  readonly scopes: readonly string[];
  /** `idp:`, `tenant:` and `mfa`, as at the authorization endpoint. */
  readonly acrValues?: string | undefined;
}

export interface Requirement {
  /** Lower-case letters, digits and hyphens; the `requirement` of its {@link Interaction}. */
  readonly name: string;
  /**
   * Requirements that are asked first, where they exist; `*`: all that do not say `*` themselves.
   * @default the order of the extensions
   */
  readonly after?: readonly string[];
  /** The demand that its page lets people meet. Whether the demand stands, and is met, is decided for it: `check` can only ask for more. */
  readonly serves?: Demand;
  /** Leaves the requirement out where one of another extension serves the same demand. @default false */
  readonly givesWay?: boolean;
  /**
   * Whether the sign-in has what it takes for this request: `open` shows the page, `refused` answers `access_denied`. Asked at every authorization
   * request, and again after each page: what a page posted counts for nothing by itself.
   */
  check(account: Account, signedIn: SignedIn, ask: Ask): Awaitable<'met' | 'open' | 'refused'>;
  /**
   * For a requirement that serves `mfa`. Whether a sign-in may change the ways to sign in of the account: factors, password, address, account links,
   * identities. If it answers false, the pages ask for `mfa` first.
   * @default true
   */
  mayChange?(account: Account, signedIn: SignedIn & { readonly session: string }): Awaitable<boolean>;
  /** The answer to `prompt=none` while it is open. */
  readonly error: (typeof requirementErrors)[number];
  /** What becomes of tokens that are minted without the person (a code that is redeemed, a refresh) while it is open. */
  readonly silent: 'refuse' | 'pass';
  /**
   * Shows its page. What the page posts goes to a route of the extension, which ends in `interactions.goOn`, `strengthen` or `abort`.
   */
  show(ctx: Context, interaction: Interaction): Awaitable<void>;
}
