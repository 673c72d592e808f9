/**
 * Background work: what the service does without a request. The service dispatches events, sends deliveries, removes records, sweeps expired rows, rotates
 * signing keys, and runs jobs of extensions.
 *
 * `rounds` is the one engine for all background work. A round starts after an interval, or at a nudge. If the work has a lease (`tenure`), it runs on one
 * node at a time. Single rows may be worked on outside the rounds (`row-attempts`). Failed work is retried, with a longer wait each time (`back-off`). A
 * failure is logged once, when the work begins to fail. `health()` names the failure until the work succeeds.
 */
import type { Awaitable } from '../awaitable.js';
import { isToldAlready } from '../errors.js';
import type { Logger } from '../logger.js';
import { waitAtMost } from '../times/at-most.js';
import { doubledWait } from './back-off.js';
import { type Pause, RowAttempts, type WorkedRow } from './row-attempts.js';
import { LEASE_MS, type Lease, Tenure } from './tenure.js';

/** Attempts at single rows, outside the rounds. */
export interface Attempts {
  /** Returns whether this node may work on the row. False while this node works on the row, and while the row is set aside. */
  isReady(row: WorkedRow): boolean;
  /** Returns whether the maximum of concurrent rows is reached. */
  isFull(): boolean;
  /**
   * Starts work on a row that is ready, as soon as there is room. If the work rejects, the row is set aside for longer each time.
   * @param work may return how long to set the row aside, although nothing failed
   * @returns whether the work started
   */
  attempt(row: WorkedRow, work: () => Promise<Pause | undefined>): Promise<boolean>;
  /** Resolves when no work on a row runs. */
  idle(): Promise<void>;
}

export interface Round extends Attempts {
  /** Signal that is aborted when the service closes, or when another node may have the lease. */
  readonly signal: AbortSignal;
  /** Renews the lease if it is due. Returns false if the round has to end, because the service closes or another node has the lease. */
  goesOn(): Promise<boolean>;
}

export interface RoundsOptions {
  /** Name of the work in `health()`. */
  readonly name: string;
  /** Milliseconds from the end of a round to the next round. */
  readonly every: number;
  /** Milliseconds from the start to the first round. @default 0 */
  readonly first?: number;
  /** The lease of the work, renewed during the work, and given back at the end. @default every node does the work */
  readonly lease?: Lease;
  /** Milliseconds of the lease. @default one and a half intervals, so that one node does all rounds, and at least ten seconds */
  readonly leaseMs?: number;
  /** Returns whether there is any work. Called before the lease is taken. @default yes */
  readonly isDue?: () => Awaitable<boolean>;
  /** Runs one round. @returns milliseconds to the next round, if they differ from the interval */
  readonly run: (round: Round) => Awaitable<number | undefined>;
  /** Maximum rows at the same time. @default 1 */
  readonly atOnce?: number;
  /**
   * Whether the end waits for a round that does all remaining work. @default no: a running round is aborted, and another node or the next start continues
   */
  readonly isDrained?: boolean;
  /** Maximum milliseconds that the end waits for running work. @default no maximum */
  readonly graceMs?: number;
  readonly logger: Pick<Logger, 'error'>;
  /** Log messages for a failed round, and for a failed row. */
  readonly messages: { readonly round: string; readonly row?: string };
  /** Further fields of the log lines. */
  readonly fields?: Readonly<Record<string, string>>;
}

export interface Rounds extends Attempts {
  start(): void;
  /** Starts a round now, or after the running round. While rounds fail, the next round starts only after its wait. */
  nudge(): void;
  /** Returns current failures. */
  problems(): readonly WorkProblem[];
  /** Ends the rounds: waits for running work, stops the timers, and gives the lease back. */
  close(): Promise<void>;
}

export interface WorkProblem {
  readonly code: 'work_failing';
  /** Name of the work. */
  readonly collection: string;
  /** Id of the row. Empty if rounds fail. */
  readonly id: string;
}

/** Maximum milliseconds between two rounds that fail, if the interval is shorter. */
const MOST_BACK_OFF_MS = 5_000;

/** Creates background work. The work does nothing before its start. */
export const rounds = (options: RoundsOptions): Rounds => new Engine(options);

