import type { Context, Middleware } from 'koa';
import type { CallerState } from '../contract/clients/caller.js';
import type { Extension } from '../contract/extension.js';
import type { ProtocolPage, ShowPage } from '../contract/pages/protocol-page.js';
import { IdpError } from '../errors.js';
import type { Logger } from '../logger.js';
import { forgetUnstored, logFailure } from './failures.js';
import { loggedPath, requestIdOf } from './requests/request-id.js';

/** Seconds after which a caller may try again when a store is away. */
const RETRY_AFTER_SECONDS = '2';

interface ErrorHandlerOptions {
  readonly showPage: ShowPage;
  readonly logger: Logger;
  /** Whether people look at the path, or programs call it. */
  readonly isPage: (path: string) => boolean;
  /** How errors at a path look, where the extension that answers it said so. */
  readonly styleAt: (path: string) => Extension['errors'];
}

/** The one place where what was thrown becomes HTTP: a page for people, an OAuth error for programs. Nothing internal gets out. */
export function createErrorHandler({ showPage, logger, isPage, styleAt }: ErrorHandlerOptions): Middleware {
  return async function handleErrors(ctx, next) {
    try {
      await next();
      if (ctx.status === 503 && !ctx.response.get('Retry-After')) ctx.set('Retry-After', RETRY_AFTER_SECONDS);
    } catch (error) {
      const status = error instanceof IdpError ? error.status : statusOf(error);
      const reference = requestIdOf(ctx);
      const { caller } = ctx.state as Partial<CallerState>;
      logFailure(logger, ctx, error, status, () => ({
        status,
        error: codeOf(error, status),
        reason: reasonOf(error),
        client: caller?.id,
      }));
      ctx.status = status;
      ctx.remove('Location');
      // It may have been refused before it failed. @see RFC 9110 §11.6.1
      if (status !== 401 && !isOfBearer(ctx, error)) ctx.remove('WWW-Authenticate');
      if (error instanceof IdpError && error.details.retryAfterSeconds !== undefined)
        ctx.set('Retry-After', String(error.details.retryAfterSeconds));
      if (status === 503) {
        if (!ctx.response.get('Retry-After')) ctx.set('Retry-After', RETRY_AFTER_SECONDS);
        forgetUnstored(ctx);
      }
      const code = codeOf(error, status);
      const style = styleAt(ctx.path) ?? (isPage(ctx.path) || wantsPage(ctx) ? 'page' : 'oauth');
      const page: ProtocolPage = status === 503 ? { page: 'unavailable' } : { page: 'error', status, error: code, reference };
      if (style === 'problem') {
        ctx.body = JSON.stringify(problemOf(error, status, code));
        ctx.set('Content-Type', 'application/problem+json');
      } else if (style === 'oauth' || !(await isShown(ctx, page))) ctx.body = { error: code, error_description: wordsOf(error, status) };
      ctx.status = status;
    }
  };

  /** A page may need what is away. */
  async function isShown(ctx: Context, page: ProtocolPage): Promise<boolean> {
    try {
      await showPage(ctx, page);
      return true;
    } catch (error) {
      logger.error({ err: error, requestId: requestIdOf(ctx), method: ctx.method, path: loggedPath(ctx.path) }, 'error page failed');
      return false;
    }
  }
}

const wordsOf = (error: unknown, status: number): string =>
  status < 500 && error instanceof Error ? error.message : 'the service could not answer';

/** Details are told of what the caller did wrong, and of nothing else. @see RFC 9457 §3 */
function problemOf(error: unknown, status: number, code: string): Readonly<Record<string, unknown>> {
  const { details = {} } = status < 500 && error instanceof IdpError ? error : {};
  return { ...details, type: `urn:tenant-idp:error:${code}`, title: wordsOf(error, status), status, code };
}

/** A refusal that says which token it takes. @see RFC 6750 §3 */
const isOfBearer = (ctx: Context, error: unknown): boolean =>
  IdpError.is(error, 'insufficient_scope', 'invalid_request') && /^Bearer /.test(ctx.response.get('WWW-Authenticate'));

/** What only the log tells. */
const reasonOf = (error: unknown): string | undefined =>
  error instanceof IdpError && typeof error.cause === 'string' ? error.cause : undefined;

/** What a library throws may have the status of an answer that it got itself: only what says so (`expose`, as `ctx.throw` does) is for the caller. */
const statusOf = (error: unknown): number => {
  const { status, expose } = (error ?? {}) as { status?: unknown; expose?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500 && expose === true ? status : 500;
};

const codeOf = (error: unknown, status: number): string => {
  if (status === 503) return 'temporarily_unavailable';
  if (status >= 500) return 'server_error';
  return error instanceof IdpError ? error.code : 'invalid_request';
};

const wantsPage = (ctx: Context): boolean => ctx.accepts('json', 'html') === 'html';
