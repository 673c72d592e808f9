/** Issue 17, 5: the demo with SAML, in a browser: one sign-in and one sign-out for an OpenID client and a SAML service provider. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { type RunningDemo, startDemo } from '../support/service/example.js';

describeInBrowser('npm start -- --saml in Chromium', () => {
  let browser: Browser;
  let demo: RunningDemo;
  let rp: string;
  beforeAll(async () => {
    demo = await startDemo(['--saml']);
    ({ rp } = demo);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    expect(await demo?.stop()).toBe(0);
  });

  /** Opens a page. Errors in the browser fail the test. */
  async function withPage(use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    const complaints: string[] = [];
    context.on('console', (message) => void (isExpectedInConsole(message.text()) || complaints.push(message.text())));
    context.on('weberror', (error) => void complaints.push(error.error().message));
    await use(await context.newPage());
    expect(complaints).toEqual([]);
    await context.close();
  }

  async function signIn(page: Page, at: string): Promise<void> {
    await page.goto(at);
    await page.getByRole('link', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('E-mail or user name').fill('alice@acme.test');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill('alice');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(at);
  }

  const claimOf = async (page: Page, panel: string, name: string): Promise<unknown> =>
    JSON.parse((await page.locator(`#${panel} [data-claim="${name}"] dd code`).textContent()) ?? '');
  const isSignedIn = async (page: Page, at: string): Promise<boolean> => {
    await page.goto(at);
    return page.getByRole('button', { name: 'Sign out' }).isVisible();
  };

  test('the banner names the service provider', () => {
    expect(demo.stdout).toContain(`${rp}/saml`);
  });

  test('who signs in at the service provider gets attributes with all their values, and is signed in at the OpenID client', async () => {
    await withPage(async (page) => {
      await signIn(page, `${rp}/saml`);
      expect(await claimOf(page, 'attributes', 'role')).toBe('Sales');
      expect(await claimOf(page, 'attributes', 'perm')).toEqual(['orders.approve', 'orders.view']);
      expect(await claimOf(page, 'subject', 'nameID')).toMatch(/^[\w-]{22}$/);
      await page.goto(rp);
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(`${rp}/`);
      expect(await claimOf(page, 'id-token', 'sub')).toBe(await subOfSaml(page));
    });
  });

  async function subOfSaml(page: Page): Promise<unknown> {
    await page.goto(`${rp}/saml`);
    return claimOf(page, 'attributes', 'sub');
  }

  test('a sign-out at the service provider ends the sign-in at the identity provider', async () => {
    await withPage(async (page) => {
      await signIn(page, `${rp}/saml`);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('status').getByText('You are signed out.').waitFor();
      await page.goto(rp);
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await page.getByLabel('E-mail or user name').waitFor();
    });
  });

  test('a sign-out at the OpenID client reaches the service provider', async () => {
    await withPage(async (page) => {
      await signIn(page, `${rp}/`);
      await page.goto(`${rp}/saml`);
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(`${rp}/saml`);
      await page.goto(rp);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(`${rp}/signed-out`);
      expect(await isSignedIn(page, `${rp}/saml`)).toBe(false);
    });
  });
});
