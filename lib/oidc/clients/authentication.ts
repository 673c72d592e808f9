import type { Context } from 'koa';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { CallerState } from '../../contract/clients/caller.js';
import { NO_CREDENTIALS } from '../../http/clients/refused-clients.js';
import { challenge } from '../../http/header-values.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { authenticated } from '../upstream/router.js';
import { callerOf } from './clients.js';

/** A request whose client authenticated. */
export interface AuthenticatedRequest {
  readonly ctx: Context;
  readonly client: Client;
  readonly record: ClientRecord;
  /** Parameters, unchanged. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Answers a request. @throws errors of oidc-provider; an IdpError for an error that OAuth does not define */
export type AnswerClient = (request: AuthenticatedRequest) => Promise<Readonly<Record<string, unknown>>>;

/**
 * Refuses a request that names no client. oidc-provider would call such a request malformed.
 * @throws InvalidClientAuth
 * @see RFC 6749 §5.2, `invalid_client`: no client authentication included
 */
export function requireClientAuthentication(ctx: KoaContextWithOIDC): void {
  const { route, body, issuer } = ctx.oidc;
  if (!authenticated.has(route) || !body) return;
  const { authorization, 'oauth-client-attestation': attestation } = ctx.headers;
  if ([authorization, attestation, body.client_id, body.client_secret, body.client_assertion].some(Boolean)) return;
  // @see RFC 9110 §15.5.2
  ctx.set('WWW-Authenticate', challenge('Basic', { realm: issuer }));
  throw new errors.InvalidClientAuth(NO_CREDENTIALS);
}

/** Sets the authenticated caller on `ctx.state.caller`, at both doors. A public client does not authenticate. */
export function noteCaller({ state }: Pick<Context, 'state'>, client: Client | undefined): void {
  const caller = client?.clientAuthMethod === 'none' ? undefined : callerOf(client);
  if (caller) (state as CallerState).caller = caller;
}
