/** The process itself as the environment of a test file. The end of the environment restores the process. */
import type { EnvironmentContext, JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export default class ProcessEnvironment {
  readonly global = globalThis as unknown as JestEnvironment['global'];
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimersModern: ModernFakeTimers;
  readonly fakeTimers = null;
  readonly #leave = keepProcess();

  constructor({ projectConfig }: JestEnvironmentConfig, _context: EnvironmentContext) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** Returns no context. Jest calls this method before it measures coverage. */
  getVmContext(): null {
    return null;
  }

  async setup(): Promise<void> {}

  handleTestEvent({ name }: { readonly name: string }): void {
    if (name === 'run_finish') this.fakeTimersModern.useRealTimers(); // Jest looks at the clock before the end of the environment
  }

  async teardown(): Promise<void> {
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    this.#leave();
  }
}

/** Remembers the parts of the process that a test file, or Jest for it, may change. Returns a function that restores them. */
function keepProcess(): () => void {
  const { exit } = process;
  const env = { ...process.env };
  const folder = process.cwd();
  const names = new Set(Reflect.ownKeys(globalThis));
  const values = Object.entries(Object.getOwnPropertyDescriptors(globalThis)).filter(([, { writable }]) => writable);
  return () => {
    process.exit = exit;
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
    Object.assign(process.env, env);
    process.chdir(folder);
    for (const name of Reflect.ownKeys(globalThis)) if (!names.has(name)) Reflect.deleteProperty(globalThis, name);
    // A spy on a timer restores the timer that it found, which may have been a fake one.
    for (const [name, { value }] of values) if (Reflect.get(globalThis, name) !== value) Reflect.set(globalThis, name, value);
  };
}
