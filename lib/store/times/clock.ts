/**
 * The time of the artifact store, which all nodes share. `store-time` converts the instants of its records.
 *
 * `clock` measures the difference between the clock of this node and the clock of the store every ten seconds. If the clock of the node is
 * set in between, the difference is corrected immediately. A node whose clock is too far off neither reads nor writes records.
 */
import { UnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';

/** Milliseconds between two look-ups. */
const INTERVAL_MS = 10_000;
/** Maximum error of a measurement, in milliseconds. A smaller difference counts as none. */
const NOISE_MS = 1000;
/** The smallest difference that is logged, in milliseconds. */
const TOLD_MS = 2000;
/** The largest difference with which a node serves, in milliseconds: half the lifetime of a code. */
const TOLERATED_MS = 30_000;
/** Maximum seconds between the clocks of two nodes, if each differs from the store's clock as much as is tolerated. */
export const MAX_APART_SECONDS = (2 * TOLERATED_MS) / 1000;
/** Maximum seconds between the estimates of the store's time by two nodes. */
export const SHARED_APART_SECONDS = (2 * NOISE_MS) / 1000;
/** Milliseconds after which an answer is too late for a measurement. */
const SLOW_MS = 1500;

export interface StoreClock {
  /**
   * Compares the clocks, and starts to compare them regularly. Resolves after the first comparison, because a node that does not know the time
   * may neither answer nor write.
   * @throws Error if the store did not answer soon enough. Call the method again.
   */
  start(): Promise<void>;
  /**
   * Returns the milliseconds by which this node's clock is ahead of the store's clock; 0 while they agree.
   * @throws UnavailableError `clock_skewed` when the difference is larger than tolerated.
   */
  ahead(): number;
  /** Returns this node's estimate of the store's time, in milliseconds since the epoch. */
  now(): number;
  stop(): void;
}

/** @param time returns the time of the store, in milliseconds since the epoch. */
export function createStoreClock(name: string, time: () => Promise<number>, logger: Logger, intervalMs = INTERVAL_MS): StoreClock {
  let measured: Measured = { ahead: 0, wall: Date.now(), steady: performance.now() };
  let measuring: Promise<void> | undefined;
  let level: Level = 'well';
  let timer: NodeJS.Timeout | undefined;

  const tell = (ahead: number): void => {
    const next = levelOf(ahead);
    if (next === level) return;
    level = next;
    const details = { store: name, aheadSeconds: Math.round(ahead / 100) / 10 };
    if (next === 'refusing')
      logger.error(details, 'this node refuses requests, because its clock and the clock of its store differ too much');
    else if (next === 'told') logger.warn(details, 'the clocks of this node and its store differ');
    else logger.info(details, 'the clocks of this node and its store agree again');
  };

  const compare = async (): Promise<void> => {
    try {
      measured = await lookUp(time);
    } finally {
      measuring = undefined;
      tell(measured.ahead + movedSince(measured));
    }
  };
  const measure = (): Promise<void> => {
    measuring ??= compare();
    return measuring;
  };
  // The outage is logged by the calls that need the store.
  const measureAgain = (): void => void measure().catch(() => undefined);

  /**
   * Compares the clocks again after this node's clock was set. Only callers that need the difference trigger the comparison. Otherwise each failed
   * measurement would start the next, without end.
   */
  const current = (): number => {
    const moved = movedSince(measured);
    if (moved !== 0) measureAgain();
    return measured.ahead + moved;
  };

  return {
    async start() {
      await measure();
      timer ??= setInterval(measureAgain, intervalMs).unref();
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
  /** Time of the measurement, by the clock that can be set and by the steady clock. */
  readonly wall: number;
  readonly steady: number;
}

/**
 * Returns by how much this node's clock was set since the measurement, by comparison with the steady clock. Returns 0 for a change that is
 * smaller than the noise of the clocks.
 */
function movedSince({ wall, steady }: Measured): number {
  const moved = Date.now() - wall - (performance.now() - steady);
  return Math.abs(moved) < NOISE_MS ? 0 : moved;
}

/** Returns the difference. @throws Error when the store did not answer soon enough; the errors of the store */
async function lookUp(time: () => Promise<number>): Promise<Measured> {
  const [wall, steady] = [Date.now(), performance.now()];
  const theirs = await time();
  const took = performance.now() - steady;
  if (took > SLOW_MS) throw new Error(`The store took ${Math.round(took)} ms to tell its time. Make it answer within ${SLOW_MS} ms.`);
  return { ahead: wall + took / 2 - theirs, wall, steady };
}
