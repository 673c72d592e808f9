/** The pages with facts in Chromium, in each language: no word of a label is broken, and no label is wider than the screen. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { locales } from 'tenant-idp';
import { pagesOfSection, SectionWorld, type Subject, sections } from '../account/sections.js';
import { brokenWordsOn } from '../support/browser/broken-words.js';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { pagesWithFacts } from '../support/browser/gallery-of-extensions.js';
import { servePages } from '../support/browser/page-server.js';
import { Agent, type Answer } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const world = new SectionWorld(() => service);
const service = useIdp(() => world.options());

describeInBrowser('pages with facts in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let who: Subject;
  beforeAll(async () => {
    browser = await launch();
    page = await browser.newPage();
    who = await world.subject();
  });
  afterAll(() => browser?.close());

  async function expectWholeLabels(name: string): Promise<void> {
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const labels = await page.locator('.facts dt').allTextContents();
      expect([name, width, labels.length > 0, await brokenWordsOn(page, '.facts dt')]).toEqual([name, width, true, []]);
      expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, width]);
    }
  }

  test.each(locales)('%s: sections of the account page', async (locale) => {
    const agent = await world.signedIn(who, new Agent({ 'accept-language': locale }));
    const pages: Answer[] = [];
    for (const section of sections) pages.push(...(await pagesOfSection(agent, world.at(section.path), section)));
    const withFacts = pages.filter(({ body }) => body.includes('<dl class="facts"'));
    expect(withFacts.length).toBeGreaterThan(0);
    for (const { url, body } of withFacts) {
      await page.setContent(body);
      await expectWholeLabels(url);
    }
  });

  test('pages of extensions', async () => {
    await using server = await servePages(pagesWithFacts);
    expect(pagesWithFacts.length).toBeGreaterThanOrEqual(locales.length);
    for (const { name } of pagesWithFacts) {
      await page.goto(`${server.origin}/pages/${name}`);
      await expectWholeLabels(name);
    }
  });

  test('a label of several words stays in one piece, and only a word that is wider than the page is broken', async () => {
    const [state] = pagesWithFacts;
    if (state?.view.page !== 'view') throw new TypeError('the page is no view');
    const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
    const labels = ['Kostenstellenverantwortlicher', 'Letzte Änderung durch die Verwaltung', long];
    const facts = labels.map((label) => ({ label, value: 'alice@acme.test' }));
    await using server = await servePages([{ ...state, view: { ...state.view, parts: [{ part: 'facts', facts }] } }]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${server.origin}/pages/${state.name}`);
    expect(await brokenWordsOn(page, '.facts dt')).toEqual([long]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });
});
