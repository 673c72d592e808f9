/** The service as a process of its own, so that whatever ends a process is seen; it tells the routes it registered. Started by `fuzz.test.ts`. */
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

/** What it says to the process that started it. */
export type FromFuzzed = { readonly issuer: string; readonly routes: readonly Route[] } | { readonly logged: readonly string[] };
const tell = (message: FromFuzzed) => process.send?.(message);

const { inspect } = await import('node:util');
const { startIdp } = await import('../service/idp.js');
const { issuer, logged } = await startIdp({
  seed: JSON.parse(process.argv[2] ?? ''),
  limits: { signInFailures: 100, signInFailuresPerAddress: 100_000 },
});
process.on('disconnect', () => process.exit());
process.on('message', () => tell({ logged: logged.map((line) => inspect(line, { depth: 4 })) }));
tell({ issuer, routes: [...methodsByPath].map(([path, methods]) => ({ path, methods: [...methods] })) });
