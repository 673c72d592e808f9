/** Records the routes that a service registers. To be imported before what registers them. */
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
// No package types a file of another: the name is put together where no compiler looks.
const { default: ProtocolRouter } = await import(['oidc-provider', 'lib', 'helpers', 'router.js'].join('/'));
for (const method of ['get', 'post', 'put', 'delete', 'options']) {
  const original = ProtocolRouter.prototype[method] as (...args: unknown[]) => unknown;
  ProtocolRouter.prototype[method] = function (this: unknown, name: string, path: string, ...rest: unknown[]) {
    add([method], path);
    return original.call(this, name, path, ...rest);
  };
}

/**
 * Forgets the routes that test files before registered, because the test files of one worker share this module. To be called before the services of a file are
 * started: which files ran before in the worker must not decide what is tested.
 */
export const forgetRoutes = (): void => methodsByPath.clear();

/** The routes that were registered so far. */
export const recordedRoutes = (): readonly Route[] => [...methodsByPath].map(([path, methods]) => ({ path, methods: [...methods] }));
