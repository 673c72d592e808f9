import type { Awaitable } from '../../lib/claims.js';

/** Goes on with what a look-up found, at once when it is at hand: a promise for each claim of each token costs more than the claim. */
export const onceFound = <Found, Value>(found: Awaitable<Found>, read: (found: Found) => Value): Awaitable<Value> =>
  found instanceof Promise ? found.then(read) : read(found);
