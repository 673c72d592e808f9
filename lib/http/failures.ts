/** Handling of a failed request in addition to its answer. The handling is the same whether the error handler or oidc-provider answers. */
import type { Context } from 'koa';
import { isToldAlready } from '../errors.js';
import type { Logger } from '../logger.js';
import { loggedPath, requestIdOf } from './requests/request-id.js';

type Request = Pick<Context, 'method' | 'path' | 'remove'>;

/**
 * Logs a failed request. A refusal is the fault of the request. A failure is the service's fault. A failure is logged as an error unless its cause was
 * already logged when it was detected.
 */
export function logFailure(
  logger: Logger,
  ctx: Request,
  error: unknown,
  status: number | undefined,
  refusal: () => Readonly<Record<string, unknown>>,
): void {
  const about = { requestId: requestIdOf(ctx as Context), method: ctx.method, path: loggedPath(ctx.path) };
  if (isToldAlready(error)) logger.debug({ err: error, ...about }, 'request answered 503');
  else if (status === undefined || status >= 500) logger.error({ err: error, ...about }, 'request failed');
  else logger.info({ ...about, ...refusal() }, 'request refused');
}

/**
 * Removes cookies from the answer, because the browser must not get a state that could not be stored. A new session id would sign the
 * browser out.
 */
export const forgetUnstored = (ctx: Pick<Request, 'remove'>): void => ctx.remove('Set-Cookie');
