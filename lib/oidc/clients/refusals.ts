import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { GrantRefusal } from '../../contract/clients/grant-type.js';
import { IdpError, UnavailableError } from '../../errors.js';
import type { RefusedClient } from '../../http/clients/refused-clients.js';
import { oauthAnswerTo } from '../../http/error-answers.js';
import type { AnsweredError } from '../upstream/errors.js';

/**
 * An error that an extension threw while it answered a client, as one of OAuth that oidc-provider answers by each door alike: `invalid_request`, but for what has
 * another status (403, 429, 503), which keeps it with its code and `Retry-After`.
 * @throws what is no refusal of OAuth's own form; what nobody but the log may know, as it is.
 */
export function refusalOf(ctx: Context, error: unknown): GrantRefusal {
  // oidc-provider answers these by itself.
  if (error instanceof errors.OIDCProviderError || error instanceof UnavailableError) throw error;
  const { status, code, description, retryAfterSeconds } = oauthAnswerTo(error);
  if (status >= 500 && !(error instanceof IdpError)) throw error;
  if (status === 400) return { error: code, description };
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
  throw Object.assign(new errors.OIDCProviderError(status, code, { cause: error as Error }), {
    error_description: description,
    expose: true,
  });
}

/** The status that oidc-provider's endpoints answer an error with: its own where it is for callers. oidc-provider takes the `statusCode` of whatever was thrown. */
export function statusAtEndpoints(error: Error & { readonly expose?: unknown; readonly status?: unknown }): number {
  const { expose, status } = error;
  return (error instanceof errors.OIDCProviderError || expose === true) && typeof status === 'number' ? status : 500;
}

/** A request that failed, as its line in the log names it. */
export interface FailedRequest {
  readonly endpoint: string | undefined;
  /** Id of the client that authenticated. */
  readonly client: string | undefined;
  readonly tenant?: string | undefined;
  /** What an unregistered URI differs in from the nearest registered one. */
  readonly difference?: string | undefined;
}

/** Settles the status of a failed request, whose answer is made, and returns the function that writes its line in the log. */
export type SettleFailure = (ctx: Context, error: AnsweredError, request: FailedRequest) => (refused?: RefusedClient) => void;
