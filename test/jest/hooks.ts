/** Resolves `@jest/globals` to {@link setGlobals | the globals of the running test file}. Node runs this hook in a thread of its own. */
import type { ResolveHook } from 'node:module';

export const resolve: ResolveHook = (specifier, context, next) =>
  specifier === '@jest/globals' ? { url: new URL('./globals.js', import.meta.url).href, shortCircuit: true } : next(specifier, context);
