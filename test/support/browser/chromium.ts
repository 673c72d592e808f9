/** The system's Chromium, for tests that need a browser. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from 'playwright-core';
import { describeUnless } from '../../servers/installed.js';
import { findProgram } from '../../servers/programs.js';
import { LIMIT_MS } from '../time/in-time.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Without the interface of a browser, so it takes a quarter of the CPU time; it knows no preferences, and blocks no cookies. */
const shell = 'chromium-headless-shell';
const applications = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

/** `CHROMIUM_PATH`, else the first of these programs that is on PATH; undefined when there is none. */
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

/** Starts the browser. What is done in it may take as long as a busy machine takes. */
async function start(options: LaunchOptions): Promise<Browser> {
  const browser = await chromium.launch(options);
  return browser.on('context', (context) => context.setDefaultTimeout(LIMIT_MS));
}

/** Starts the browser headless; it talks to nobody by itself. */
export const launch = (): Promise<Browser> => start(launchOptions([shell, ...names]));

/** The same, to which every name of a domain is this machine. */
export function launchAmong(domain: string): Promise<Browser> {
  const options = launchOptions([shell, ...names]);
  return start({ ...options, args: [...(options.args ?? []), `--host-resolver-rules=MAP *.${domain} 127.0.0.1`] });
}

export interface BrowserWithCookies extends AsyncDisposable {
  readonly context: BrowserContext;
}

/** A browser of its own with or without third-party cookies, which trusts the certificate of {@link testTls}. */
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
      // Its processes may still be writing when the browser is gone.
      await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/**
 * Messages of Chromium for pages that are right: a form that is shown again with 4xx, a missing icon, and a field that had the focus before the page set
 * it.
 */
export const isExpectedInConsole = (text: string): boolean => /favicon|status of 4\d\d|^Autofocus processing was blocked/.test(text);

/** A suite in a browser. */
export const describeInBrowser = (name: string, suite: () => void): void =>
  describeUnless(findChromium() === undefined ? 'there is no Chromium on PATH; install one or set CHROMIUM_PATH' : undefined, name, suite);
