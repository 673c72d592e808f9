/**
 * Something that each request has one of, made when it is first asked for. It is kept on the context: a map of contexts, weak or not, is work for
 * the garbage collector with every request.
 */
export function perRequest<T, Context extends object = object>(create: (ctx: Context) => T): (ctx: Context) => T {
  const key = Symbol('per request');
  return (ctx) => {
    const context = ctx as Context & { [key]?: T };
    context[key] ??= create(ctx);
    return context[key] as T;
  };
}
