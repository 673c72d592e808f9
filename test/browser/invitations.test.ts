/** The pages of invitations in Chromium: as people see them, and as axe does. `SCREENSHOTS=<folder>` keeps pictures. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { captureMail, invite, invitingSeed, linkIn, PASSWORD, personalTenant } from '../support/administration/invitations.js';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { useIdp } from '../support/service/use-idp.js';
import { mailTo, linkIn as registrationLinkIn } from '../support/sign-in/passwords.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;

describeInBrowser('invitations in Chromium', () => {
  const captured = captureMail();
  const service = useIdp({ seed: invitingSeed as never, personalTenant, mail: captured.mail });
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  async function inPage(use: (page: Page, look: (name: string) => Promise<void>) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, locale: 'en' });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(message.text())).on('pageerror', (error) => void complaints.push(error.message));
    try {
      await use(page, async (name) => {
        await page.waitForLoadState();
        await loadAxe(page);
        expect([name, await violationsOn(page, tags)]).toEqual([name, []]);
        if (!screenshots) return;
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `invitation-${name}.png`), fullPage: true });
      });
      expect(complaints.filter((line) => !isExpectedInConsole(line))).toEqual([]);
    } finally {
      await context.close();
    }
  }

  test('an invitation is accepted by hand: the password, its mistakes, and the end', async () => {
    const { url } = await invite(service.idp, { clientId: 'spa' });
    await inPage(async (page, look) => {
      await page.goto(url);
      await look('accept');
      await page.locator('input:focus').waitFor();
      await page.keyboard.type('short');
      await page.keyboard.press('Enter');
      await page.waitForSelector('[aria-invalid]');
      await look('weak');
      await page.getByLabel('Choose a password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Accept invitation' }).click();
      await page.getByRole('heading', { name: 'Your account is ready' }).waitFor();
      await look('done');
      await page.reload();
      await page.getByRole('heading', { name: 'Your account is ready' }).waitFor();
      await page.goto(url);
      await look('used');
      const other = await invite(service.idp);
      await page.goto(other.url);
      await look('signed-in-as-other');
      await other.invitations.revoke(other.invitation.id);
      await page.reload();
      await look('revoked');
    });
  });

  test('a personal account is created and linked by hand', async () => {
    const { url } = await invite(service.idp, { link: true });
    await inPage(async (page, look) => {
      await page.goto(url);
      await look('link');
      await page.getByRole('button', { name: 'Create an account' }).click();
      await page.locator('input[name="givenName"]').fill('Gina');
      await page.locator('input[name="familyName"]').fill('Guest');
      await page.locator('input[name="email"]').fill('gina@home.test');
      await look('create');
      await page.locator('input[name="password"]').fill(PASSWORD);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Check your e-mail to go on' }).waitFor();
      await look('check');
      await page.goto(registrationLinkIn(await mailTo(captured, 'gina@home.test', 'registration')));
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Link these accounts?' }).waitFor();
      await look('confirm');
      await page.getByRole('button', { name: 'Link accounts' }).click();
      await page.getByRole('heading', { name: 'Your account is ready' }).waitFor();
      await look('linked');
    });
  });

  test('the mail reads well', async () => {
    const { userName } = await invite(service.idp, { send: true, clientId: 'portal' });
    const message = await captured.to(userName);
    await inPage(async (page, look) => {
      await page.setContent(message.html);
      expect(await page.getByRole('link', { name: 'Accept invitation' }).getAttribute('href')).toBe(linkIn(message));
      await look('mail');
    });
  });
});
