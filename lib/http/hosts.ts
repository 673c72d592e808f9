import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Middleware } from 'koa';
import type { App } from './app.js';
import { removeOwnHeaders } from './host-headers.js';
import { unreadRequest } from './requests/unread-request.js';

/** Returns the URL as the browser sent it, even if the host removed the mount path from it. */
const urlOf = (req: IncomingMessage, fallback = req.url ?? '/'): string => (req as { originalUrl?: string }).originalUrl ?? fallback;

/**
 * Returns Koa middleware for a host's app. The service uses its own context, so that the cookie keys, proxies and parsers of the host do not affect the
 * service. The answer is passed to the host's context, so that the host's middleware (compression, sessions, logs) works on the answer.
 */
export const createMiddleware = (app: App): Middleware =>
  async function identityProvider(ctx, next) {
    const url = urlOf(ctx.req, ctx.originalUrl);
    if (!app.owns(url, ctx.req.headers.accept)) {
      app.passOn(ctx.req, ctx.res, url);
      return next();
    }
    removeOwnHeaders(ctx.res);
    const inner = app.createContext(unreadRequest(ctx.req, ctx.request), ctx.res, url);
    await app.handle(inner, url);
    // Both contexts write to one response: setting the body would overwrite the status.
    const { status, body } = inner;
    if (body !== null && body !== undefined) ctx.body = body;
    ctx.status = status;
  };

/** Returns a listener for `node:http`. If the host passes `next`, the listener is middleware that passes on requests for other paths. */
export function createCallback(app: App) {
  const host = new Koa();
  // No host uses a context here, so only the context of the service is created.
  host.createContext = (req, res) => app.createContext(req, res, urlOf(req));
  host.use((ctx) => app.handle(ctx, urlOf(ctx.req)));
  const listener = host.callback();
  return (given: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    const url = urlOf(given);
    if (app.owns(url, given.headers.accept)) {
      removeOwnHeaders(res);
      const req = unreadRequest(given);
      const answering = app.answer(req, res, url);
      const withContext = (isAnswered: boolean): unknown => isAnswered || listener(req, res);
      void (answering instanceof Promise ? answering.then(withContext) : withContext(answering));
      return;
    }
    app.passOn(given, res, url);
    if (next) next();
    else void listener(given, res);
  };
}
