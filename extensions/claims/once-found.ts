import type { Awaitable } from '../../lib/claims/contract.js';

/** Goes on with what a look-up found, at once when it is at hand: a promise for each claim of each token costs more than the claim. */
export const onceFound = <Found, Value>(found: Awaitable<Found>, read: (found: Found) => Value): Awaitable<Value> =>
  found instanceof Promise ? found.then(read) : read(found);

/** What is made of a list, kept as long as the list is: the groups of a user are the same array until one of them changes. */
export function keptWith<List extends object, Value>(make: (list: List) => Value): (list: List) => Value {
  const kept = new WeakMap<List, Value>();
  return (list) => {
    const value = kept.get(list) ?? make(list);
    kept.set(list, value);
    return value;
  };
}
