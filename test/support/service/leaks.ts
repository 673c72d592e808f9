/** Secrets that no answer and no log line may contain. */
import { expect } from '@jest/globals';
import type { IdpInUse } from './use-idp.js';

/** Stack frames, files, drivers. Paths of the service itself are no leak. */
const internals = /\bat (?:async )?[\w.<>[\] ]+ \(|node:internal|node_modules|\.[jt]s:\d+|\/(?:lib|dist|home|work|tmp|usr)\/[\w-]+\//;

/** Checks that a text has no stack, no file and none of the secrets. */
export function expectNothingInternal(text: string, secrets: readonly string[] = []): void {
  expect(text).not.toMatch(internals);
  for (const secret of secrets) expect(text).not.toContain(secret);
}

/**
 * Checks that nothing failed, and that no log line of any level has one of the secrets. The log may say that requests look as if a proxy
 * changed them.
 */
export function expectQuietLog({ logged, lines }: IdpInUse, secrets: readonly string[] = []): void {
  expect(logged.filter(([, message]) => !String(message).startsWith('requests arrive'))).toEqual([]);
  const text = JSON.stringify(lines, (_key, value) => (value instanceof Error ? `${value.stack} ${JSON.stringify(value)}` : value));
  for (const secret of secrets) expect(text).not.toContain(secret);
}
