import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Middleware } from 'koa';
import type { App } from './app.js';
import { removeOwnHeaders } from './host-headers.js';
import { unreadRequest } from './requests/unread-request.js';

/** The URL as the browser sent it, whatever a host stripped for those it mounts. */
const urlOf = (req: IncomingMessage, fallback = req.url ?? '/'): string => (req as { originalUrl?: string }).originalUrl ?? fallback;

/**
 * Koa middleware in somebody's app. Our context is our own, so the host's keys, proxies and parsers have no say in it; the answer is handed
 * over to the host's context, so whatever wraps us (compression, sessions, logs) works on it.
 */
export const createMiddleware = (app: App): Middleware =>
  async function identityProvider(ctx, next) {
    const url = urlOf(ctx.req, ctx.originalUrl);
    if (!app.owns(url)) {
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

/** A listener for `node:http`; for hosts that pass `next`, middleware: what is not ours goes on to them. */
export function createCallback(app: App) {
  const host = new Koa();
  // Nobody else works on the context here, so ours is the only one that is made.
  host.createContext = (req, res) => app.createContext(unreadRequest(req), res, urlOf(req));
  host.use((ctx) => app.handle(ctx, urlOf(ctx.req)));
  const listener = host.callback();
  return (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    const url = urlOf(req);
    if (app.owns(url)) {
      removeOwnHeaders(res);
      if (!app.answer(req, res, url)) void listener(req, res);
      return;
    }
    app.passOn(req, res, url);
    if (next) next();
    else void listener(req, res);
  };
}
