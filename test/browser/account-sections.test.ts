/**
 * The account page and the pages of all its sections in Chromium: accessible, and not wider than the screen. Every run tests a small
 * selection of languages, sizes and schemes, and `PROVE` tests all of them.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { locales } from 'tenant-idp';
import { pagesOfSection, type SectionPage, SectionWorld, type Subject, sections } from '../account/sections.js';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { Agent, type Answer, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;
const isWhole = process.env.PROVE !== undefined || screenshots !== undefined;
const [PHONE, DESKTOP] = [390, 1280];
const looks = isWhole
  ? ([PHONE, DESKTOP] as const).flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })))
  : ([
      { width: PHONE, colorScheme: 'light' },
      { width: DESKTOP, colorScheme: 'dark' },
    ] as const);
/** German has the longest words. */
const languages = isWhole ? locales : (['en', 'de'] as const);

const world = new SectionWorld(() => service);
const service = useIdp(() => world.options());

describeInBrowser('pages of the account in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let who: Subject;
  let shown: Answer | undefined;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await launch();
    page = await browser.newPage();
    who = await world.subject();
    page.on('console', (message) => {
      if (!isExpectedInConsole(message.text())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.route('**', (route) =>
      shown && route.request().isNavigationRequest()
        ? route.fulfill({ status: shown.status, headers: Object.fromEntries(shown.headers), body: shown.body })
        : route.abort(),
    );
  });
  afterAll(() => browser?.close());

  const account: SectionPage = { name: 'account', path: '/idp/account' };
  /** Returns the pages that the service sends to a signed-in user with this language. Pages below the account page belong to sections. */
  async function pagesIn(language: string, section: SectionPage): Promise<readonly Answer[]> {
    const agent = await world.signedIn(who, new Agent({ 'accept-language': language }));
    if (section === account) return [await agent.get(world.at(account.path))];
    return pagesOfSection(agent, world.at(section.path), section);
  }

  test.each([account, ...sections])('$name is accessible, and no wider than the screen', async (section) => {
    for (const language of languages) {
      const pages = await pagesIn(language, section);
      expect(pages.length).toBeGreaterThan(0);
      for (const [index, answer] of pages.entries()) {
        expect([answer.url, answer.status, answer.body.includes(`<html lang="${language}"`)]).toEqual([answer.url, 200, true]);
        shown = answer;
        complaints.length = 0;
        await page.goto(answer.url);
        await loadAxe(page);
        for (const { width, colorScheme } of looks) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 800 });
          const about = [titleOf(answer), language, width, colorScheme];
          if (screenshots) {
            mkdirSync(screenshots, { recursive: true });
            const path = join(screenshots, `account-${section.name}-${index}-${language}-${width}-${colorScheme}.png`);
            await page.screenshot({ path, fullPage: true });
          }
          expect([...about, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([...about, width]);
          expect([...about, await violationsOn(page, tags)]).toEqual([...about, []]);
        }
        await page.setViewportSize({ width: 320, height: 640 });
        expect([titleOf(answer), language, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
          titleOf(answer),
          language,
          320,
        ]);
        expect(complaints).toEqual([]);
      }
    }
  });
});
