/**
 * Forgotten passwords and new accounts in Chromium, on a phone: as people see them, and as axe does. `SCREENSHOTS=<folder>` keeps pictures.
 */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { captureMail, invitingSeed, tenantNamed } from '../support/administration/invitations.js';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { authorizeUrl } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { linkIn, mailTo, NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;

describeInBrowser('passwords in Chromium', () => {
  const captured = captureMail();
  /** Application of which the tests need only one page. */
  const application = createServer(
    (_, res) => void res.setHeader('content-type', 'text/html').end('<title>x</title><h1>The application</h1>'),
  );
  let redirect: string;
  const service = useIdp(async () => {
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
    redirect = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
    const web = { ...invitingSeed.clients[0], metadata: { redirect_uris: [redirect] } };
    return { seed: { ...invitingSeed, clients: [web] } as never, mail: captured.mail };
  });
  const request = (more: Record<string, string> = {}) => authorizeUrl(service.issuer, { ...pkce, redirect_uri: redirect, ...more });
  let browser: Browser;
  let acme: string;
  beforeAll(async () => {
    browser = await launch();
    acme = await tenantNamed(service.idp, 'Acme');
    await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
  });
  afterAll(async () => {
    await browser?.close();
    application.close();
  });

  /** @param javaScriptEnabled whether scripts run. axe needs scripts, and checks no page without them. */
  async function onPhone(
    javaScriptEnabled: boolean,
    use: (page: Page, look: (name: string) => Promise<void>) => Promise<void>,
    colorScheme: 'light' | 'dark' = 'light',
  ): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 }, locale: 'en', javaScriptEnabled, colorScheme });
    const page = await context.newPage();
    try {
      await use(page, async (name) => {
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth).catch(() => true)).toBe(true);
        if (!javaScriptEnabled) return;
        await loadAxe(page);
        expect([name, await violationsOn(page, tags)]).toEqual([name, []]);
        if (!screenshots) return;
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `passwords-${name}-${colorScheme}.png`), fullPage: true });
      });
    } finally {
      await context.close();
    }
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();

  test.each([
    [true, 'alice@acme.test', 'light'],
    [false, 'carol@acme.test', 'light'],
    [true, 'bob@globex.test', 'dark'],
  ] as const)('a password is forgotten and reset by hand, scripts: %p', async (scripts, userName, scheme) => {
    await onPhone(
      scripts,
      async (page, look) => {
        await page.goto(request());
        await page.getByLabel('E-mail or user name').fill(userName);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'Forgotten password?' }).waitFor();
        await look('password');
        await page.getByRole('button', { name: 'Forgotten password?' }).click();
        await heading(page, 'Forgotten password?');
        expect(await page.getByLabel('E-mail or user name').inputValue()).toBe(userName);
        await look('forgotten');
        await page.getByLabel('E-mail or user name').fill('');
        await page.getByRole('button', { name: 'Send link' }).click();
        await page.locator('[aria-invalid]').waitFor();
        await look('forgotten-missing');
        await page.getByLabel('E-mail or user name').fill(userName);
        await page.getByRole('button', { name: 'Send link' }).click();
        await heading(page, 'Check your e-mail');
        await look('sent');
        const url = linkIn(await mailTo(captured, userName, 'password-reset'));
        await page.goto(url);
        await look('reset');
        await page.getByLabel('New password').fill('short');
        await page.getByRole('button', { name: 'Save password' }).click();
        await page.locator('[aria-invalid]').waitFor();
        await look('reset-weak');
        await page.getByLabel('New password').fill(NEW_PASSWORD);
        await page.getByRole('button', { name: 'Save password' }).click();
        await heading(page, 'Your password is changed');
        await look('done');
        await page.reload();
        await heading(page, 'Your password is changed');
        await page.getByRole('link', { name: 'Sign in', exact: true }).click();
        await page.getByLabel('E-mail or user name').fill(userName);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await heading(page, 'The application');
      },
      scheme,
    );
    await onPhone(scripts, async (page, look) => {
      await page.goto(linkIn(await mailTo(captured, userName, 'password-reset')));
      await heading(page, 'This link was used');
      await look('used');
    });
  });

  test.each([true, false])('an account is created by hand, scripts: %p', async (scripts) => {
    const email = `nina-${scripts}@new.test`;
    await onPhone(scripts, async (page, look) => {
      await page.goto(request({ acr_values: `tenant:${acme}` }));
      await page.getByRole('link', { name: 'Create account' }).click();
      await page.getByLabel('Given name').fill('Nina');
      await page.getByLabel('Surname').fill('New');
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
      await look('create');
      await page.getByRole('button', { name: 'Create account' }).click();
      await heading(page, 'Check your e-mail to go on');
      await look('check');
      await page.goto(linkIn(await mailTo(captured, email, 'registration')));
      await look('confirm');
      await page.getByRole('button', { name: 'Create account' }).click();
      await heading(page, 'The application');
    });
  });

  test('the mails read well', async () => {
    const message = await mailTo(captured, 'alice@acme.test', 'account-changed');
    await onPhone(true, async (page, look) => {
      await page.setContent(message.html);
      await heading(page, 'Your password was changed');
      await look('notice');
    });
  });
});
