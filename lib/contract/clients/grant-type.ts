/** A grant type of an extension: what its client shows is the extension's to judge, tokens are the service's to mint. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Client } from '../../store/records/records.js';

/** A token request whose client authenticated and is registered for the grant type. */
export interface GrantRequest {
  readonly ctx: Context;
  readonly client: Client;
  /** Those that the grant type names, as far as they came. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The sign-in that tokens speak of. */
export interface GrantedSignIn {
  /** The user. */
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** When the user proved who they are, in seconds since the epoch. What voids sign-ins of before voids this one. */
  readonly authTime: number;
  /** The sign-in method, where it is neither the password nor called as its `idp`. */
  readonly method?: string;
  /** As in `SignedIn`: pass it on from the sign-in that granted. */
  readonly used?: string;
  /** The user whose credential the sign-in rests on. @default the parent of a linked account, else the user. With `act`, of the impersonator's account. */
  readonly owner?: string;
  /** The name of the session of the sign-in. */
  readonly session?: string;
  /** When members of `amr` were proven that joined the sign-in later, in seconds since the epoch. */
  readonly provenAt?: Readonly<Record<string, number>>;
  /** When what is granted began, in seconds since the epoch: without `offline_access` it lasts as long as a session from then on. @default `authTime` */
  readonly startedAt?: number;
  /** Those that were granted. The client gets of them what it may have, and, where it needs consent, what the user allowed it. */
  readonly scopes: readonly string[];
  readonly nonce?: string;
  /** What the client asked for: whatever it is, the ID token then says in `acr` the level that was reached. */
  readonly acrValues?: string;
  /** Who acts as the user. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** No token lives longer. @default the absolute lifetime of sessions */
  readonly endsAt?: Date;
  /** `false`: no refresh token, and no `offline_access`. */
  readonly offline?: false;
}

/** @see RFC 6749 §5.2 */
export interface GrantRefusal {
  /** The OAuth error code; answered 400. */
  readonly error: string;
  readonly description?: string;
}

export interface GrantType {
  /** Names of its parameters; each may occur once. What else comes is ignored. */
  readonly parameters: readonly string[];
  /**
   * Called once for each request. What is good once is spent here, before it answers (`artifact(…).take`): a request that fails after it has spent it.
   * @throws IdpError, which is answered with its status: `invalid_request` for 400, its own code for what else is below 500.
   */
  exchange(request: GrantRequest): Awaitable<GrantedSignIn | GrantRefusal>;
}
