import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, ConsoleMessage, Page, Request } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { type GalleryPage, gallery } from '../support/browser/page-gallery.js';
import { type PageServer, servePages } from '../support/browser/page-server.js';
import { fill, hostileTexts } from '../support/requests/hostile-content.js';
import { until } from '../support/time/until.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;
const looks = (['light', 'dark'] as const).flatMap((colorScheme) => [360, 1280].map((width) => ({ colorScheme, width })));
/** Tested looks: each scheme and each width once, and every pair of them with `PROVE` or `SCREENSHOTS`. */
const looksTried = process.env.PROVE || screenshots ? looks : [looks[0], looks[3]].flatMap((look) => look ?? []);
/** Returns the shape of a page. Variants of a page have other texts in the same places. */
const shapeOf = ({ view, frame }: GalleryPage) => JSON.stringify([view.page, Object.keys(view).sort(), Object.keys(frame).sort()]);
const shapes = [...new Map(gallery.map((page) => [shapeOf(page), page])).values()];

/**
 * Script that finds targets below 44 px, except links in a text, and inputs whose letters are so small that a phone zooms in. @see WCAG
 * 2.2, 2.5.5 and 2.5.8
 */
const tooSmall = `(() => {
  const shown = (element) => element.getClientRects().length > 0 && !element.matches('.off-screen');
  const targets = [...document.querySelectorAll('button, a, summary, input:not([type=hidden]), label.check')].filter(shown);
  const isInText = (element) => element.matches('.alert a, p a, input[type=checkbox]');
  const low = targets.filter((element) => !isInText(element) && element.getBoundingClientRect().height < 44);
  const fine = targets.filter((element) => element.matches('input:not([type=checkbox])') && parseFloat(getComputedStyle(element).fontSize) < 16);
  return [...low, ...fine].map((element) => element.outerHTML);
})()`;

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

