/**
 * HTTP: Koa pieces that any route may use, and the application made of them.
 *
 * Here are the hosts (own server, callback, middleware of another app), errors as JSON or as a page, forms, CSRF, client authentication by secret,
 * security headers. This room knows the directory and the extension contract; it does not know oidc-provider.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type { Extension } from '../contract/extension.js';
import type { ContextOf } from '../contract/extension-context.js';
import type { ShowPage } from '../contract/pages/protocol-page.js';
import { IdpError } from '../errors.js';
import type { Logger } from '../logger.js';
import { type AdmissionOptions, createAdmission } from './admission.js';
import { aroundEndpoints } from './around.js';
import { createProxyFaults } from './clients/proxy-faults.js';
import { answerDocument, type Document } from './documents.js';
import { createErrorHandler } from './errors.js';
import { extensionRouter } from './extension-router.js';
import { refuseBroken } from './requests/broken-requests.js';
import { type MethodsOf, methodNotAllowed, protocolMethods } from './requests/methods.js';
import type { FormState, RepeatedForms } from './requests/repeated-forms.js';
import { createWatchUnrouted, type WatchUnrouted } from './unrouted.js';

/** What the HTTP side needs of the protocol; it imports nothing of it. */
export interface ProtocolApp {
  /** oidc-provider as a Koa app, as it is now. */
  readonly app: Pick<Koa, 'middleware'> & { createContext(req: IncomingMessage, res: ServerResponse): Context };
  readonly routes: Readonly<Record<string, string>>;
  readonly middleware: Middleware;
  /** A document that is answered as it is, by its path, if it is at hand. */
  document(path: string): Document | undefined;
}

export interface AppOptions {
  readonly protocol: ProtocolApp;
  readonly issuer: string;
  readonly mountPath: string;
  readonly own: string;
  readonly extensions: readonly Extension[];
  readonly contextOf: ContextOf;
  readonly showPage: ShowPage;
  /** Whether a proxy in front is trusted, and with it the request id that it gives. */
  readonly isBehindProxy: boolean;
  readonly limits: AdmissionOptions;
  /** Answers a form that is sent twice with the first answer. */
  readonly repeatedForms: RepeatedForms;
  readonly logger: Logger;
}

export interface App {
  /** Answers a request for a document that is at hand, as {@link handle} would; tells whether it did. */
  answer(req: IncomingMessage, res: ServerResponse, url: string): boolean;
  /** Whether a route here answers the URL, as the browser sent it. */
  owns(url: string): boolean;
  /** Takes note of a request that no route here answers. */
  readonly passOn: WatchUnrouted;
  /** A context of our own for the URL. */
  createContext(req: IncomingMessage, res: ServerResponse, url: string): Context;
  /** Answers a request on such a context; what is not ours is left as it is. */
  handle(ctx: Context, url: string): Promise<void>;
}

