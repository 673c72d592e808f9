import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { GrantRefusal } from '../../contract/clients/grant-type.js';
import { IdpError } from '../../errors.js';

/**
 * An error of the service that a client's request caused, as one of OAuth: `invalid_request`, but for what names another status (403, 429), which keeps it with its
 * code and `Retry-After`.
 * @throws what is no fault of the client.
 * @see RFC 6749 §5.2
 */
export function refusalOf(ctx: Context, error: unknown): GrantRefusal {
  if (!(error instanceof IdpError) || error.status >= 500) throw error;
  if (error.status === 400) return { error: 'invalid_request', description: error.message };
  const { retryAfterSeconds } = error.details;
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
  throw Object.assign(new errors.OIDCProviderError(error.status, error.code), { error_description: error.message });
}
