/** Takes or renews a lease for this many milliseconds. Returns false while another node has the lease. 0 gives the lease back. */
export type Lease = (milliseconds: number) => Promise<boolean>;

/** Minimum milliseconds of a lease. If a node dies, its lease lasts up to this long. */
export const LEASE_MS = 10_000;
/** Renewals during the term of a lease. */
const RENEWALS = 10;
const MOST_MS_BETWEEN_RENEWALS = 5_000;

export interface TenureParts {
  readonly lease: Lease | undefined;
  /** Milliseconds of the lease. */
  readonly term: number;
  /** Signal that is aborted when the work ends on this node. */
  readonly ending: AbortSignal;
}

/** The lease of background work, while this node has it. Work without a lease runs on every node. */
export class Tenure {
  readonly #lease: Lease | undefined;
  readonly #term: number;
  readonly #renewal: number;
  #renewedAt = Number.NEGATIVE_INFINITY;
  readonly #ending: AbortSignal;
  #over = new AbortController();
  #signal: AbortSignal;
  #timer: NodeJS.Timeout | undefined;

  constructor({ lease, term, ending }: TenureParts) {
    this.#lease = lease;
    this.#term = term;
    this.#renewal = Math.min(term / RENEWALS, MOST_MS_BETWEEN_RENEWALS);
    this.#ending = ending;
    this.#signal = AbortSignal.any([ending, this.#over.signal]);
  }

  /** Returns the signal that is aborted when the work ends, or when another node may have the lease. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Takes the lease, or renews it if the last renewal was long enough ago. */
  async isOurs(): Promise<boolean> {
    if (!this.#lease || performance.now() - this.#renewedAt < this.#renewal) return true;
    const askedAt = performance.now();
    const isOurs = await this.#lease(this.#term).catch((error: unknown) => {
      this.#end();
      throw error;
    });
    if (!isOurs) this.#end();
    else {
      this.#renewedAt = askedAt;
      if (this.#over.signal.aborted) this.#begin();
    }
    return isOurs;
  }

  /** Renews the lease during the work. */
  renewWhile(isBusy: () => boolean): void {
    if (!this.#lease || this.#timer) return;
    this.#timer = setInterval(() => {
      if (isBusy() && !this.#over.signal.aborted) this.isOurs().catch(() => {});
      else this.stopRenewing();
    }, this.#renewal).unref();
  }

  stopRenewing(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Gives the lease back, so that another node does not have to wait for the lease to expire. */
  async giveBack(): Promise<void> {
    this.stopRenewing();
    if (this.#renewedAt === Number.NEGATIVE_INFINITY) return;
    this.#end();
    await this.#lease?.(0).catch(() => {});
  }

  #begin(): void {
    this.#over = new AbortController();
    this.#signal = AbortSignal.any([this.#ending, this.#over.signal]);
  }

  #end(): void {
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    this.#over.abort();
  }
}
