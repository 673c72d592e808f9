import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Class, Payload } from './base-model.js';
import { createShapes } from './request-parameters.js';

export type Query = Record<string, string | string[] | undefined>;

/**
 * Changes the parameters once those in the request object have taken the place of those beside it, before anything reads them. The last that
 * actions/authorization/process_request_object.js does, in one go, begins with taking `request` away.
 */
export const afterRequestObject = (ctx: KoaContextWithOIDC, rewrite: (params: Payload) => void): void =>
  (ctx.oidc as unknown as { afterRequestObject(rewrite: (params: Payload) => void): void }).afterRequestObject(rewrite);

export interface ContextHooks {
  /** Parameters of an endpoint, before oidc-provider sees them. @param provider the one that answers the request */
  parameters(route: string, parameters: Query, provider: object): Query;
  /** Looks at a request before anything of it is processed; what it throws becomes the endpoint's error. */
  check(ctx: KoaContextWithOIDC): void;
  /** The level of the session's sign-in. */
  acr(ctx: KoaContextWithOIDC): string | undefined;
  /** Audiences of client assertions. */
  assertionAudiences(oidc: Pick<KoaContextWithOIDC['oidc'], 'route' | 'isFapi'>): readonly string[];
  /** Identity and API scopes that exist now. */
  scopes(ctx: KoaContextWithOIDC): ReadonlySet<string>;
}

/** Parameters are rewritten before the first check reads them; API scopes count as known. */
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

    /** Those of the request's context, which `provider.createContext` made too: a second one would be made for them alone. */
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
    /** The first step of an endpoint whose errors are answered. */
    set params(params: Payload) {
      this.#params = shaped(params);
      hooks.check(this.ctx);
      this.#settle();
    }

    /** An authorization request reads its parameters some sixty times, and sets them once: from here on they are a plain member. */
    #settle(): void {
      if (this.route === 'authorization' && !this.#rewrite)
        Object.defineProperty(this, 'params', { value: this.#params, configurable: true, enumerable: true, writable: true });
    }

    /** An error may come before the parameters are put together, and be answered by the query all the same. */
    assume(params: Payload): void {
      this.#params ??= params;
    }

    afterRequestObject(rewrite: (params: Payload) => void): void {
      this.#rewrite = rewrite;
      Reflect.deleteProperty(this, 'params');
    }

    /** Many ask, and none changes it. */
    get requestParamOIDCScopes(): Set<string> {
      const asked: unknown = this.params?.scope;
      if (this.#scopes?.asked !== asked) this.#scopes = { asked, known: knownScopes(asked, hooks.scopes(this.ctx)) };
      return this.#scopes?.known ?? new Set();
    }

    urlFor(name: string, options?: object): string {
      return this.provider.urlFor(name, options);
    }

    /** Codes and ID tokens read it, and the check of what was asked for. It is looked for only if it was asked for. */
    get acr(): string | undefined {
      return super.acr ?? (asksForAcr(this.claims) ? hooks.acr(this.ctx) : undefined);
    }

    /** Never the URL that was asked. */
    clientJwtAuthExpectedAudience(): Set<string> {
      return new Set(hooks.assertionAudiences(this as unknown as KoaContextWithOIDC['oidc']));
    }
  };
}

/** Resuming takes no parameters, so that its errors are not answered by the parameters of a query. */
function queryOf(route: string, { method, query }: KoaContextWithOIDC): Query | undefined {
  if (route === 'resume') return {};
  const takesQuery = route === 'authorization' || route === 'userinfo';
  return takesQuery && method !== 'POST' ? query : undefined;
}

const knownScopes = (asked: unknown, known: ReadonlySet<string>): Set<string> =>
  new Set(typeof asked === 'string' ? asked.split(' ').filter((scope) => known.has(scope)) : []);

const asksForAcr = (claims: unknown): boolean => (claims as { id_token?: { acr?: unknown } } | undefined)?.id_token?.acr !== undefined;
