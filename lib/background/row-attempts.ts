import { isToldAlready } from '../errors.js';
import { withJitter } from './back-off.js';

/** A row to work on. If it has a version, a change of the row ends a pause. */
export interface WorkedRow {
  readonly id: string;
  readonly version?: number;
}

/** Time for which a row is set aside. */
export interface Pause {
  /** Current version of the row. @default the version before the work */
  readonly version?: number | undefined;
  /** Milliseconds for which the row is set aside. */
  readonly forMs: number;
}

interface Kept {
  readonly version: number | undefined;
  readonly until: number;
  /** Consecutive failures; 0 for a pause that the work asked for. */
  readonly failures: number;
}

/** Milliseconds before the second attempt, the third attempt, and so on. The last value is for all further attempts, for which the row is parked. */
const BACK_OFF_MS = [1_000, 5_000, 25_000, 125_000, 900_000];
/** Maximum rows in memory. */
const REMEMBERED = 10_000;
/** Maximum failing rows that are named. */
const NAMED = 1_000;

/** Milliseconds, in addition to two intervals, after which a failing row that was not retried counts as removed. */
const GONE_MS = 60_000;

export interface RowAttemptsParts {
  /** Maximum rows at the same time. */
  readonly atOnce: number;
  /** Milliseconds between two rounds. */
  readonly every: number;
  /** Reports the first failure of a row. */
  readonly tell: (error: unknown, row: WorkedRow) => void;
}

/**
 * Attempts at single rows, some of them at the same time. A row that fails is set aside for longer each time. The failure is logged once until an attempt
 * succeeds. An outage is not the row's fault, so the row is retried at the next round.
 */
export class RowAttempts {
  readonly #atOnce: number;
  readonly #goneAfter: number;
  readonly #tell: RowAttemptsParts['tell'];
  readonly #working = new Map<string, Promise<void>>();
  readonly #pauses = new Map<string, Kept>();

  constructor({ atOnce, every, tell }: RowAttemptsParts) {
    this.#atOnce = atOnce;
    this.#goneAfter = GONE_MS + 2 * every;
    this.#tell = tell;
  }

  get areUnderWay(): boolean {
    return this.#working.size > 0;
  }

  get areFull(): boolean {
    return this.#working.size >= this.#atOnce;
  }

  /** Returns whether this node may work on the row. False while work on the row runs here, and while the row is set aside. */
  isReady({ id, version }: WorkedRow): boolean {
    const pause = this.#pauses.get(id);
    const isPaused = pause !== undefined && pause.version === version && pause.until > performance.now();
    return !isPaused && !this.#working.has(id);
  }

  /** Starts an attempt if the row is ready. @returns whether the attempt started */
  begin(row: WorkedRow, work: () => Promise<Pause | undefined>): boolean {
    if (!this.isReady(row)) return false;
    // An error before the first promise counts like any other failure.
    const attempt = (async () => work())()
      .then(
        (pause) => this.#succeeded(row, pause),
        (error: unknown) => this.#failed(row, error),
      )
      .finally(() => this.#working.delete(row.id));
    this.#working.set(row.id, attempt);
    return true;
  }

  /** Resolves when one of the attempts has ended. */
  async oneEnded(): Promise<void> {
    await Promise.race(this.#working.values());
  }

  /** Resolves when all attempts have ended. */
  async ended(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  /** Returns ids of rows that failed and have not succeeded since. */
  failing(): readonly string[] {
    const gone = performance.now() - this.#goneAfter;
    for (const [id, { until }] of this.#pauses) if (until < gone && !this.#working.has(id)) this.#pauses.delete(id);
    return [...this.#pauses].flatMap(([id, { failures }]) => (failures > 0 ? [id] : [])).slice(0, NAMED);
  }

  #succeeded({ id, version }: WorkedRow, pause: Pause | undefined): void {
    this.#pauses.delete(id);
    if (pause) this.#keep(id, { version: pause.version ?? version, until: performance.now() + pause.forMs, failures: 0 });
  }

  #failed(row: WorkedRow, error: unknown): void {
    if (isToldAlready(error)) return;
    const { id, version } = row;
    const failures = (this.#pauses.get(id)?.failures ?? 0) + 1;
    if (failures === 1) this.#tell(error, row);
    const wait = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length) - 1] as number;
    this.#keep(id, { version, until: performance.now() + withJitter(wait), failures });
  }

  #keep(id: string, pause: Kept): void {
    this.#pauses.delete(id);
    this.#pauses.set(id, pause);
    const [oldest] = this.#pauses.keys();
    if (this.#pauses.size > REMEMBERED && oldest !== undefined) this.#pauses.delete(oldest);
  }
}
