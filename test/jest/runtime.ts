/**
 * Runs test files in Node itself, in place of Jest's own runtime: that one gives each file a realm, in which it loads some 800 modules anew.
 * What a test file imports is loaded once for each worker, and all its files share it.
 */
import asyncHooks from 'node:async_hooks';
import { createRequire, register } from 'node:module';
import { setPriority } from 'node:os';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { shouldInstrument } from '@jest/transform';
import { startCoverage, takeCoverage } from './coverage.js';
import { type Globals, setGlobals } from './globals.js';
import { createMocks } from './mocks.js';
import { giveKeys } from './rsa-keys.js';

type Config = JestEnvironmentConfig['projectConfig'];
type CoverageOptions = Parameters<typeof shouldInstrument>[1];

register('./hooks.js', import.meta.url);
giveKeys(0);

// After the servers of the run, which are given little time for each answer, and work for all test files.
setPriority(5);

// A worker whose Jest was killed would go on with its test. A listener for `disconnect` would keep every worker from ending by itself.
if (process.send !== undefined) setInterval(() => process.connected || process.kill(process.pid, 'SIGKILL'), 1000).unref();

const require = createRequire(import.meta.url);
/** Enough to see which test an error is of. */
const STACK_FRAMES = 20;
let imports = 0;

/**
 * What Jest keeps of the test that runs, of which there is one at a time. The storages that Node follows through all promises stay for good, one for each
 * test file, and slow down every promise after it.
 */
class OneAtATime {
  #store: unknown;

  getStore(): unknown {
    return this.#store;
  }

  async run<T>(store: unknown, run: () => Promise<T>): Promise<T> {
    const before = this.#store;
    this.#store = store;
    try {
      return await run();
    } finally {
      this.#store = before;
    }
  }
}

export default class NodeRuntime {
  readonly #config: Config;
  readonly #environment: JestEnvironment;
  readonly #coverageOptions: CoverageOptions;
  #covered: Awaited<ReturnType<typeof takeCoverage>> = [];

  constructor(
    config: Config,
    environment: JestEnvironment,
    _resolver: unknown,
    _transformer: unknown,
    _sources: unknown,
    coverageOptions: CoverageOptions,
  ) {
    this.#config = config;
    this.#environment = environment;
    this.#coverageOptions = coverageOptions;
  }

  setGlobalsForRuntime(globals: Globals): void {
    setGlobals(globals, createMocks(this.#environment));
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(path: string): Promise<void> {
    imports += 1;
    // Jest sets a hundred before each file, and maps each frame to its source.
    Error.stackTraceLimit = STACK_FRAMES;
    await import(`${pathToFileURL(path)}?${imports}`);
  }

  /** Jest's own modules that hold the state of one test file. */
  requireInternalModule(path: string): unknown {
    delete require.cache[path];
    // A getter, as Node 24 has it, takes no assignment.
    const { AsyncLocalStorage } = Object.getOwnPropertyDescriptors(asyncHooks);
    Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { value: OneAtATime, configurable: true, enumerable: true, writable: true });
    try {
      return require(path);
    } finally {
      Object.defineProperty(asyncHooks, 'AsyncLocalStorage', AsyncLocalStorage);
    }
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  collectV8Coverage(): Promise<void> {
    return startCoverage();
  }

  async stopCollectingV8Coverage(): Promise<void> {
    this.#covered = await takeCoverage();
  }

  getAllV8CoverageInfoCopy() {
    return this.#covered
      .filter(
        ({ url }) => !relative(this.#config.rootDir, url).startsWith('..') && shouldInstrument(url, this.#coverageOptions, this.#config),
      )
      .map((result) => ({ result }));
  }

  getAllCoverageInfoCopy(): undefined {}

  getSourceMaps(): null {
    return null;
  }

  resetModules(): void {}
  clearAllMocks(): void {}
  resetAllMocks(): void {}
  restoreAllMocks(): void {}
  enterTestCode(): void {}
  leaveTestCode(): void {}
  teardown(): void {}
}
