/** The system's Chromium, for tests that need a browser. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const applications = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `CHROMIUM_PATH`, else the first browser on PATH; undefined when there is none. */
function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const given = process.env.CHROMIUM_PATH;
  const candidates = given ? [given] : [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...applications];
  return candidates.find(isExecutable);
}

/** Starts the browser headless; it talks to nobody by itself. */
export function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('There is no Chromium on PATH; set CHROMIUM_PATH.');
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A `describe` that is skipped, and says so, where there is no browser; with `CI=true` it runs and fails. */
export function describeInBrowser(name: string, suite: () => void): void {
  if (findChromium() !== undefined || process.env.CI === 'true') {
    describe(name, suite);
    return;
  }
  process.stderr.write(`\n!! SKIPPED "${name}": there is no Chromium on PATH; install one or set CHROMIUM_PATH.\n\n`);
  describe.skip(name, suite);
}
