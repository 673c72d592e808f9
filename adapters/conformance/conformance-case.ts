/** One promise of a contract. It says what is wrong by throwing, as `node:assert` does, and needs no test framework. */
export interface ConformanceCase<Store> {
  /** `subject: what holds`; unique in its suite. */
  readonly name: string;
  /** @param store fresh and empty. */
  run(store: Store): Promise<void>;
}
