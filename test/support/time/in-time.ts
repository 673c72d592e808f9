/**
 * Milliseconds after which an operation counts as hanging. The limit is no requirement of speed, because a busy machine takes many times
 * as long as a quiet one. The limit is shorter than Jest's own, because Jest's message says less about the missing result.
 */
export const LIMIT_MS = 200_000;

/**
 * Milliseconds after which an answer is late, with `npm run prove`. Otherwise no answer is late, because the machine may be slow, and Jest
 * ends a test that hangs.
 */
export const IN_TIME = process.env.PROVE ? 1500 : Number.POSITIVE_INFINITY;

/** Milliseconds that tests wait until all nodes know a change: the bound itself with `npm run prove`, otherwise {@link LIMIT_MS}. */
export const EVERYWHERE = process.env.PROVE ? 2000 : LIMIT_MS;
