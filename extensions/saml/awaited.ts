import type { Awaitable } from '../../lib/extension-door.js';

/** Calls `use` immediately with a value, or later with the value of a promise. */
export const awaited = <Value, Result>(value: Awaitable<Value>, use: (value: Value) => Awaitable<Result>): Awaitable<Result> =>
  value instanceof Promise ? value.then(use) : use(value as Value);
