/** Access tokens as a route of an extension takes them. */
import type { Context } from 'koa';
import type { LoginContext } from '../claims/contract.js';
import type { Account } from '../directory/index.js';
import type { Client } from '../store/records/records.js';

/** What an access token says that was shown to a route: read when the request came, so that it is live, and all in it is as it is now. */
export interface AccessToken {
  /** The client that it was issued to. */
  readonly client: Client;
  /** The scopes that it has, and the client still may have. */
  readonly scopes: ReadonlySet<string>;
  /** Ids of the API resources that it is for. */
  readonly audiences: readonly string[];
  /** The person behind it; absent for a token of the client itself. */
  readonly account?: Account;
  /** How the person signed in. */
  readonly login?: LoginContext;
  readonly expiresAt: Date;
  /** Names the grant behind it, for what is to end with it; it opens nothing. Absent for a token of the client itself. */
  readonly grantId?: string;
}

/** In the state of a Koa context behind `bearer`. */
export interface BearerState {
  accessToken: AccessToken;
}

/** An access token in the header `Authorization`, opaque or a JWT. */
export interface ShownToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly value: string;
}

/** Why an access token is refused. */
export interface TokenRefusal {
  /** The `error` of the challenge. @see RFC 6750 §3.1, RFC 9449 §7.1, §9 */
  readonly refused: 'invalid_token' | 'invalid_dpop_proof' | 'use_dpop_nonce';
  /** The reason, for the log alone. */
  readonly cause: string;
}

/**
 * Reads an access token. Refuses one that introspection would call inactive. Refuses one that is bound to a key or a certificate, unless the request
 * proves that the caller has it.
 * @see RFC 9449 §7, RFC 8705 §3
 */
export type ReadAccessToken = (ctx: Context, shown: ShownToken) => Promise<AccessToken | TokenRefusal>;
