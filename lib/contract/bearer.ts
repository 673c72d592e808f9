/** Access tokens at routes of extensions. */
import type { Context } from 'koa';
import type { LoginContext } from '../claims/contract.js';
import type { Account } from '../directory/index.js';
import type { Client } from '../store/records/records.js';

/** An access token that a request presented. The service reads the token at each request, so the token is live and all members are current. */
export interface AccessToken {
  /** The client that got the token. */
  readonly client: Client;
  /** Scopes of the token that the client may still have. */
  readonly scopes: ReadonlySet<string>;
  /** Ids of the API resources in the token's audience. */
  readonly audiences: readonly string[];
  /** The account behind the token. Absent for a token of the client itself. */
  readonly account?: Account;
  /** The sign-in of the user. */
  readonly login?: LoginContext;
  readonly expiresAt: Date;
  /** Id of the token's grant. Tie data to the grant that must end with the grant. The id is not a credential. Absent for a token of the client itself. */
  readonly grantId?: string;
}

/** State of the Koa context after `bearer`. */
export interface BearerState {
  accessToken: AccessToken;
}

/** An access token in the header `Authorization`, opaque or a JWT. */
export interface ShownToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly value: string;
}

/** The reason for which an access token is refused. */
export interface TokenRefusal {
  /** The `error` of the challenge. @see RFC 6750 §3.1, RFC 9449 §7.1, §9 */
  readonly refused: 'invalid_token' | 'invalid_dpop_proof' | 'use_dpop_nonce';
  /** The cause, for the log alone. */
  readonly cause: string;
}

/**
 * Reads an access token. Refuses a token that introspection would call inactive. Refuses a token that is bound to a key or a certificate, unless the
 * request proves possession of the key.
 * @see RFC 9449 §7, RFC 8705 §3
 */
export type ReadAccessToken = (ctx: Context, shown: ShownToken) => Promise<AccessToken | TokenRefusal>;
