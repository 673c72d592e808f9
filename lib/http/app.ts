/**
 * HTTP: Koa pieces that any route may use, and the application that consists of them.
 *
 * The folder has the hosts (own server, callback, middleware of another app), errors as JSON or as a page, forms, CSRF, client authentication by secret, and
 * security headers. The folder may import the directory and the extension contract, but not oidc-provider.
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
import { type Admission, type AdmissionOptions, createAdmission, type Entry } from './admission.js';
import { createProxyFaults, type ProxyFaults } from './clients/proxy-faults.js';
import { answerDocument, type Document } from './documents.js';
import { type EndpointMiddleware, endpointMiddleware } from './endpoint-middleware.js';
import { createErrorHandler } from './errors.js';
import { extensionRouter } from './extension-router.js';
import { hasSecondAuthorization, refuseBroken } from './requests/broken-requests.js';
import { type MethodsOf, methodNotAllowed, protocolMethods } from './requests/methods.js';
import type { FormState, RepeatedForms } from './requests/repeated-forms.js';
import { createLogUnknownPath, type LogUnknownPath } from './unknown-paths.js';

/** The parts of the protocol that this folder uses without importing the protocol. */
export interface ProtocolApp {
  /** The current oidc-provider as a Koa app. */
  readonly app: Pick<Koa, 'middleware'> & { createContext(req: IncomingMessage, res: ServerResponse): Context };
  readonly routes: Readonly<Record<string, string>>;
  readonly middleware: Middleware;
  /** Returns the document at a path, if the document is in memory. */
  document(path: string): Document | undefined;
  /**
   * Returns the function that tries to answer a request to a path without a Koa context; undefined for requests that need one. The function resolves to false
   * if it left the request unanswered and unchanged.
   */
  withoutContext(req: IncomingMessage, res: ServerResponse, path: string): (() => Promise<boolean>) | undefined;
}

export interface AppOptions {
  readonly protocol: ProtocolApp;
  readonly issuer: string;
  readonly mountPath: string;
  readonly own: string;
  readonly extensions: readonly Extension[];
  readonly contextOf: ContextOf;
  readonly showPage: ShowPage;
  /** Whether a proxy in front of the service is trusted, including the request id that the proxy gives. */
  readonly isBehindProxy: boolean;
  readonly limits: AdmissionOptions;
  /** Answers a form that is sent twice with the first answer. */
  readonly repeatedForms: RepeatedForms;
  readonly logger: Logger;
}

export interface App {
  /**
   * Answers a request without a Koa context, as {@link handle} would: a request for a document in memory, or a common request to an endpoint. Returns whether
   * the request was answered.
   */
  answer(req: IncomingMessage, res: ServerResponse, url: string): boolean | Promise<boolean>;
  /**
   * Returns whether the service answers the URL: a route has its path, or a browser asks for a page below the service's own path. The URL is as the browser
   * sent it. @param accept the header `Accept`
   */
  owns(url: string, accept: string | undefined): boolean;
  /** Watches a request that no route of the service answers. */
  passOn(req: IncomingMessage, res: ServerResponse, url: string): void;
  /** Creates a context of the service for the URL. */
  createContext(req: IncomingMessage, res: ServerResponse, url: string): Context;
  /** Answers a request on a context of {@link createContext}. Leaves requests for other paths unanswered. */
  handle(ctx: Context, url: string): Promise<void>;
}

/** Creates the application. @throws ConfigError for invalid routes of extensions. */
export const createApp = (options: AppOptions): App => new ServiceApp(options);

class ServiceApp implements App {
  readonly #options: AppOptions;
  readonly #methodsOf: MethodsOf;
  readonly #isOfProtocol: (path: string) => boolean;
  readonly #admission: Admission;
  /** Requests that went through the admission before they had a context. */
  readonly #entered = new WeakMap<IncomingMessage, Entry>();
  readonly #faults: ProxyFaults;
  readonly #logUnknownPath: LogUnknownPath;
  /** Middleware of extensions around endpoints, which must get every request that concerns it. */
  readonly #around: EndpointMiddleware;
  /** Middleware for each oidc-provider, by its Koa app. */
  readonly #chains = new WeakMap<object, Middleware>();
  readonly #chainOf: (app: ProtocolApp['app']) => Middleware;
  readonly #extensionChain: Middleware;
  readonly #refuse: Middleware;
  readonly #styleAt: (path: string) => Extension['errors'];

