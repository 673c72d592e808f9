/** Records the routes that a service registers. Import this file before the modules that register routes. */
import Router from '@koa/router';
import type { Route } from './request-grammar.js';

const methodsByPath = new Map<string, Set<string>>();
const add = (methods: readonly string[], path: unknown) => {
  if (typeof path !== 'string') return;
  const known = methodsByPath.get(path) ?? new Set();
  for (const method of methods) known.add(method.toUpperCase());
  methodsByPath.set(path, known);
};

const register = Router.prototype.register as (...args: never[]) => never;
Object.assign(Router.prototype, {
  register(path: unknown, methods: readonly string[], ...rest: never[]) {
    add(methods, path);
    return register.call(this, path as never, methods as never, ...rest);
  },
});
// The name is put together at run time, so that the compiler does not look for types. oidc-provider has no types for this file.
const { default: ProtocolRouter } = await import(['oidc-provider', 'lib', 'helpers', 'router.js'].join('/'));
for (const method of ['get', 'post', 'put', 'delete', 'options']) {
  const original = ProtocolRouter.prototype[method] as (...args: unknown[]) => unknown;
  ProtocolRouter.prototype[method] = function (this: unknown, name: string, path: string, ...rest: unknown[]) {
    add([method], path);
    return original.call(this, name, path, ...rest);
  };
}

/**
 * Forgets the routes that earlier test files registered, because the test files of one worker share this module. Call this function before
 * the services of a file start, so that earlier files of the worker do not decide which routes are tested.
 */
export const forgetRoutes = (): void => methodsByPath.clear();

/** Returns the routes that were registered so far. */
export const recordedRoutes = (): readonly Route[] => [...methodsByPath].map(([path, methods]) => ({ path, methods: [...methods] }));