export function createApp(options: AppOptions): App {
  const { protocol, mountPath, extensions, contextOf, showPage, logger } = options;
  const protocolMethodsOf = protocolMethods(protocol.routes);
  const { methodsAt, routed, styleAt } = extensionRouter(extensions, contextOf, (path) => protocolMethodsOf(path) !== undefined);
  const methodsOf: MethodsOf = (path) => protocolMethodsOf(path) ?? methodsAt(path);
  const admission = createAdmission(options.limits, logger);
  const onError = createErrorHandler({ showPage, logger, isPage: (path) => path.startsWith(`${options.own}/`), styleAt });

  const around = aroundEndpoints(extensions, contextOf, protocol.routes);
  const build = ({ middleware }: ProtocolApp['app']): Middleware =>
    compose([onError, methodNotAllowed(methodsOf), refuseBroken, around, protocol.middleware, ...middleware]);
  const built = new WeakMap<object, Middleware>();
  /** On the oidc-provider that the request's context is of, whichever is the current one by now. */
  const runProtocol = (ctx: Context): Promise<void> => {
    const app = ctx.app as ProtocolApp['app'];
    const run = built.get(app) ?? build(app);
    built.set(app, run);
    return run(ctx, nothing);
  };
  const extensionChain = compose([onError, methodNotAllowed(methodsOf), refuseBroken, routed]);
  const run = (ctx: Context, path: string): Promise<void> => (protocolMethodsOf(path) ? runProtocol(ctx) : extensionChain(ctx, nothing));
  const isDocument = (path: string): boolean => path === protocol.routes.jwks || path.startsWith('/.well-known/');
  const refuse = compose([onError, tooMany]);
  const admitted = (ctx: Context, url: string): Promise<void> => {
    ctx.state.isBehindProxy = options.isBehindProxy;
    (ctx.state as FormState).repeatedForms = options.repeatedForms;
    const path = pathname(url);
    // Those who verify tokens go on, and those who ask where to sign in.
    if (isDocument(path)) return run(ctx, path);
    const leave = admission.enter(ctx.req);
    if (leave === undefined) return refuse(ctx, nothing);
    const running = run(ctx, path);
    running.then(leave, leave);
    return running;
  };
  const runBelow = async (ctx: Context, path: string): Promise<void> => {
    const given = ctx.req.url ?? '/';
    ctx.req.url = path;
    try {
      await admitted(ctx, path);
    } finally {
      ctx.req.url = given;
    }
  };

  // Who puts middleware about an endpoint gets its requests.
  const wrapped = new Set(extensions.flatMap(({ around = {} }) => Object.keys(around).map((endpoint) => protocol.routes[endpoint])));

  const isRoute = (path: string): boolean => methodsOf(pathname(path)) !== undefined;
  const faults = createProxyFaults({ issuer: options.issuer, mountPath, isRoute, logger });
  const watchUnrouted = createWatchUnrouted((url) => pathBelow(mountPath, url) !== undefined, logger);

  return {
    answer(req, res, url) {
      if (req.method !== 'GET' && req.method !== 'HEAD') return false;
      const path = pathBelow(mountPath, url);
      const document = path === undefined || wrapped.has(path) ? undefined : protocol.document(path);
      if (document === undefined) return false;
      faults.served(req, url);
      return answerDocument(req, res, document);
    },
    owns(url) {
      const path = pathBelow(mountPath, url);
      return path !== undefined && isRoute(path);
    },
    passOn(req, res, url) {
      watchUnrouted(req, res, url);
      faults.unrouted(res, url);
    },
    createContext(req, res, url) {
      const given = req.url;
      req.url = pathBelow(mountPath, url) ?? '/';
      const ctx = protocol.app.createContext(req, res);
      if (given !== undefined) req.url = given;
      return ctx;
    },
    handle(ctx, url) {
      const path = pathBelow(mountPath, url);
      if (path === undefined) return nothing();
      faults.served(ctx.req, url);
      return path === ctx.req.url ? admitted(ctx, path) : runBelow(ctx, path);
    },
  };
}

const nothing = async () => {};

/** A connection that sends more than it may has nothing more to say. */
const tooMany: Middleware = (ctx) => {
  if (ctx.req.httpVersionMajor < 2) ctx.set('Connection', 'close');
  throw new IdpError('busy');
};

function pathname(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** The URL without the issuer's path; undefined when it is not below it. */
function pathBelow(mountPath: string, url: string): string | undefined {
  // A request line may carry an absolute URL; its host counts as little as the header. @see RFC 9112 §3.2.2
  const relative = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/';
  if (mountPath === '') return relative;
  const metadata = `/.well-known/oauth-authorization-server${mountPath}`;
  // @see RFC 8414 §3.1
  if (pathname(relative) === metadata) return '/.well-known/oauth-authorization-server';
  return relative.startsWith(`${mountPath}/`) ? relative.slice(mountPath.length) : undefined;
}
