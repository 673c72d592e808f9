/** Values that may be promises, and functions that wait only for promises. */

/** A value or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Returns whether the value is a promise. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** Returns the result of `next`. Calls `next` immediately if the value is not a promise, because a promise costs more than most of the work behind it. */
export const onceThere = <T, U>(value: T | PromiseLike<T>, next: (value: T) => U | Promise<U>): U | Promise<U> =>
  isPromise(value) ? Promise.resolve(value).then(next) : next(value);

/** Returns all values, immediately if none is a promise. `Promise.all` would create two promises even for plain values. */
export function allOf<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | Promise<readonly T[]> {
  const pending = values.filter(isPromise).length;
  if (pending === 0) return values as readonly T[];
  return new Promise((resolve, reject) => {
    const settled = [...values] as T[];
    let left = pending;
    for (const [index, value] of values.entries()) {
      if (!isPromise(value)) continue;
      value.then((there) => {
        settled[index] = there;
        left -= 1;
        if (left === 0) resolve(settled);
      }, reject);
    }
  });
}
