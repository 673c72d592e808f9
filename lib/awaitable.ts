/** A value or a promise of it, and what waits only where there is a promise. */

/** A value or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Whether there is something to wait for. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** What `next` makes of a value: at once where the value is there, because a promise costs more than most of what waits for one. */
export const onceThere = <T, U>(value: T | PromiseLike<T>, next: (value: T) => U | Promise<U>): U | Promise<U> =>
  isPromise(value) ? Promise.resolve(value).then(next) : next(value);

/** The values once all are there; at once when they are. `Promise.all` makes two promises even of what is no promise. */
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
