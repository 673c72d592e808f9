/**
 * POSTs with an `Idempotency-Key` whose write a store made before it failed: the retry is answered as the first request would have been, and the request takes
 * effect once. Over stores in memory: every POST.
 */
import { testEffects } from './effects.js';

testEffects();
