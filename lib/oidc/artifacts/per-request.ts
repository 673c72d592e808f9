/**
 * Something that each request has one of, made when it is first asked for. It is kept on the context: a map of contexts, weak or not, is work for
 * the garbage collector with every request.
 */
export function perRequest<T>(create: () => T): (ctx: object) => T {
  const key = Symbol('per request');
  return (ctx) => {
    const context = ctx as { [key]?: T };
    context[key] ??= create();
    return context[key];
  };
}
