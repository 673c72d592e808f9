/** A grant type of an extension. The extension checks the grant, and the service issues the tokens. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Client } from '../../store/records/records.js';

/** A token request whose client authenticated and is registered for the grant type. */
export interface GrantRequest {
  readonly ctx: Context;
  readonly client: Client;
  /** Parameters that the grant type names and the request has. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The sign-in that the issued tokens describe. */
export interface GrantedSignIn {
  /** Id of the user. */
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Time of the user's proof, in seconds since the epoch. A revocation of all sign-ins before a time also applies to this sign-in. */
  readonly authTime: number;
  /** The sign-in method, if it is not the password and its name differs from `idp`. */
  readonly method?: string;
  /** As in `SignedIn`. Pass on the value of the sign-in that granted. */
  readonly used?: string;
  /**
   * Id of the user whose credential was used. With `act`, the user of the impersonator's account. @default the parent account of a linked account, else the
   * user
   */
  readonly owner?: string;
  /** Name of the session of the sign-in. */
  readonly session?: string;
  /** Times of the proofs that were added to `amr` later, in seconds since the epoch. */
  readonly provenAt?: Readonly<Record<string, number>>;
  /** Start of the grant, in seconds since the epoch. Without `offline_access`, the grant lasts as long as a session from then on. @default `authTime` */
  readonly startedAt?: number;
  /** Granted scopes. The client gets only scopes that the client may have. If the client requires consent, the user must also have allowed the scopes. */
  readonly scopes: readonly string[];
  readonly nonce?: string;
  /** `acr_values` that the client sent. The ID token states the reached level in `acr`, whatever was requested. */
  readonly acrValues?: string;
  /** The impersonator. @see RFC 8693 §4.1 */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Time at which all tokens end. @default the absolute lifetime of sessions */
  readonly endsAt?: Date;
  /** `false`: the client gets neither a refresh token nor `offline_access`. */
  readonly offline?: false;
}

/** @see RFC 6749 §5.2 */
export interface GrantRefusal {
  /** The OAuth error code. The response has status 400. */
  readonly error: string;
  readonly description?: string;
}

export interface GrantType {
  /** Names of the grant's parameters. Each parameter may occur once. Other parameters are ignored. */
  readonly parameters: readonly string[];
  /**
   * Checks the grant. Called once for each request. Consume one-time values (`artifact(…).take`) before this method returns. The values stay consumed if
   * the request fails afterwards.
   * @throws IdpError, which is answered with its status: `invalid_request` for 400, its own code for another status below 500.
   */
  exchange(request: GrantRequest): Awaitable<GrantedSignIn | GrantRefusal>;
}