  constructor(options: AppOptions) {
    const { protocol, issuer, mountPath, extensions, contextOf, showPage, logger } = options;
    const protocolMethodsOf = protocolMethods(protocol.routes);
    const isOfProtocol = (path: string): boolean => protocolMethodsOf(path) !== undefined;
    const { methodsAt, routed, styleAt } = extensionRouter(extensions, contextOf, isOfProtocol);
    const methodsOf: MethodsOf = (path) => protocolMethodsOf(path) ?? methodsAt(path);
    const onError = createErrorHandler({ showPage, logger, isPage: (path) => path.startsWith(`${options.own}/`), styleAt });
    this.#styleAt = styleAt;
    this.#around = endpointMiddleware(extensions, contextOf, protocol.routes);
    const first = [onError, methodNotAllowed(methodsOf), refuseBroken];
    this.#options = options;
    this.#methodsOf = methodsOf;
    this.#isOfProtocol = isOfProtocol;
    this.#chainOf = ({ middleware }) => compose([...first, this.#around.run, protocol.middleware, ...middleware]);
    this.#extensionChain = compose([onError, (ctx, next) => this.#showUnknownPage(ctx, next), ...first.slice(1), routed]);
    this.#refuse = compose([onError, tooMany]);
    this.#admission = createAdmission(options.limits, logger);
    this.#faults = createProxyFaults({ issuer, mountPath, isRoute: (path) => this.#isRoute(path), logger });
    this.#logUnknownPath = createLogUnknownPath((url) => pathBelow(mountPath, url) !== undefined, logger);
  }

