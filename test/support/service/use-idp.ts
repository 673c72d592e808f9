import { afterAll, beforeAll } from '@jest/globals';
import { startIdp, type TestIdp, type TestIdpOptions } from './idp.js';

/** Identity provider that {@link useIdp} starts and closes. */
export type IdpInUse = Omit<TestIdp, 'close'>;

/**
 * Starts an identity provider before the tests of a file, or of the `describe` around the call, and closes it after the tests.
 * @param options a function if something else must start first.
 */
export function useIdp(options: TestIdpOptions | (() => TestIdpOptions | Promise<TestIdpOptions>) = {}): IdpInUse {
  let started: TestIdp | undefined;
  beforeAll(async () => {
    started = await startIdp(typeof options === 'function' ? await options() : options);
  });
  afterAll(() => started?.close());
  const running = (): TestIdp => {
    if (!started) throw new Error('It is started before the first test, and can be asked in tests and hooks alone.');
    return started;
  };
  return {
    get idp() {
      return running().idp;
    },
    get issuer() {
      return running().issuer;
    },
    get logged() {
      return running().logged;
    },
    get lines() {
      return running().lines;
    },
    get server() {
      return running().server;
    },
  };
}