class Engine implements Rounds {
  readonly #options: RoundsOptions;
  readonly #tenure: Tenure;
  readonly #rows: RowAttempts;
  readonly #closing = new AbortController();
  #state: 'new' | 'open' | 'draining' | 'closed' = 'new';
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isNudged = false;
  #failures = 0;

  constructor(options: RoundsOptions) {
    const { lease, every, leaseMs = Math.max(LEASE_MS, every * 1.5), atOnce = 1, logger, messages, fields } = options;
    this.#options = options;
    this.#tenure = new Tenure({ lease, term: leaseMs, ending: this.#closing.signal });
    const tell = (err: unknown, { id }: WorkedRow) => logger.error({ err, ...fields, record: id }, messages.row ?? messages.round);
    this.#rows = new RowAttempts({ atOnce, every, tell });
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.#next(this.#options.first ?? 0);
  }

  nudge(): void {
    if (this.#isNudged || this.#state === 'new' || this.#state === 'closed') return;
    this.#isNudged = true;
    if (this.#state === 'open' && this.#running === undefined && this.#failures === 0) this.#next(0);
  }

  isReady(row: WorkedRow): boolean {
    return this.#rows.isReady(row);
  }

  isFull(): boolean {
    return this.#rows.areFull;
  }

  async attempt(row: WorkedRow, work: () => Promise<Pause | undefined>): Promise<boolean> {
    while (this.#rows.areFull) await this.#rows.oneEnded();
    if (this.#state === 'closed' || !this.#rows.begin(row, work)) return false;
    this.#tenure.renewWhile(this.#isBusy);
    return true;
  }

  idle(): Promise<void> {
    return this.#rows.ended();
  }

  problems(): readonly WorkProblem[] {
    const ids = [...(this.#failures > 0 ? [''] : []), ...this.#rows.failing()];
    return ids.map((id) => ({ code: 'work_failing', collection: this.#options.name, id }));
  }

  async close(): Promise<void> {
    const { isDrained = false } = this.#options;
    clearTimeout(this.#timer);
    if (this.#state === 'open' && isDrained) await this.#drain();
    this.#state = 'closed';
    this.#closing.abort();
    await this.#settled();
    await this.#tenure.giveBack();
  }

  async #drain(): Promise<void> {
    this.#state = 'draining';
    await this.#running;
    do {
      await this.#begin();
      await this.#settled();
    } while (this.#isNudged && this.#failures === 0);
  }

  /** Waits for running work, within the allowed time. */
  async #settled(): Promise<void> {
    const { graceMs } = this.#options;
    const all = Promise.all([this.#running, this.#rows.ended()]);
    await (graceMs === undefined ? all : waitAtMost(graceMs, all));
  }

  #isBusy = (): boolean => this.#running !== undefined || this.#rows.areUnderWay;

  #next(wait: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#begin(), wait).unref();
  }

  #begin(): Promise<void> {
    this.#running = this.#round().then((wait) => {
      this.#running = undefined;
      if (this.#state === 'open') this.#next(wait);
    });
    return this.#running;
  }

  /** @returns milliseconds to the next round */
  async #round(): Promise<number> {
    const { every, logger, messages, fields } = this.#options;
    this.#isNudged = false;
    try {
      const wait = await this.#run();
      this.#failures = 0;
      return this.#isNudged ? 0 : (wait ?? every);
    } catch (err) {
      const isNews = this.#failures === 0 && !isToldAlready(err);
      // An outage has its own log line and its own problem in `health()`. Any other failure is logged the first time.
      if (isNews) logger.error({ err, ...fields }, messages.round);
      if (isNews || this.#failures > 0) this.#failures += 1;
      return doubledWait(every, this.#failures, MOST_BACK_OFF_MS);
    }
  }

  async #run(): Promise<number | undefined> {
    const { isDue, run } = this.#options;
    if ((isDue && !(await isDue())) || !(await this.#tenure.isOurs())) return undefined;
    this.#tenure.renewWhile(this.#isBusy);
    const round: Round = {
      signal: this.#tenure.signal,
      goesOn: async () => !this.#closing.signal.aborted && (await this.#tenure.isOurs()),
      isReady: (row) => this.isReady(row),
      isFull: () => this.isFull(),
      attempt: (row, work) => this.attempt(row, work),
      idle: () => this.idle(),
    };
    return run(round);
  }
}