describeInBrowser('pages in Chromium', () => {
  let browser: Browser;
  let server: PageServer;
  /** One page for all tests, because a new renderer costs more than the test of a page. */
  let shared: Page;
  beforeAll(async () => {
    browser = await launch();
    shared = await browser.newPage();
    server = await servePages(gallery);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  async function withPage(options: BrowserContextOptions, use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext(options);
    try {
      await use(await context.newPage());
    } finally {
      await context.close();
    }
  }

  /** Collects the requests and the errors of the shared page while `use` runs. */
  async function watched(use: (requests: string[], complaints: string[]) => Promise<void>): Promise<void> {
    const requests: string[] = [];
    const complaints: string[] = [];
    const onRequest = (request: Request) => void requests.push(new URL(request.url()).pathname);
    const onConsole = (message: ConsoleMessage) => {
      if (!isExpectedInConsole(message.text())) complaints.push(message.text());
    };
    const onError = (error: Error) => void complaints.push(error.message);
    shared.on('request', onRequest).on('console', onConsole).on('pageerror', onError);
    try {
      await use(requests, complaints);
    } finally {
      shared.off('request', onRequest).off('console', onConsole).off('pageerror', onError);
    }
  }

  /** Opens a page and waits until it has loaded, or until a hand-over page has handed over. */
  async function open(page: Page, name: string, origin = server.origin): Promise<void> {
    const handsOver = name.startsWith('continue');
    const handedOver = handsOver && page.waitForResponse((response) => response.url().includes('/stay'));
    await page.goto(`${origin}/pages/${name}`, { waitUntil: handsOver ? 'commit' : 'load' });
    await handedOver;
  }

  test.each(gallery)(
    'design §6: $name is accessible in both schemes and widths, loads only itself and breaks no policy',
    async ({ name, view }) => {
      await watched(async (requests, complaints) => {
        await open(shared, name);
        await loadAxe(shared);
        for (const { colorScheme, width } of looksTried) {
          await shared.emulateMedia({ colorScheme });
          await shared.setViewportSize({ width, height: 800 });
          await takeScreenshot(shared, `${name}-${colorScheme}-${width}`);
          expect(await violationsOn(shared, tags)).toEqual([]);
        }
        await shared.setViewportSize({ width: 320, height: 640 });
        expect(await shared.evaluate('document.documentElement.scrollWidth')).toBe(320);
        expect(await shared.evaluate(tooSmall)).toEqual([]);
        const more = name === 'identifier-branded' ? ['/logo.svg'] : view.page === 'continue' ? ['/stay'] : [];
        expect([...new Set(requests)]).toEqual([`/pages/${name}`, ...more]);
        await shared.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
        expect(process.env.PROVE ? await violationsOn(shared, tags) : []).toEqual([]);
        await shared.emulateMedia({ forcedColors: 'none' });
        expect(complaints).toEqual([]);
      });
    },
  );

  test('G7: the styles run by their hashes, and an injected script or style does not', async () => {
    await watched(async (_, complaints) => {
      const page = shared;
      await page.goto(`${server.origin}/pages/identifier-square`);
      const paint = () =>
        page.evaluate(
          '(({ backgroundColor, borderRadius }) => [backgroundColor, borderRadius])(getComputedStyle(document.querySelector("button")))',
        );
      expect(await paint()).toEqual(['rgb(11, 110, 79)', '0px']);
      await page.evaluate(`
        const style = document.createElement('style');
        style.textContent = 'button { background: red !important }';
        const script = document.createElement('script');
        script.textContent = 'window.injected = true';
        document.head.append(style, script);
      `);
      expect(await paint()).toEqual(['rgb(11, 110, 79)', '0px']);
      expect(await page.evaluate('window.injected')).toBeUndefined();
      await until(() => complaints.length >= 2);
      expect(complaints).toHaveLength(2);
    });
  });

  test('G7 A5: hostile content in every field, and in the names of fields, runs nothing and breaks no policy', async () => {
    const content = hostileTexts.join(' ').replaceAll('alert(1)', 'window.fired=1');
    const pages = (process.env.PROVE ? gallery : shapes).map(({ name, view, frame }) => ({
      name,
      view: fill(view, content, ['action']),
      frame: fill({ ...frame, branding: { accentColor: '', logoUri: '' } }, content),
    }));
    await using hostile = await servePages(pages);
    await watched(async (_, complaints) => {
      for (const { name } of pages) {
        await open(shared, name, hostile.origin);
        const [fired, forms] = (await shared.evaluate('[window.fired, document.forms.length]')) as [unknown, number];
        expect([name, fired, complaints]).toEqual([name, undefined, []]);
        // The password page has another form for its language menu.
        expect(forms).toBeLessThanOrEqual(name.startsWith('password') ? 2 : 1);
      }
    });
    expect(hostile.received.map((body) => [...new URLSearchParams(body).keys()])).toEqual([[content], [content]]);
  });

  test('pages §3.1: a password can be looked at, and is hidden again before it is sent; without JavaScript there is no button for it', async () => {
    const page = shared;
    await page.goto(`${server.origin}/pages/password`);
    const button = page.getByRole('button', { name: 'Show the characters' });
    const typeOf = () => page.evaluate('document.querySelector("#password").type');
    await button.click();
    expect([await typeOf(), await button.getAttribute('aria-pressed')]).toEqual(['text', 'true']);
    await button.click();
    expect([await typeOf(), await button.getAttribute('aria-pressed')]).toEqual(['password', 'false']);
    await button.click();
    await page.evaluate(
      `addEventListener('submit', (event) => { event.preventDefault(); window.sentAs = document.querySelector('#password').type; })`,
    );
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect(await page.evaluate('window.sentAs')).toBe('password');
    await withPage({ javaScriptEnabled: false }, async (plain) => {
      await plain.goto(`${server.origin}/pages/password`);
      expect(await plain.getByRole('button', { name: 'Show the characters' }).count()).toBe(0);
    });
  });

  test('A5: the hand-over page sends its fields at once, by its hashed script', async () => {
    server.received.length = 0;
    await open(shared, 'continue');
    expect(server.received).toEqual(['code=c0de&state=s']);
  });

  test('pages §3.1: forms work without JavaScript', async () => {
    await withPage({ javaScriptEnabled: false }, async (page) => {
      const press = async (name: string, button: string, fill: Record<string, string> = {}) => {
        await page.goto(`${server.origin}/pages/${name}`);
        for (const [label, value] of Object.entries(fill)) await page.getByLabel(label).fill(value);
        const answer = page.waitForResponse((response) => !response.url().includes('/pages/'));
        await page.getByRole('button', { name: button }).click();
        await answer;
        return Object.fromEntries(new URLSearchParams(server.received.pop()));
      };
      const identifier = 'alice@acme.test';
      const password = 'p&ss=word';
      expect(await press('identifier', 'Continue', { 'E-mail or user name': identifier })).toEqual({
        csrf: 'token',
        identifier,
      });
      expect(await press('password', 'Sign in', { Password: password })).toEqual({
        csrf: 'token',
        identifier,
        password,
      });
      expect(await press('organisation', 'Globex')).toEqual({ csrf: 'token', identifier: 'alice', choice: '2' });
      expect(await press('organisation-many', 'Search', { 'Find an organisation': 'Glo' })).toEqual({
        csrf: 'token',
        identifier: 'alice',
        all: '1,2',
        search: 'Glo',
        find: 'yes',
      });
      expect(await press('consent', 'Allow')).toEqual({ csrf: 'token', decision: 'allow' });
      expect(await press('consent', 'Cancel')).toEqual({ csrf: 'token', decision: 'deny' });
      expect(await press('logout', 'Sign out')).toEqual({ xsrf: 'token', csrf: 'token', logout: 'yes' });
      expect(await press('logout', 'Stay signed in')).toEqual({ xsrf: 'token', csrf: 'token' });
      expect(await press('continue', 'Continue')).toEqual({ code: 'c0de', state: 's' });
      expect(await press('expired', 'Start again')).toEqual({ csrf: 'token' });
    });
  });
});
