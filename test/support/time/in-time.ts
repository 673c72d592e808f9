/** Milliseconds after which an answer is late: where rounds are proved the issues' own bound, else the least that tells a hang from a busy machine. */
export const IN_TIME = process.env.PROVE ? 1500 : 20_000;

/** Milliseconds after which a change has to be known everywhere, in the same way. */
export const EVERYWHERE = process.env.PROVE ? 2000 : 20_000;
