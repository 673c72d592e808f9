import type { Context, Middleware } from 'koa';
import type { CallerState } from '../contract/clients/caller.js';
import type { Extension } from '../contract/extension.js';
import type { ProtocolPage, ShowPage } from '../contract/pages/protocol-page.js';
import { IdpError } from '../errors.js';
import type { Logger } from '../logger.js';
import { RefusedClient } from './clients/refused-clients.js';
import { answerTo, type ErrorAnswer } from './error-answers.js';
import { forgetUnstored, logFailure } from './failures.js';
import { loggedPath, requestIdOf } from './requests/request-id.js';

/** Seconds after which a client may retry while a store is unavailable. */
const RETRY_AFTER_SECONDS = '2';

interface ErrorHandlerOptions {
  readonly showPage: ShowPage;
  readonly logger: Logger;
  /** Returns whether the path is a page for users, not an endpoint for programs. */
  readonly isPage: (path: string) => boolean;
  /** Returns the format of errors at a path, if the extension that answers the path declares a format. */
  readonly styleAt: (path: string) => Extension['errors'];
}

/** Writes the answer that {@link answerTo} returns for an error: a page for users, an OAuth error or problem details for programs. */
export function createErrorHandler({ showPage, logger, isPage, styleAt }: ErrorHandlerOptions): Middleware {
  return async function handleErrors(ctx, next) {
    try {
      await next();
      if (ctx.status === 503 && !ctx.response.get('Retry-After')) ctx.set('Retry-After', RETRY_AFTER_SECONDS);
    } catch (error) {
      const answer = answerTo(error);
      const { status, code, description, retryAfterSeconds } = answer;
      const reference = requestIdOf(ctx);
      const { caller } = ctx.state as Partial<CallerState>;
      logFailure(logger, ctx, error, status, () => ({ status, error: code, client: caller?.id, ...causeOf(error) }));
      ctx.status = status;
      ctx.remove('Location');
      // Caches store 404, 405 and 414 unless the answer forbids it. @see RFC 9110 §15.1
      ctx.set('Cache-Control', 'no-store');
      // The request may have got a challenge before it failed. @see RFC 9110 §11.6.1
      if (status !== 401 && !isOfBearer(ctx, error)) ctx.remove('WWW-Authenticate');
      if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
      if (status === 503) {
        if (!ctx.response.get('Retry-After')) ctx.set('Retry-After', RETRY_AFTER_SECONDS);
        forgetUnstored(ctx);
      }
      const style = styleAt(ctx.path) ?? (isPage(ctx.path) || wantsPage(ctx) ? 'page' : 'oauth');
      const page: ProtocolPage = status === 503 ? { page: 'unavailable' } : { page: 'error', status, error: code, reference };
      if (style === 'problem') {
        ctx.body = JSON.stringify(problemOf(answer));
        ctx.set('Content-Type', 'application/problem+json');
      } else if (style === 'oauth' || !(await isShown(ctx, page))) ctx.body = { error: code, error_description: description };
      ctx.status = status;
    }
  };

  /** Shows a page, and returns whether that worked. A page may need the store that is unavailable. */
  async function isShown(ctx: Context, page: ProtocolPage): Promise<boolean> {
    try {
      await showPage(ctx, page);
      return true;
    } catch (error) {
      logger.error(
        { err: error, requestId: requestIdOf(ctx), method: ctx.method, path: loggedPath(ctx.path) },
        'the service could not show the error page',
      );
      return false;
    }
  }
}

/** @see RFC 9457 §3 */
const problemOf = ({ status, code, description, details }: ErrorAnswer): Readonly<Record<string, unknown>> => ({
  ...details,
  type: `urn:tenant-idp:error:${code}`,
  title: description,
  status,
  code,
});

/** Returns whether the error is a refusal with a challenge that names the accepted token. @see RFC 6750 §3 */
const isOfBearer = (ctx: Context, error: unknown): boolean =>
  IdpError.is(error, 'insufficient_scope', 'invalid_request') && /^Bearer /.test(ctx.response.get('WWW-Authenticate'));

/** Returns members of an error that only the log has. */
function causeOf(error: unknown): { readonly reason?: string; readonly client?: string | undefined } {
  if (!(error instanceof IdpError)) return {};
  const { cause } = error;
  if (cause instanceof RefusedClient) return { client: cause.client, reason: cause.reason };
  return typeof cause === 'string' ? { reason: cause } : {};
}

const wantsPage = (ctx: Context): boolean => ctx.accepts('json', 'html') === 'html';
