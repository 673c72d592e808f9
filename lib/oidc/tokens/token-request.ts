/** A token request whose client authenticated, and its answer, independent of the door. */
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';

/** Key of a DPoP proof, and the use of the proof. @see RFC 9449 §4 */
export interface Proof {
  /** Thumbprint of the key. @see RFC 7638 */
  readonly jkt: string;
  /** Records the use of the proof. @throws InvalidGrant if the proof was used before. */
  use(): Promise<void>;
}

export interface TokenRequest {
  readonly ctx: Context;
  readonly unit: UnitOfWork;
  readonly client: Client;
  readonly record: ClientRecord;
  /** Parameters of the grant type. Each parameter occurs once. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** Returns the DPoP proof of the request. @throws InvalidDpopProof, UseDpopNonce */
  proof(): Awaitable<Proof | undefined>;
}

/** @see RFC 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly id_token?: string | undefined;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly token_type: 'Bearer' | 'DPoP';
}

/**
 * Puts new tokens into the unit of work, and marks the grant as used. The door commits both before the door answers.
 * @throws errors of oidc-provider: InvalidRequest, InvalidGrant, InvalidScope
 */
export type GrantType = (request: TokenRequest) => Promise<TokenResponse>;

/** @throws InvalidRequest */
export function requirePresent(parameters: TokenRequest['parameters'], ...names: readonly string[]): void {
  const missing = names.filter((name) => parameters[name] === undefined);
  if (missing.length === 0) return;
  const quoted = missing.map((name) => `'${name}'`).join(' and ');
  throw new errors.InvalidRequest(`missing required parameter${missing.length > 1 ? 's' : ''} ${quoted}`);
}

/** @throws InvalidGrant @see RFC 9449 §5.2, `dpop_bound_access_tokens` */
export function requireProof({ dpopBoundAccessTokens }: Client, proof: Proof | undefined): void {
  if (!proof && dpopBoundAccessTokens) throw new errors.InvalidGrant('DPoP proof JWT not provided');
}
