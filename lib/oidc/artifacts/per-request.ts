import type { KoaContextWithOIDC } from 'oidc-provider';

/**
 * Returns a function that makes a value once for each request, on first use. The value is stored on the context, because a map of contexts, weak or not,
 * costs the garbage collector time at every request.
 */
export function perRequest<T, Context extends object = object>(create: (ctx: Context) => T): (ctx: Context) => T {
  const key = Symbol('per request');
  return (ctx) => {
    const context = ctx as Context & { [key]?: T };
    context[key] ??= create(ctx);
    return context[key] as T;
  };
}

/**
 * {@link perRequest}, for values that depend on `ctx.oidc`, which stores the values. A door that leaves a request to oidc-provider leaves these values
 * behind with its own `ctx.oidc`.
 */
export function perContext<T>(create: (ctx: KoaContextWithOIDC) => T): (ctx: KoaContextWithOIDC) => T {
  const key = Symbol('per context');
  return (ctx) => {
    const context = ctx.oidc as unknown as { [key]?: T };
    context[key] ??= create(ctx);
    return context[key] as T;
  };
}
