/** Hostile messages on the page of a request, in Chromium. @see threat D10 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { cibaRequestPage } from '../support/browser/gallery-of-extensions.js';
import { type PageServer, servePages } from '../support/browser/page-server.js';
import { openWatchedPage, type WatchedPage } from '../support/browser/watched-page.js';
import { hostileMessages } from '../support/requests/hostile-messages.js';

const isProof = process.env.PROVE !== undefined;
/** All, or one of each kind. */
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
  proof('nothing outside the message looks different, and the message looks as it does in its own order (screenshots)', async () => {
    const around = async (name: string): Promise<readonly string[]> => {
      await page.goto(`${server.origin}/pages/${name}`);
      await page.evaluate("document.querySelector('.quote blockquote').style.height = '12rem'");
      await page.evaluate("document.querySelector('.quote blockquote > :first-child')?.parentElement.replaceChildren()");
      return [(await page.screenshot({ fullPage: true })).toString('base64')];
    };
    const whole = async (name: string): Promise<readonly Buffer[]> => {
      await page.goto(`${server.origin}/pages/${name}`);
      await page.evaluate("document.querySelector('.quote blockquote').style.height = '12rem'");
      const box = await page.locator('.quote blockquote').boundingBox();
      const { width, height } = (await page.evaluate('({ width: innerWidth, height: document.documentElement.scrollHeight })')) as Record<
        string,
        number
      >;
      if (!box || width === undefined || height === undefined) throw new Error('there is no message');
      const below = box.y + box.height;
      const clips = [
        { x: 0, y: 0, width, height: box.y },
        { x: 0, y: below, width, height: height - below },
        { x: 0, y: box.y, width: box.x, height: box.height },
        { x: box.x + box.width, y: box.y, width: width - box.x - box.width, height: box.height },
      ];
      return Promise.all(clips.map((clip) => page.screenshot({ fullPage: true, clip })));
    };
    const expected = await whole('benign');
    const empty = await around('benign');
    for (const { message, name } of cases) {
      const found = await whole(name);
      expect([message, found.map((shot, index) => shot.equals(expected[index] as Buffer))]).toEqual([message, [true, true, true, true]]);
      expect([message, (await around(name))[0] === empty[0]]).toEqual([message, true]);
      await page.goto(`${server.origin}/pages/${name}`);
      const quote = page.locator('.quote blockquote');
      const shown = await quote.screenshot();
      await page.evaluate(inOwnOrder);
      expect([message, shown.equals(await quote.screenshot())]).toEqual([message, true]);
    }
  });
});

/** Elements in a message that are none of ours, and attributes that none of them has. */
const foreignElements = `[...document.querySelectorAll('.quote blockquote *')].flatMap((element) => [
  ...(['P', 'BR', 'H2', 'H3', 'H4', 'UL', 'LI', 'STRONG', 'EM', 'BDI'].includes(element.tagName) ? [] : [element.tagName]),
  ...[...element.attributes].map(({ name, value }) => name + '=' + value).filter((attribute) => attribute !== 'dir=rtl'),
])`;

/** Letters that stand before one that comes before them. Words of another direction count as one. */
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

/** Has each line of the message show its letters in the order that they are written in. */
const inOwnOrder = `for (const block of document.querySelectorAll('.quote blockquote :is(p, li, h2, h3, h4)')) block.style.unicodeBidi = 'isolate-override'`;
