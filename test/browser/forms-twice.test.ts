/** B23 in Chromium: buttons that are pressed twice. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { authorizeUrl, createPkce } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

describeInBrowser('B23: a button that is pressed twice, in Chromium', () => {
  let browser: Browser;
  let callback: string;
  /** Milliseconds that the application takes to answer. */
  let delay = 0;
  const application = createServer(async (_req, res) => {
    await sleep(delay);
    res.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title><h1>app</h1>');
  });
  const service = useIdp(async () => {
    await once(application.listen(0, '127.0.0.1'), 'listening');
    callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
    const [acme, ...tenants] = testSeed.tenants;
    return {
      seed: {
        ...testSeed,
        tenants: [{ ...acme, signIn: { selfRegistration: true } }, ...tenants],
        clients: [{ id: 'app', name: 'App', secret: 'app-secret', metadata: { redirect_uris: [callback] }, allowedScopes: ['openid'] }],
      } as never,
    };
  });
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    application.closeAllConnections();
    application.close();
  });

  const ask = (more: Record<string, string> = {}): string =>
    authorizeUrl(service.issuer, {
      client_id: 'app',
      redirect_uri: callback,
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
      ...more,
    });
  async function inPage(javaScriptEnabled: boolean, use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ javaScriptEnabled });
    try {
      await use(await context.newPage());
    } finally {
      await context.close();
    }
  }
  const arrives = async (page: Page): Promise<void> => {
    const arrived = () => page.waitForURL(`${callback}**`);
    // The second press aborts the navigation of the first press, and starts another navigation.
    await arrived().catch((error: Error) => (error.message.includes('ERR_ABORTED') ? arrived() : Promise.reject(error)));
    expect(new URL(page.url()).searchParams.has('code')).toBe(true);
  };

  test.each([true, false])('“Create account” makes one account, and leads to the application (JavaScript: %p)', async (javaScript) => {
    delay = 0;
    const email = `nina-${javaScript}@acme.test`;
    await inPage(javaScript, async (page) => {
      const tenants = await service.idp.directory.tenants.find();
      const tid = tenants.find(({ name }) => name === 'Acme')?.id ?? '';
      await page.goto(ask({ prompt: 'create', acr_values: `tenant:${tid}` }));
      await page.locator('input[name="givenName"]').fill('Nina');
      await page.locator('input[name="familyName"]').fill('New');
      await page.locator('input[name="email"]').fill(email);
      await page.locator('input[name="password"]').fill('long enough for anybody');
      await page.getByRole('button', { name: 'Create account' }).dblclick();
      await arrives(page);
    });
    expect(await service.idp.directory.accounts.candidates(email)).toHaveLength(1);
  });

  test.each([0, 1_500])('“Sign in” leads to the application, which answers after %d ms', async (after) => {
    delay = after;
    await inPage(true, async (page) => {
      await page.goto(ask());
      await page.getByLabel('E-mail or user name').fill('alice@acme.test');
      await page.getByRole('button', { name: 'Continue' }).dblclick();
      await page.getByLabel('Password', { exact: true }).fill('alice');
      const button = page.getByRole('button', { name: 'Sign in' });
      const { x = 0, y = 0, width = 0, height = 0 } = (await button.boundingBox()) ?? {};
      const asked = page.waitForRequest(`${callback}**`);
      await button.dblclick({ noWaitAfter: true });
      if (after > 0) {
        await asked;
        // The browser waits for the application, and still shows the page.
        await page.mouse.click(x + width / 2, y + height / 2);
      }
      await arrives(page);
    });
  });

  test.each(['/connect/authorize/', '/callback'])(
    'E-A: “Sign in” leads to the application over a slow line, where it is pressed again while the browser requests %s',
    async (path) => {
      delay = 0;
      await inPage(true, async (page) => {
        await page.goto(ask());
        await page.getByLabel('E-mail or user name').fill('alice@acme.test');
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByLabel('Password', { exact: true }).fill('alice');
        const { x = 0, y = 0, width = 0, height = 0 } = (await page.getByRole('button', { name: 'Sign in' }).boundingBox()) ?? {};
        const line = await page.context().newCDPSession(page);
        const slow = { offline: false, latency: 500, downloadThroughput: 50_000, uploadThroughput: 50_000 };
        await line.send('Network.emulateNetworkConditions', slow);
        const presses: string[] = [];
        page.on('request', (request) => request.method() === 'POST' && presses.push(request.url()));
        const followed = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith(path));
        await page.mouse.click(x + width / 2, y + height / 2);
        await followed;
        // The browser waits for the answer, and still shows the page.
        await page.mouse.click(x + width / 2, y + height / 2);
        await page
          .getByRole('heading')
          .and(page.getByText(/^(app|This sign-in took too long)$/))
          .waitFor();
        await arrives(page);
        expect([presses.length, new Set(presses).size]).toEqual([2, 1]);
      });
    },
  );

  test('“Sign out” ends at the page that says so', async () => {
    delay = 0;
    await inPage(true, async (page) => {
      await page.goto(ask());
      await page.getByLabel('E-mail or user name').fill('bob@globex.test');
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByLabel('Password', { exact: true }).fill('bob');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await arrives(page);
      await page.goto(`${service.issuer}/connect/endsession`);
      await page.getByRole('button', { name: 'Sign out' }).dblclick();
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    });
  });
});
