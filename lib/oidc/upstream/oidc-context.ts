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
      const takesQuery = this.route === 'authorization' || this.route === 'userinfo';
      const query = this.route === 'resume' ? {} : takesQuery && ctx.method !== 'POST' ? ctx.query : undefined;
      // Resuming takes no parameters: an error of it must not be answered by those of a query.
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
      if (this.#scopes?.asked !== asked) {
        const known = hooks.scopes(this.ctx);
        this.#scopes = { asked, known: new Set(typeof asked === 'string' ? asked.split(' ').filter((scope) => known.has(scope)) : []) };
      }
      return this.#scopes?.known ?? new Set();
    }

    urlFor(name: string, options?: object): string {
      return this.provider.urlFor(name, options);
    }

    /** Read where codes and ID tokens are made, and to check what was asked for: only then it is looked for. */
    get acr(): string | undefined {
      const asked = (this.claims as { id_token?: { acr?: unknown } } | undefined)?.id_token?.acr;
      return super.acr ?? (asked === undefined ? undefined : hooks.acr(this.ctx));
    }

    /** Never the URL that was asked. */
    clientJwtAuthExpectedAudience(): Set<string> {
      return new Set(hooks.assertionAudiences(this as unknown as KoaContextWithOIDC['oidc']));
    }
  };
}
