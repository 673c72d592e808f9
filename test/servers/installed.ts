/** Suites that need a program or a file which not every machine has. */
import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';
import { findServer } from '../support/stores/postgres-server.js';
import { findProgram } from './programs.js';

/**
 * Registers a suite. If something is missing, the suite is skipped with a message; with `CI=true` the suite runs and fails.
 * @param missing the reason why the suite cannot run, if there is one
 */
export function describeUnless(missing: string | undefined, name: string, suite: () => void): void {
  if (missing === undefined || process.env.CI === 'true') {
    describe(name, suite);
    return;
  }
  process.stderr.write(`\n!! SKIPPED "${name}": ${missing}.\n\n`);
  describe.skip(name, suite);
}

const isThere = (needed: string): boolean => (needed.includes('/') ? existsSync(needed) : findProgram([needed]) !== undefined);

/** Registers a suite that needs Debian packages. @param needed by name of the package: a program on PATH, or the path of a file */
export function describeInstalled(name: string, needed: Readonly<Record<string, string>>, suite: () => void): void {
  const missing = Object.keys(needed).filter((debianPackage) => !isThere(needed[debianPackage] ?? ''));
  describeUnless(missing.length === 0 ? undefined : `not installed: ${missing.join(', ')} (Debian packages)`, name, suite);
}

/** Registers a suite that starts its own Redis servers. */
export const describeRedis = (name: string, suite: () => void): void => describeInstalled(name, { 'redis-server': 'redis-server' }, suite);

/** Registers a suite that starts its own PostgreSQL servers. */
export const describePostgres = (name: string, suite: () => void): void =>
  describeUnless(findServer() === undefined ? 'not installed: postgresql (Debian package)' : undefined, name, suite);
