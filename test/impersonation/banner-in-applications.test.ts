/** Issue 15: the banner script of applications, in Chromium, on a page of another origin with a strict policy. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { openWatchedPage, type WatchedPage } from '../support/browser/watched-page.js';
import { useIdp } from '../support/service/use-idp.js';
import { operatorOptions } from '../support/sign-in/impersonating.js';

const act = JSON.stringify({ oid: 'o', sub: 's', tid: 't' });
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

describeInBrowser('the banner script in an application', () => {
  const service = useIdp(operatorOptions);
  let server: Server;
  let browser: Browser;
  let watched: WatchedPage;
  let origin: string;
  /** Attributes of the script element on the next page. */
  let given: Readonly<Record<string, string>> = {};
  let lang = 'en';

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url !== '/') return void response.writeHead(204).end();
      const attributes = Object.entries(given).map(([name, value]) => ` data-${name}="${escaped(value)}"`);
      response.writeHead(200, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': `default-src 'none'; script-src ${service.issuer} 'unsafe-eval'`,
      });
      response.end(`<!doctype html><html lang="${lang}"><head><meta name="viewport" content="width=device-width"><title>Application</title>
<script src="${service.issuer}/idp/impersonation/banner.js"${attributes.join('')} defer></script></head><body><main><h1>Orders</h1></main></body></html>`);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launch();
    watched = await openWatchedPage(browser, [origin, service.issuer]);
  });
  afterAll(async () => {
    await watched?.close();
    await browser?.close();
    server?.closeAllConnections();
    await new Promise((resolve) => {
      server?.close(resolve);
    });
  });

  /** Opens the application. The script has run when the page is loaded. */
  async function open(attributes: Readonly<Record<string, string>>, language = 'en'): Promise<void> {
    given = attributes;
    lang = language;
    await watched.page.goto(`${origin}/`, { waitUntil: 'load' });
  }
  const banner = () => watched.page.getByRole('region');

  test('says as whom people act, and leads to the end and back', async () => {
    await open({ act, user: 'Bob Berg', 'client-id': 'web', 'return-to': 'https://app.test/?a=1&b=2' });
    await banner().waitFor();
    expect(await banner().innerText()).toContain('You act as Bob Berg.');
    expect(await banner().getByRole('link', { name: 'End' }).getAttribute('href')).toBe(
      `${service.issuer}/idp/impersonation?client_id=web&return_to=https%3A%2F%2Fapp.test%2F%3Fa%3D1%26b%3D2`,
    );
    expect(watched.incidents).toEqual([]);
  });

  test('in the language of the page, or the one that is asked for', async () => {
    await open({ act, user: 'Bob' }, 'no-NO');
    expect(await banner().innerText()).toContain('Du opptrer som Bob.');
    await open({ act, lang: 'fi' });
    expect(await banner().innerText()).toContain('Toimit toisena henkilönä.');
    await open({ act, user: 'Bob' }, 'fr');
    expect(await banner().innerText()).toContain('You act as Bob.');
  });

  test('a name is text, whatever is in it', async () => {
    const name = '<img src=x onerror=alert(1)>{user}</script>';
    await open({ act, user: name, 'client-id': '"><script>alert(1)</script>' });
    expect(await banner().innerText()).toContain(`You act as ${name}.`);
    expect(watched.incidents).toEqual([]);
  });

  test.each([{}, { act: '' }, { act: 'null' }, { act: 'undefined' }, { act: '{}' }])(
    'says nothing where nobody acts: %j',
    async (attributes) => {
      await open({ ...attributes, user: 'Bob' });
      expect(await watched.page.locator('h1').innerText()).toBe('Orders');
      expect(await banner().count()).toBe(0);
    },
  );

  test('is accessible at 320 pixels, with a long name', async () => {
    await watched.page.setViewportSize({ width: 320, height: 640 });
    await open({ act, user: 'maximiliane.bartholomaeus-schwarzenberger+fachverwaltung@example.test' }, 'de');
    await banner().waitFor();
    expect(await watched.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await loadAxe(watched.page);
    expect(await violationsOn(watched.page)).toEqual([]);
  });
});
