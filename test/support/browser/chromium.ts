/** The system's Chromium, for tests that need a browser. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from 'playwright-core';
import { describeUnless } from '../../servers/installed.js';
import { findProgram } from '../../servers/programs.js';
import { LIMIT_MS } from '../time/in-time.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Chromium without a user interface, which takes a quarter of the CPU time. The program ignores preferences, and blocks no cookies. */
const shell = 'chromium-headless-shell';
const applications = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

/** Returns `CHROMIUM_PATH`, or the first of these programs on PATH. Returns undefined if there is no such program. */
function findChromium(programs = names): string | undefined {
  const given = process.env.CHROMIUM_PATH;
  return findProgram(given ? [given] : [...programs, ...applications]);
}

function launchOptions(programs = names): LaunchOptions {
  const executablePath = findChromium(programs);
  if (executablePath === undefined) throw new Error('There is no Chromium on PATH; set CHROMIUM_PATH.');
  return {
    executablePath,
    headless: true,
    timeout: LIMIT_MS,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  };
}

/** Starts the browser, with a time limit that suits a busy machine. */
async function start(options: LaunchOptions): Promise<Browser> {
  const browser = await chromium.launch(options);
  return browser.on('context', (context) => context.setDefaultTimeout(LIMIT_MS));
}

/** Starts the browser headless. The browser sends no requests by itself. */
export const launch = (): Promise<Browser> => start(launchOptions([shell, ...names]));

/** Starts the browser headless, with all names below a domain resolved to this machine. */
export function launchAmong(domain: string): Promise<Browser> {
  const options = launchOptions([shell, ...names]);
  return start({ ...options, args: [...(options.args ?? []), `--host-resolver-rules=MAP *.${domain} 127.0.0.1`] });
}

export interface BrowserWithCookies extends AsyncDisposable {
  readonly context: BrowserContext;
}

/** Starts a separate browser with or without third-party cookies. The browser accepts the certificate of {@link testTls}. */
export async function launchWithCookies(thirdParty: 'allowed' | 'blocked'): Promise<BrowserWithCookies> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const isBlocked = thirdParty === 'blocked';
  await mkdir(join(profile, 'Default'));
  const preferences = { profile: { block_third_party_cookies: isBlocked, cookie_controls_mode: isBlocked ? 1 : 0 } };
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences));
  const options = launchOptions(isBlocked ? names : [shell, ...names]);
  const context = await chromium.launchPersistentContext(profile, { ...options, ignoreHTTPSErrors: true });
  context.setDefaultTimeout(LIMIT_MS);
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close();
      // Processes of the browser may still write after the browser has closed.
      await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/**
 * Whether Chromium also prints this message for correct pages: a form that is shown again with 4xx, a missing icon, or a field that had the
 * focus before the page set the focus.
 */
export const isExpectedInConsole = (text: string): boolean => /favicon|status of 4\d\d|^Autofocus processing was blocked/.test(text);

/** Registers a suite that runs in a browser. */
export const describeInBrowser = (name: string, suite: () => void): void =>
  describeUnless(findChromium() === undefined ? 'there is no Chromium on PATH; install one or set CHROMIUM_PATH' : undefined, name, suite);
