import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { GrantRefusal } from '../../contract/clients/grant-type.js';
import { IdpError, UnavailableError } from '../../errors.js';
import type { RefusedClient } from '../../http/clients/refused-clients.js';
import { oauthAnswerTo } from '../../http/error-answers.js';
import type { AnsweredError } from '../upstream/errors.js';

/**
 * Returns the OAuth error for an error that an extension threw while the extension answered a client. The error is `invalid_request`. For another status
 * (403, 429, 503), the error is the extension's own code, with `Retry-After`. oidc-provider answers the error in the same way at both doors.
 * @throws every error that OAuth has no form for
 * @throws an internal error, unchanged
 */
export function refusalOf(ctx: Context, error: unknown): GrantRefusal {
  // oidc-provider answers these errors itself.
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

/**
 * Returns the status with which oidc-provider's endpoints answer an error. An error that is meant for callers has its own status. Every other error gets
 * 500. oidc-provider itself uses the `statusCode` of any error.
 */
export function statusAtEndpoints(error: Error & { readonly expose?: unknown; readonly status?: unknown }): number {
  const { expose, status } = error;
  return (error instanceof errors.OIDCProviderError || expose === true) && typeof status === 'number' ? status : 500;
}

/** A failed request, as its log line names it. */
export interface FailedRequest {
  readonly endpoint: string | undefined;
  /** Id of the client that authenticated. */
  readonly client: string | undefined;
  readonly tenant?: string | undefined;
  /** Difference between an unregistered URI and the nearest registered URI. */
  readonly difference?: string | undefined;
}

/** Settles the status of a failed request, after its answer is made. Returns the function that writes its log line. */
export type SettleFailure = (ctx: Context, error: AnsweredError, request: FailedRequest) => (refused?: RefusedClient) => void;
