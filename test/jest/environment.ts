/** The process itself as the environment of a test file, which leaves it as it was. */
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

  /** Jest asks for it before it measures coverage. */
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

/** Remembers what a test file may change of its process, and Jest for it. */
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
    // What a spy found in the place of a timer may have been a fake one.
    for (const [name, { value }] of values) if (Reflect.get(globalThis, name) !== value) Reflect.set(globalThis, name, value);
  };
}