  answer(req: IncomingMessage, res: ServerResponse, url: string): boolean | Promise<boolean> {
    const path = pathBelow(this.#options.mountPath, url);
    if (path === undefined || this.#around.concerns(path, req.headers)) return false;
    const document = req.method === 'GET' || req.method === 'HEAD' ? this.#options.protocol.document(path) : undefined;
    if (document === undefined) return this.#answerEndpoint(req, res, { path, url });
    this.#faults.served(req, url);
    return answerDocument(req, res, document);
  }

  /** Tries to answer a request without a context. A request that is left unanswered keeps its place among the admitted requests. */
  #answerEndpoint(
    req: IncomingMessage,
    res: ServerResponse,
    { path, url }: Readonly<Record<'path' | 'url', string>>,
  ): boolean | Promise<boolean> {
    const answer = this.#options.protocol.withoutContext(req, res, path);
    if (answer === undefined || hasSecondAuthorization(req)) return false;
    this.#faults.served(req, url);
    const answerEntered = (entry: Entry): boolean | Promise<boolean> => {
      if (typeof entry !== 'function') {
        this.#entered.set(req, entry);
        return false;
      }
      return answer().then((isAnswered) => {
        if (isAnswered) entry();
        else this.#entered.set(req, entry);
        return isAnswered;
      });
    };
    const entering = this.#admission.enter(req);
    return entering instanceof Promise ? entering.then(answerEntered) : answerEntered(entering);
  }

  owns(url: string, accept: string | undefined): boolean {
    const path = pathBelow(this.#options.mountPath, url);
    return path !== undefined && (this.#isRoute(path) || (asksForPage(accept) && this.#isOwn(pathname(path))));
  }

  passOn(req: IncomingMessage, res: ServerResponse, url: string): void {
    this.#logUnknownPath(req, res, url);
    this.#faults.notServed(res, url);
  }

  createContext(req: IncomingMessage, res: ServerResponse, url: string): Context {
    const given = req.url;
    req.url = pathBelow(this.#options.mountPath, url) ?? '/';
    const ctx = this.#options.protocol.app.createContext(req, res);
    if (given !== undefined) req.url = given;
    return ctx;
  }

  handle(ctx: Context, url: string): Promise<void> {
    const path = pathBelow(this.#options.mountPath, url);
    if (path === undefined) return nothing();
    this.#faults.served(ctx.req, url);
    return path === ctx.req.url ? this.#admitted(ctx, path) : this.#runBelow(ctx, path);
  }

  #isRoute(path: string): boolean {
    return this.#methodsOf(pathname(path)) !== undefined;
  }

  /** Returns whether a path is the service's own path, or below it. */
  #isOwn(path: string): boolean {
    const { own } = this.#options;
    return path === own || path.startsWith(`${own}/`);
  }

  /** Shows browsers a page for a path that does not exist. Programs get the plain 404, and an API its own format. */
  async #showUnknownPage(ctx: Context, next: () => Promise<unknown>): Promise<void> {
    await next();
    const isUnanswered = ctx.status === 404 && ctx.body === undefined;
    if (!isUnanswered || !asksForPage(ctx.get('accept')) || !this.#isOwn(ctx.path) || this.#styleAt(ctx.path) !== undefined) return;
    if (this.#methodsOf(ctx.path) === undefined) this.passOn(ctx.req, ctx.res, this.#options.mountPath + ctx.path);
    ctx.status = 404;
    await this.#options.showPage(ctx, { page: 'not-found' });
  }

  async #runBelow(ctx: Context, path: string): Promise<void> {
    const given = ctx.req.url ?? '/';
    ctx.req.url = path;
    try {
      await this.#admitted(ctx, path);
    } finally {
      ctx.req.url = given;
    }
  }

  #admitted(ctx: Context, url: string): Promise<void> {
    const { protocol, isBehindProxy, repeatedForms } = this.#options;
    ctx.state.isBehindProxy = isBehindProxy;
    (ctx.state as FormState).repeatedForms = repeatedForms;
    const path = pathname(url);
    // Discovery and the key set are exempt from the request limit, so that API resources can verify tokens under load.
    if (path === protocol.routes.jwks || path.startsWith('/.well-known/')) return this.#run(ctx, path);
    const entering = this.#entered.get(ctx.req) ?? this.#admission.enter(ctx.req);
    return entering instanceof Promise
      ? entering.then((entry) => this.#runEntered(ctx, path, entry))
      : this.#runEntered(ctx, path, entering);
  }

  #runEntered(ctx: Context, path: string, entry: Entry): Promise<void> {
    if (entry === 'gone') return nothing();
    if (entry === 'full') return this.#refuse(ctx, nothing);
    const running = this.#run(ctx, path);
    running.then(entry, entry);
    return running;
  }

  #run(ctx: Context, path: string): Promise<void> {
    return this.#isOfProtocol(path) ? this.#runProtocol(ctx) : this.#extensionChain(ctx, nothing);
  }

  /** Runs the oidc-provider to which the context of the request belongs, even if a newer oidc-provider is current now. */
  #runProtocol(ctx: Context): Promise<void> {
    const app = ctx.app as ProtocolApp['app'];
    const chain = this.#chains.get(app) ?? this.#chainOf(app);
    this.#chains.set(app, chain);
    return chain(ctx, nothing);
  }
}

const nothing = async () => {};

/** Returns whether a request is for a page: browsers accept HTML when they open an address, and programs that read JSON name JSON. */
const asksForPage = (accept = ''): boolean => /\btext\/html\b/i.test(accept) && !/\bjson\b/i.test(accept);

/** Refuses a request over the limit, and closes its HTTP/1 connection. */
const tooMany: Middleware = (ctx) => {
  if (ctx.req.httpVersionMajor < 2) ctx.set('Connection', 'close');
  throw new IdpError('busy');
};

function pathname(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Returns the URL without the issuer's path; undefined when the URL is not below that path. */
function pathBelow(mountPath: string, url: string): string | undefined {
  // A request line may carry an absolute URL. The host of the URL is ignored, as the header `Host` is. @see RFC 9112 §3.2.2
  const relative = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/';
  if (mountPath === '') return relative;
  const metadata = `/.well-known/oauth-authorization-server${mountPath}`;
  // @see RFC 8414 §3.1
  if (pathname(relative) === metadata) return '/.well-known/oauth-authorization-server';
  return relative.startsWith(`${mountPath}/`) ? relative.slice(mountPath.length) : undefined;
}
