/** What becomes of a request that failed beside its answer, the same whether the error handler answers it or oidc-provider does. */
import type { Context } from 'koa';
import { isToldAlready } from '../errors.js';
import type { Logger } from '../logger.js';
import { loggedPath, requestIdOf } from './requests/request-id.js';

type Request = Pick<Context, 'method' | 'path' | 'remove'>;

/** A request that was refused is news of the caller; one that failed is ours, unless whoever found out has told already. */
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

/** What could not be stored must not be in the browser either: a new session id would sign it out. */
export const forgetUnstored = (ctx: Pick<Request, 'remove'>): void => ctx.remove('Set-Cookie');
