import type { ConformanceCase } from './conformance-case.js';

/** `test` or `it` of a test framework, such as Jest, Vitest, Mocha or `node:test`. */
export interface Test {
  (name: string, run: () => Promise<void>): unknown;
  skip(name: string, run: () => Promise<void>): unknown;
}

/** Registers a suite: `describe` of a test framework. */
export type Describe = (name: string, register: () => void) => unknown;

/** A promise that a store does not keep. */
export interface Skip {
  /** Name of the case. */
  readonly case: string;
  /** Reason, for developers who choose a store. */
  readonly reason: string;
}

export interface ConformanceOptions<Store = never> {
  /** Returns another instance over the same data, as another node would have it. Required for every store that outlives its node. */
  readonly peer?: (store: Store) => Promise<Store>;
  readonly skip?: readonly Skip[];
  /** @default the global `test` or `it` */
  readonly test?: Test;
  /** @default the global `describe` */
  readonly describe?: Describe;
}

interface Closable {
  close(): Promise<void>;
}

export function registerCases<Store extends Closable>(
  title: string,
  cases: readonly ConformanceCase<Store>[],
  make: () => Promise<Store>,
  options: ConformanceOptions<Store>,
): void {
  const reasons = checkSkips(cases, options.skip ?? []);
  const test = options.test ?? globalFunction<Test>('test') ?? globalFunction<Test>('it');
  const describe = options.describe ?? globalFunction<Describe>('describe');
  if (test === undefined || describe === undefined) {
    throw new TypeError('There is no global describe and test. Pass those of your test framework as options.');
  }
  describe(title, () => {
    for (const conformanceCase of cases) {
      const { name } = conformanceCase;
      const run = () => runOn(make, options.peer, conformanceCase);
      const reason = reasons.get(name);
      if (reason === undefined) test(name, run);
      else test.skip(`${name} (skipped: ${reason})`, run);
    }
  });
}

async function runOn<Store extends Closable>(
  make: () => Promise<Store>,
  makePeer: ((store: Store) => Promise<Store>) | undefined,
  { run }: ConformanceCase<Store>,
): Promise<void> {
  const store = await make();
  try {
    const peer = (await makePeer?.(store)) ?? store;
    try {
      await run(store, peer);
    } finally {
      if (peer !== store) await peer.close();
    }
  } finally {
    await store.close();
  }
}

function checkSkips(cases: readonly ConformanceCase<never>[], skips: readonly Skip[]): ReadonlyMap<string, string> {
  const names = new Set(cases.map(({ name }) => name));
  for (const { case: name, reason } of skips) {
    if (!names.has(name)) throw new TypeError(`There is no conformance case '${name}' to skip. Name a case of the suite.`);
    if (reason.trim() === '') throw new TypeError(`The skip of '${name}' has no written reason. Give one in reason.`);
  }
  return new Map(skips.map(({ case: name, reason }) => [name, reason]));
}

const globalFunction = <F>(name: string): F | undefined => {
  const value: unknown = Reflect.get(globalThis, name);
  return typeof value === 'function' ? (value as F) : undefined;
};
