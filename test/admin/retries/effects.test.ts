/**
 * POSTs with an `Idempotency-Key` whose store made a write and then failed. The retry gets the answer of the first request, and the request
 * takes effect once. Every POST is tried over stores in memory.
 */
import { testEffects } from './effects.js';

testEffects();
