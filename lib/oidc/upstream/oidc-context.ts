import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Class, Payload } from './base-model.js';
import { createShapes } from './request-parameters.js';

export type Query = Record<string, string | string[] | undefined>;

/**
 * Changes the parameters after the parameters of the request object have replaced plain parameters, and before any code reads the result. The last step of
 * actions/authorization/process_request_object.js begins by removing `request`.
 */
export const afterRequestObject = (ctx: KoaContextWithOIDC, rewrite: (params: Payload) => void): void =>
  (ctx.oidc as unknown as { afterRequestObject(rewrite: (params: Payload) => void): void }).afterRequestObject(rewrite);

export interface ContextHooks {
  /** Returns the parameters of an endpoint, before oidc-provider reads them. @param provider instance that answers the request */
  parameters(route: string, parameters: Query, provider: object): Query;
  /** Checks a request before oidc-provider processes any part of the request. An error becomes the endpoint's error. */
  check(ctx: KoaContextWithOIDC): void;
  /** Returns the level of the session's sign-in. */
  acr(ctx: KoaContextWithOIDC): string | undefined;
  /** Returns the audiences that an assertion may have. @throws InvalidClientAuth for an assertion that was refused before oidc-provider verifies it */
  assertionAudiences(ctx: KoaContextWithOIDC): readonly string[];
  /** Returns the current identity and API scopes. */
  scopes(ctx: KoaContextWithOIDC): ReadonlySet<string>;
}

/** Creates the class that rewrites parameters before the first check reads them, and makes API scopes known. */
export function contextClass(Base: Class, hooks: ContextHooks): Class {
  const shaped = createShapes();
  return class extends Base {
    #body: Query | undefined;
    #params: Payload | undefined;
    #rewrite: ((params: Payload) => void) | undefined;
    #scopes: { readonly asked: unknown; readonly known: Set<string> } | undefined;

    constructor(ctx: KoaContextWithOIDC) {
      super(ctx);
      const query = queryOf(this.route, ctx);
      if (query) Object.defineProperty(ctx, 'query', { configurable: true, value: hooks.parameters(this.route, query, this.provider) });
    }

    /** Reuses the cookie jar of the Koa context. Otherwise oidc-provider would create a second one. */
    get cookies(): unknown {
      return (this.ctx as KoaContextWithOIDC).cookies;
    }

    get body(): Query | undefined {
      return this.#body;
    }
    set body(body: Query | undefined) {
      this.#body = body && hooks.parameters(this.route, body, this.provider);
    }

    get params(): Payload | undefined {
      const rewrite = this.#rewrite;
      if (rewrite && this.#params && this.#params.request === undefined) {
        this.#rewrite = undefined;
        rewrite(this.#params);
        this.#settle();
      }
      return this.#params;
    }
    /** Sets and checks the parameters. The first step of an endpoint whose errors are answered calls this setter. */
    set params(params: Payload) {
      this.#params = shaped(params);
      hooks.check(this.ctx);
      this.#settle();
    }

    /** Makes the parameters a plain member, because an authorization request reads them about sixty times after it sets them once. */
    #settle(): void {
      if (this.route === 'authorization' && !this.#rewrite)
        Object.defineProperty(this, 'params', { value: this.#params, configurable: true, enumerable: true, writable: true });
    }

    /** Sets the parameters from the query, for an error that comes before the parameters are set. */
    assume(params: Payload): void {
      this.#params ??= params;
    }

    afterRequestObject(rewrite: (params: Payload) => void): void {
      this.#rewrite = rewrite;
      Reflect.deleteProperty(this, 'params');
    }

    /** Requested scopes that are known. The scopes are cached, because many steps read them and no step changes them. */
    get requestParamOIDCScopes(): Set<string> {
      const asked: unknown = this.params?.scope;
      if (this.#scopes?.asked !== asked) this.#scopes = { asked, known: knownScopes(asked, hooks.scopes(this.ctx)) };
      return this.#scopes?.known ?? new Set();
    }

    urlFor(name: string, options?: object): string {
      return this.provider.urlFor(name, options);
    }

    /** Level of the sign-in, for codes, ID tokens, and the check of the requested level. The level is computed only if a level was requested. */
    get acr(): string | undefined {
      return super.acr ?? (asksForAcr(this.claims) ? hooks.acr(this.ctx) : undefined);
    }

    /** Returns the audiences of client assertions, which do not depend on the URL of the request. */
    clientJwtAuthExpectedAudience(): Set<string> {
      return new Set(hooks.assertionAudiences(this.ctx));
    }
  };
}

/** Returns the query. A resumed request has no query, so that parameters of a query cannot answer its errors. */
function queryOf(route: string, { method, query }: KoaContextWithOIDC): Query | undefined {
  if (route === 'resume') return {};
  const takesQuery = route === 'authorization' || route === 'userinfo';
  return takesQuery && method !== 'POST' ? query : undefined;
}

const knownScopes = (asked: unknown, known: ReadonlySet<string>): Set<string> =>
  new Set(typeof asked === 'string' ? asked.split(' ').filter((scope) => known.has(scope)) : []);

const asksForAcr = (claims: unknown): boolean => (claims as { id_token?: { acr?: unknown } } | undefined)?.id_token?.acr !== undefined;
