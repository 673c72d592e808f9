import { afterAll, beforeAll } from '@jest/globals';
import { startIdp, type TestIdp, type TestIdpOptions } from './idp.js';

/** One that others start and end. */
export type IdpInUse = Omit<TestIdp, 'close'>;

/**
 * An identity provider for the tests of a file, or of the `describe` around the call: started before them, closed after them.
 * @param options a function where something else has to be there first.
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
