/** Access tokens as a route of an extension takes them. */
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

/**
 * Reads what somebody showed for an access token, opaque or a JWT. Undefined for one that introspection would call inactive, and for one that is
 * bound to a key: it is no bearer token.
 * @see RFC 9449 §7.2, RFC 8705 §3
 */
export type ReadAccessToken = (ctx: object, value: string) => Promise<AccessToken | undefined>;
