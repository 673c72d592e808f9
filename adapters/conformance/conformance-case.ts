/** One promise of a contract. The case throws if the promise is broken, as `node:assert` does, and needs no test framework. */
export interface ConformanceCase<Store> {
  /** `subject: what holds`. Unique in its suite. */
  readonly name: string;
  /**
   * Runs the case.
   * @param store fresh and empty.
   * @param peer another instance over the same data; the store itself if there is no other.
   */
  run(store: Store, peer: Store): Promise<void>;
}
