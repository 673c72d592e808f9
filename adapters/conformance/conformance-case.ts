/** One promise of a contract. It throws when the promise is broken, as `node:assert` does, and needs no test framework. */
export interface ConformanceCase<Store> {
  /** `subject: what holds`; unique in its suite. */
  readonly name: string;
  /**
   * @param store fresh and empty.
   * @param peer another instance over what the store keeps; the store itself when it has no other.
   */
  run(store: Store, peer: Store): Promise<void>;
}
