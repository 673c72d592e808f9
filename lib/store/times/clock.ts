/**
 * The time of the artifact store, which all nodes share: `store-time` converts the instants of its records.
 *
 * This file measures the difference between the clock of this node and the store's. It is measured every ten seconds, and follows at once when the
 * clock of the node is set in between. A node whose clock is too far off neither reads nor writes records.
 */
import { UnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';

/** Milliseconds between two look-ups. */
const INTERVAL_MS = 10_000;
/** Milliseconds that a look-up may be wrong by. A smaller difference counts as none. */
const NOISE_MS = 1000;
/** The difference that is logged, in milliseconds. */
const TOLD_MS = 2000;
/** The largest difference that a node serves with, in milliseconds: half of what a code lives. */
const TOLERATED_MS = 30_000;
/** Seconds between the clocks of two nodes that are each as far from the store's as is tolerated. */
export const MAX_APART_SECONDS = (2 * TOLERATED_MS) / 1000;
/** Milliseconds after which an answer is too old to measure by. */
const SLOW_MS = 1500;

export interface StoreClock {
  /** Compares the clocks, and goes on doing so. Resolves when they were compared, or could not be. */
  start(): Promise<void>;
  /**
   * Milliseconds that this node's clock is ahead of the store's; 0 while they agree.
   * @throws UnavailableError `clock_skewed` when it is more than is tolerated.
   */
  ahead(): number;
  /** The store's time in milliseconds since the epoch, as far as this node knows it. */
  now(): number;
  stop(): void;
}

/** @param time what the store says its time is, in milliseconds since the epoch. */
export function createStoreClock(name: string, time: () => Promise<number>, logger: Logger, intervalMs = INTERVAL_MS): StoreClock {
  let measured: Measured = { ahead: 0, wall: Date.now(), steady: performance.now() };
  let measuring = false;
  let level: Level = 'well';
  let timer: NodeJS.Timeout | undefined;

  const tell = (ahead: number): void => {
    const next = levelOf(ahead);
    if (next === level) return;
    level = next;
    const details = { store: name, aheadSeconds: Math.round(ahead / 100) / 10 };
    if (next === 'refusing')
      logger.error(details, 'the clocks of this node and its store are too far apart: it serves nothing until they agree');
    else if (next === 'told') logger.warn(details, 'the clocks of this node and its store differ');
    else logger.info(details, 'the clocks of this node and its store agree again');
  };

  const measure = async (): Promise<void> => {
    if (measuring) return;
    measuring = true;
    measured = (await lookUp(time)) ?? measured;
    measuring = false;
    tell(measured.ahead + movedSince(measured));
  };

  /** A clock that was set is compared anew. Only who asks has that done: a look-up that fails would else be followed by the next for ever. */
  const current = (): number => {
    const moved = movedSince(measured);
    if (moved !== 0) void measure();
    return measured.ahead + moved;
  };

  return {
    async start() {
      await measure();
      timer ??= setInterval(() => void measure(), intervalMs).unref();
    },
    ahead() {
      const ahead = current();
      if (Math.abs(ahead) > TOLERATED_MS) {
        tell(ahead);
        throw new UnavailableError('clock_skewed', { store: name }, {});
      }
      return counted(ahead);
    },
    now: () => Date.now() - counted(current()),
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

const counted = (ahead: number): number => (Math.abs(ahead) < NOISE_MS ? 0 : Math.round(ahead));

type Level = 'well' | 'told' | 'refusing';

const levelOf = (ahead: number): Level => {
  if (Math.abs(ahead) > TOLERATED_MS) return 'refusing';
  return Math.abs(ahead) >= TOLD_MS ? 'told' : 'well';
};

interface Measured {
  readonly ahead: number;
  /** When it was measured, by the clock that can be set and by the one that cannot. */
  readonly wall: number;
  readonly steady: number;
}

/** By how much this node's clock was set since; 0 for less than the clocks' noise. The steady clock tells. */
function movedSince({ wall, steady }: Measured): number {
  const moved = Date.now() - wall - (performance.now() - steady);
  return Math.abs(moved) < NOISE_MS ? 0 : moved;
}

/** Undefined when the store did not answer soon enough to tell. */
async function lookUp(time: () => Promise<number>): Promise<Measured | undefined> {
  const [wall, steady] = [Date.now(), performance.now()];
  try {
    const theirs = await time();
    const took = performance.now() - steady;
    return took > SLOW_MS ? undefined : { ahead: wall + took / 2 - theirs, wall, steady };
  } catch {
    // The outage is logged by the calls that need the store.
    return undefined;
  }
}
