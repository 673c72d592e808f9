/** Suites that need a server which not every machine has. */
import { describe, test } from '@jest/globals';
import type { ServerVariable } from './variables.js';

/**
 * Registers a suite over a server. Without the server, a skipped test says so; with `CI=true` that test fails. The test file has to name
 * the variable, because servers are started for the files that name them.
 */
export function withServer(variable: ServerVariable, suite: (url: string) => void): void {
  const url = process.env[variable];
  if (url) {
    suite(url);
    return;
  }
  describe(`needs ${variable}`, () => {
    const title = 'there is no such server: the first lines of the run say why';
    if (process.env.CI !== 'true') test.skip(title, () => {});
    else
      test(title, () => {
        throw new Error(`${variable} is not set.`);
      });
  });
}

/** Returns whether the run itself started the server. If the environment names the server, this machine may be unable to start one. */
export const isStarted = (variable: ServerVariable): boolean => process.env.KEPT_SERVERS?.split(',').includes(variable) === true;
