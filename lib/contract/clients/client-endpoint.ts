/**
 * What clients ask for, and extensions answer once a client has authenticated.
 *
 * This file is an endpoint at which clients authenticate as at the token endpoint, `grant-type` a grant at the token endpoint, `authentication-requests`
 * what a client asks a person to approve elsewhere.
 */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Account } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import type { GrantRefusal } from './grant-type.js';

/** A JWT that tells whose account is meant. */
export type HintedAccount =
  /** `account` is undefined where there is none, or none that may be told of here. */
  | { readonly account: Account | undefined }
  /** It is not a JWT of the kind, or not for this client; `isExpired`: it was, until its time was over. */
  | { readonly problem: string; readonly isExpired?: true };

/** A request of a client that authenticated and is registered for the endpoint's grant type. */
export interface ClientRequest {
  readonly ctx: Context;
  readonly client: Client;
  /** Those that the endpoint names, as far as they came; each occurs once. What the request object says is among them. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The user id behind what this client was given for it: to a pairwise client, a pseudonym. Undefined when it cannot be one. */
  userIdOf(identifier: string): string | undefined;
  /** Whom an ID token is about that was issued to this client, also when it has expired: by its `oid ?? sub`. */
  accountOfIdToken(token: string): Promise<HintedAccount>;
  /** Whom a `login_hint_token` of this client, or of the service, names; it counts once. @param tids tenants that may be meant; absent: all */
  accountOfHintToken(token: string, tids: readonly string[] | undefined): Promise<HintedAccount>;
}

export interface ClientEndpoint {
  /** Clients are registered for it; others are answered `unauthorized_client`. */
  readonly grantType: string;
  /** Names of its parameters. What else comes is ignored. */
  readonly parameters: readonly string[];
  /** Called before anything of the request is read or fetched. @throws IdpError as {@link ClientEndpoint.answer} does. */
  readonly admit?: (client: Client) => Awaitable<void>;
  /**
   * Called once for each request. Requests by POST, and by GET with parameters in the query for clients that authenticate by header. A request object
   * (`request`, `request_uri`) was verified and counted as used.
   * @throws IdpError with a status below 500, which is answered as an error of OAuth.
   */
  answer(request: ClientRequest): Awaitable<Readonly<Record<string, unknown>> | GrantRefusal>;
}
