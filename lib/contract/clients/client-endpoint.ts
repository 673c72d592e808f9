/**
 * Requests of clients that extensions answer after the client authenticated.
 *
 * Declares an endpoint at which clients authenticate as at the token endpoint. `grant-type` declares a grant at the token endpoint.
 * `authentication-requests` declares the requests that a person approves on another device.
 */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Account } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import type { GrantRefusal } from './grant-type.js';

/** The account that a JWT in a hint names. */
export type HintedAccount =
  /** `account` is undefined if there is no such account, or if this client must not learn of the account. */
  | { readonly account: Account | undefined }
  /** The JWT is not of this kind, or not for this client. `isExpired`: the JWT was valid and has expired. */
  | { readonly problem: string; readonly isExpired?: true };

/** A request of a client that authenticated and is registered for the endpoint's grant type. */
export interface ClientRequest {
  readonly ctx: Context;
  readonly client: Client;
  /** Parameters that the endpoint names and the request has. Parameters of the request object are included. Each parameter occurs once. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Returns the user id for an identifier that this client got. A pairwise client got a pseudonym. Undefined for a malformed identifier. */
  userIdOf(identifier: string): string | undefined;
  /** Returns the account of an ID token that this client got, by `oid ?? sub`. The ID token may have expired. */
  accountOfIdToken(token: string): Promise<HintedAccount>;
  /**
   * Returns the account that a `login_hint_token` of this client, or of the service, names. The token can be used once. @param tids ids of tenants that the
   * account may be in. @default all tenants
   */
  accountOfHintToken(token: string, tids: readonly string[] | undefined): Promise<HintedAccount>;
}

export interface ClientEndpoint {
  /** Grant type that clients have to be registered for. Other clients get `unauthorized_client`. */
  readonly grantType: string;
  /** Names of the endpoint's parameters. Other parameters are ignored. */
  readonly parameters: readonly string[];
  /**
   * Checks whether the client may use the endpoint, before the service reads the request or fetches anything for it. @throws IdpError as {@link
   * ClientEndpoint.answer} does.
   */
  readonly admit?: (client: Client) => Awaitable<void>;
  /**
   * Answers a request. Called once for each POST request. Called once for each GET request with parameters in the query if the client authenticates by a
   * header. The service has verified the request object (`request`, `request_uri`) and marked it as used.
   * @throws IdpError with a status below 500, which becomes an OAuth error.
   */
  answer(request: ClientRequest): Awaitable<Readonly<Record<string, unknown>> | GrantRefusal>;
}
