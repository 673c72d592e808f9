/** Hostile messages on the page of a request, in Chromium. @see threat D10 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { cibaRequestPage } from '../support/browser/gallery-of-extensions.js';
import { type PageServer, servePages } from '../support/browser/page-server.js';
import { openWatchedPage, type WatchedPage } from '../support/browser/watched-page.js';
import { hostileMessages } from '../support/requests/hostile-messages.js';

const isProof = process.env.PROVE !== undefined;
/** All messages in a proof, and each ninth message otherwise. */
const messages = isProof ? hostileMessages : hostileMessages.filter((_, index) => index % 9 === 0);
const formats = ['plaintext', 'simpleMarkdownV1'] as const;
const benign = 'W4SCT';

const cases = messages.flatMap((message, index) => formats.map((format) => ({ message, format, name: `${index}-${format}` })));

describeInBrowser('threat D10: hostile messages', () => {
  let browser: Browser;
  let server: PageServer;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    browser = await launch();
    server = await servePages(
      await Promise.all([{ message: benign, format: 'plaintext' as const, name: 'benign' }, ...cases].map(cibaRequestPage)),
    );
    watched = await openWatchedPage(browser, [server.origin]);
    page = watched.page;
    await page.setViewportSize({ width: 400, height: 900 });
  });
  afterAll(async () => {
    await watched?.close();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  test('no markup runs, and no text is reordered', async () => {
    for (const { message, name } of cases) {
      await page.goto(`${server.origin}/pages/${name}`);
      expect([message, await page.locator('form button').count()]).toEqual([message, 3]);
      expect([message, await page.evaluate(foreignElements)]).toEqual([message, []]);
      expect([message, await page.evaluate(misplaced)]).toEqual([message, []]);
      expect([message, watched.incidents]).toEqual([message, []]);
    }
  });

  const proof = isProof ? test : test.skip;
  proof(
    'nothing outside the message looks different, and the message looks as it does in its own order (screenshots)',
    async () => {
      const quote = page.locator('.quote blockquote');
      /** Returns a screenshot of the page, on which the message has a fixed height and is masked. */
      const outside = async (name: string): Promise<Buffer> => {
        await page.goto(`${server.origin}/pages/${name}`);
        await page.evaluate("document.querySelector('.quote blockquote').style.height = '12rem'");
        return page.screenshot({ fullPage: true, mask: [quote] });
      };
      // The countdown stands still, because two screenshots may be seconds apart on a busy machine.
      await page.addInitScript('setInterval = () => 0');
      const expected = await outside('benign');
      for (const { message, name } of cases) {
        expect([message, (await outside(name)).equals(expected)]).toEqual([message, true]);
        const shown = await quote.screenshot();
        await page.evaluate(inOwnOrder);
        expect([message, shown.equals(await quote.screenshot())]).toEqual([message, true]);
      }
    },
    1_200_000,
  );
});

/** Elements in a message that the renderer never writes, and attributes that its elements do not have. */
const foreignElements = `[...document.querySelectorAll('.quote blockquote *')].flatMap((element) => [
  ...(['P', 'BR', 'H2', 'H3', 'H4', 'UL', 'LI', 'STRONG', 'EM', 'BDI'].includes(element.tagName) ? [] : [element.tagName]),
  ...[...element.attributes].map(({ name, value }) => name + '=' + value).filter((attribute) => attribute !== 'dir=rtl'),
])`;

/** Letters that are shown before an earlier letter of the text. Words of the other direction count as one letter. */
const misplaced = `(() => {
  const wrong = [];
  for (const block of document.querySelectorAll('.quote blockquote :is(p, li, h2, h3, h4)')) {
    let last;
    const place = (text, { left, right, top, bottom }) => {
      if (right - left < 0.5 || bottom - top < 0.5) return;
      const isLater = !last || top >= last.bottom - 2 || left >= last.right - 1.5;
      if (!isLater) wrong.push(text);
      last = { right, bottom };
    };
    const walk = (node) => {
      if (node.nodeName === 'BDI') {
        const rects = [...node.getClientRects()];
        if (rects.length > 0) place(node.textContent, { left: rects[0].left, right: rects.at(-1).right, top: rects[0].top, bottom: rects.at(-1).bottom });
      } else if (node.nodeType === Node.TEXT_NODE) {
        for (const { segment, index } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(node.data)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + segment.length);
          for (const rect of range.getClientRects()) place(segment, rect);
        }
      } else node.childNodes.forEach(walk);
    };
    walk(block);
  }
  return wrong;
})()`;

/** Shows the letters of each line of the message in the order in which the letters are written. */
const inOwnOrder = `for (const block of document.querySelectorAll('.quote blockquote :is(p, li, h2, h3, h4)')) block.style.unicodeBidi = 'isolate-override'`;
