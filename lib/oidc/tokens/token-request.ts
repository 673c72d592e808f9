/** A token request whose client authenticated, and the answer: the same whichever door it came by. */
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';

/** The key that a DPoP proof shows. @see RFC 9449 §4 */
export interface Proof {
  /** Its thumbprint. @see RFC 7638 */
  readonly jkt: string;
  /** Counts the proof as used. @throws InvalidGrant when it was used before. */
  use(): Promise<void>;
}

export interface TokenRequest {
  readonly ctx: Context;
  readonly unit: UnitOfWork;
  readonly client: Client;
  readonly record: ClientRecord;
  /** Parameters of the grant type; each occurs once. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** The DPoP proof of the request. @throws InvalidDpopProof, UseDpopNonce */
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
 * A grant type: puts into the unit of work what it mints, and spends what it takes; the door commits both before it answers.
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
