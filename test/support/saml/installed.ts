/** Suites that need a Debian package which not every machine has. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from '@jest/globals';

const isThere = (needed: string): boolean =>
  needed.startsWith('/')
    ? existsSync(needed)
    : (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, needed)));

/**
 * A `describe` that is skipped, and says so, where a program or a file is missing; with `CI=true` it runs and fails.
 * @param needed by the name of the package: a program on PATH, or an absolute path
 */
export function describeInstalled(name: string, needed: Readonly<Record<string, string>>, suite: () => void): void {
  const missing = Object.keys(needed).filter((debianPackage) => !isThere(needed[debianPackage] ?? ''));
  if (missing.length === 0 || process.env.CI === 'true') {
    describe(name, suite);
    return;
  }
  process.stderr.write(`\n!! SKIPPED "${name}": not installed: ${missing.join(', ')} (Debian packages).\n\n`);
  describe.skip(name, suite);
}
