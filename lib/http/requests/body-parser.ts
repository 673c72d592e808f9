import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type bodyParser from 'koa-bodyparser';

/** Reads bodies. The first body loads the parser: its packages cost a tenth of the start of a service, which may never be sent one. */
export function createBodyParser(options: bodyParser.Options): Middleware {
  let read: Middleware | undefined;
  return async function readBody(ctx, next) {
    if (isWithoutBody(ctx.req)) {
      ctx.request.body ??= {};
      return next();
    }
    // The function is kept, not the promise, so that the next body tries again where loading failed.
    if (!read) {
      const { default: create } = await import('koa-bodyparser');
      // The first of several bodies at once makes it, because `create` takes `onerror` out of the options: a second parser would not have it.
      read ??= create(options);
    }
    return read(ctx, next);
  };
}

/** HTTP/1 announces each body in its headers. HTTP/2 need not, so its requests are always read. @see RFC 9112 §6.3, RFC 9113 §8.1.1 */
const isWithoutBody = ({ headers, httpVersionMajor }: IncomingMessage): boolean =>
  httpVersionMajor < 2 && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
