/** The operator of the demo: lists persons, invites one whose mail is shown, links two accounts, and sees the events as they happen. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { type RunningDemo, startDemo } from '../support/service/example.js';
import { until } from '../support/time/until.js';

describeInBrowser('the back office of the demo in Chromium', () => {
  let browser: Browser;
  let demo: RunningDemo;
  let rp: string;
  beforeAll(async () => {
    demo = await startDemo();
    ({ rp } = demo);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    expect(await demo?.stop()).toBe(0);
  });

  async function signIn(page: Page, userName: string, password: string): Promise<void> {
    await page.goto(rp);
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${rp}/`);
  }

  /** Submits a form and waits for the page load. A form leads back to its own page, so the address does not distinguish the new page. */
  async function send(page: Page, form: Locator, button: string): Promise<void> {
    const shown = page.waitForEvent('load');
    await form.getByRole('button', { name: button }).click();
    await shown;
  }
  const showsStatus = (page: Page, email: string, status: RegExp) =>
    page.locator(`[data-person="${email}"] [data-status]`).filter({ hasText: status }).waitFor();
  const eventsOf = (page: Page, type: string) => page.locator(`.feed [data-event="${type}"]`);

  test('is closed to whoever may not open it', async () => {
    const context = await browser.newContext();
    const page = context.pages()[0] ?? (await context.newPage());
    await page.goto(`${rp}/back-office`);
    await page.getByText('The back office is closed to you').waitFor();
    await signIn(page, 'bob@globex.test', 'bob');
    expect((await page.goto(`${rp}/back-office`))?.status()).toBe(403);
    expect((await page.goto(`${rp}/back-office/events`))?.status()).toBe(403);
    await context.close();
  });

  test('the operator lists, invites and links; the invited person sets a password; all of it is in the feed, live', async () => {
    const [office, guest] = await Promise.all([browser.newContext(), browser.newContext()]);
    const page = await office.newPage();
    await signIn(page, 'olga@acme.test', 'olga');
    await page.goto(`${rp}/back-office`);
    await showsStatus(page, 'bob@globex.test', /^active$/);
    await showsStatus(page, 'alice@globex.test', /linked/);
    await eventsOf(page, 'UserCreated').first().waitFor();
    await loadAxe(page);
    expect(await violationsOn(page)).toEqual([]);

    const form = page.locator('#invite');
    await form.getByLabel('Organisation').selectOption({ label: 'Globex' });
    await form.getByLabel('Given name').fill('Nina');
    await form.getByLabel('Family name').fill('Ny');
    await form.getByLabel('E-mail').fill('nina@globex.test');
    await send(page, form, 'Invite');
    await showsStatus(page, 'nina@globex.test', /^invited$/);
    await eventsOf(page, 'InvitationSent').waitFor();

    // The invited person uses another browser.
    const invited = await guest.newPage();
    await until(async () => {
      await invited.goto(`${rp}/mail`);
      return invited.getByText('To nina@globex.test').count();
    });
    await invited.locator('li', { hasText: 'To nina@globex.test' }).getByRole('link').click();
    await invited.locator('pre a').first().click();
    await invited.getByLabel('Choose a password').fill('a password of her own');
    await invited.getByRole('button', { name: 'Accept invitation' }).click();
    await invited.waitForURL((url) => url.href.startsWith(rp));

    // Changes from elsewhere appear on the page without a reload.
    await page.locator('[data-person="nina@globex.test"] [data-status="active"]').waitFor();

    await page.reload();
    const link = page.locator('#link');
    await link.getByLabel('Account').selectOption({ label: 'nina@globex.test at Globex' });
    await link.getByLabel('Parent').selectOption({ label: 'olga@acme.test at Acme' });
    await send(page, link, 'Link');
    await showsStatus(page, 'nina@globex.test', /^active, linked$/);
    await showsStatus(page, 'olga@acme.test', /^active, a parent$/);
    await eventsOf(page, 'UserClaimAdded').filter({ hasText: 'client:back-office' }).waitFor();

    // An account of Acme cannot be linked to Acme: the page says so, and why.
    await link.getByLabel('Account').selectOption({ label: 'alice@acme.test at Acme' });
    await link.getByLabel('Parent').selectOption({ label: 'olga@acme.test at Acme' });
    await link.getByRole('button', { name: 'Link' }).click();
    await page.getByRole('alert').waitFor();
    await Promise.all([office.close(), guest.close()]);
  });
});
