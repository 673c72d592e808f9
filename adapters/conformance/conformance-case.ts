/** One promise of a contract. If the promise is broken, the case throws as `node:assert` does. A case needs no test framework. */
export interface ConformanceCase<Store> {
  /** Name of the case, unique in its suite: `subject: what holds`. */
  readonly name: string;
  /**
   * Runs the case.
   * @param store fresh and empty.
   * @param peer another instance over the same data; the store itself if there is no other.
   */
  run(store: Store, peer: Store): Promise<void>;
}
