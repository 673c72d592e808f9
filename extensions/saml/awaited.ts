import type { Awaitable } from '../../lib/extension-door.js';

/** Uses a value now where it is at hand, and later where it is promised. */
export const awaited = <Value, Result>(value: Awaitable<Value>, use: (value: Value) => Awaitable<Result>): Awaitable<Result> =>
  value instanceof Promise ? value.then(use) : use(value as Value);
