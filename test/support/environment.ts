/** Jest's vm realm, mended where it differs from a plain Node process. */
import { isNativeError } from 'node:util/types';
import type { EnvironmentContext, JestEnvironmentConfig } from '@jest/environment';
import { TestEnvironment } from 'jest-environment-node';
export default class RealmEnvironment extends TestEnvironment {
  constructor(config: JestEnvironmentConfig, context: EnvironmentContext) {
    super(config, context);
    const { global: inner } = this;
    const adopt = <T>(value: T, seen = new Set<unknown>()): T => {
      if (typeof value !== 'object' || value === null || seen.has(value)) return value;
      seen.add(value);
      const own: unknown = Reflect.get(inner, Object.prototype.toString.call(value).slice(8, -1));
      if (typeof own === 'function' && !(value instanceof own)) Object.setPrototypeOf(value, own.prototype as object);
      if (value instanceof inner.Map) for (const part of [...value].flat()) adopt(part, seen);
      else if (value instanceof inner.Set) for (const item of value) adopt(item, seen);
      else if (!ArrayBuffer.isView(value)) for (const item of Object.values(value)) adopt(item, seen);
      return value;
    };
    inner.structuredClone = ((value, options) => adopt(structuredClone(value, options))) as typeof structuredClone;
    const ordinary = Function.prototype[Symbol.hasInstance];
    for (const name of ['Error', 'TypeError', 'RangeError', 'SyntaxError'] as const) {
      const ctor = inner[name];
      Object.defineProperty(ctor, Symbol.hasInstance, {
        value(this: unknown, value: unknown) {
          return (
            ordinary.call(this as never, value) || (this === ctor && isNativeError(value) && (name === 'Error' || value.name === name))
          );
        },
      });
    }
    void Response; // first use makes Node load undici and set its dispatcher
    for (const version of [1, 2]) {
      const key = Symbol.for(`undici.globalDispatcher.${version}`);
      Reflect.set(inner, key, Reflect.get(globalThis, key));
    }
  }
}
