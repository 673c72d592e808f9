/**
 * Runs test files in Node itself, in place of Jest's own runtime. Jest's runtime gives each file a realm, and loads some 800 modules again
 * in each realm. Here each worker loads a module once, and all its test files share the module.
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

// Tests come after the servers of the run, which work for all test files and have little time for each answer.
setPriority(5);

// A worker whose Jest was killed would go on with its test. A listener for `disconnect` would keep every worker from ending by itself.
if (process.send !== undefined) setInterval(() => process.connected || process.kill(process.pid, 'SIGKILL'), 1000).unref();

const require = createRequire(import.meta.url);
/** Number of frames that shows which test an error belongs to. */
const STACK_FRAMES = 20;
let imports = 0;

/**
 * Storage for Jest's state of the running test. One test runs at a time. Node follows its own storages through all promises. Such
 * storages stay for good, one for each test file, and slow down every later promise.
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
    // Jest sets the limit to a hundred before each file, and maps each frame to its source.
    Error.stackTraceLimit = STACK_FRAMES;
    await import(`${pathToFileURL(path)}?${imports}`);
  }

  /** Loads a module of Jest that holds the state of one test file, again for each file. */
  requireInternalModule(path: string): unknown {
    delete require.cache[path];
    // Node 24 has a getter here, and a getter takes no assignment.
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
