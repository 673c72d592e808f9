/**
 * Milliseconds after which something hangs. No test may need to be fast, so this is no bound that anything has to keep: a busy machine takes many times
 * as long as a quiet one. It is shorter than Jest's own limit, which says less about what did not come.
 */
export const LIMIT_MS = 200_000;

/** Milliseconds after which an answer is late, where rounds are proved. Elsewhere no answer is: the machine may be slow, and a test that hangs ends by Jest. */
export const IN_TIME = process.env.PROVE ? 1500 : Number.POSITIVE_INFINITY;

/** Milliseconds that tests wait for a change to be known everywhere: the bound itself where rounds are proved, else {@link LIMIT_MS}. */
export const EVERYWHERE = process.env.PROVE ? 2000 : LIMIT_MS;
