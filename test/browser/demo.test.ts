/** Issue 4, 9: the demo in a browser, as a newcomer meets it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, ConsoleMessage, Page, WebError } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { type RunningDemo, startDemo } from '../support/service/example.js';
import { codeOf } from '../support/sign-in/factors.js';
import { until } from '../support/time/until.js';

const screenshots = process.env.SCREENSHOTS;

describeInBrowser('the demo in Chromium', () => {
  let browser: Browser;
  let demo: RunningDemo;
  let idp: string;
  let rp: string;
  /** Browser contexts with JavaScript and without. The cookies of both are cleared between tests. */
  let scripting: BrowserContext;
  let scriptless: BrowserContext;
  beforeAll(async () => {
    demo = await startDemo();
    ({ idp, rp } = demo);
    browser = await launch();
    scripting = await browser.newContext();
    scriptless = await browser.newContext({ javaScriptEnabled: false });
    for (const context of [scripting, scriptless]) await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    expect(await demo?.stop()).toBe(0);
  });

  /** Opens a page in a context. Errors in the console or on a page fail the test. */
  async function withBrowser(context: BrowserContext, use: (page: Page) => Promise<void>): Promise<void> {
    const complaints: string[] = [];
    const onConsole = (message: ConsoleMessage) => {
      if (!isExpectedInConsole(message.text())) complaints.push(message.text());
    };
    const onError = (error: WebError) => void complaints.push(error.error().message);
    context.on('console', onConsole).on('weberror', onError);
    try {
      await use(context.pages()[0] as Page);
      expect(complaints).toEqual([]);
    } finally {
      context.off('console', onConsole).off('weberror', onError);
      await context.clearCookies();
    }
  }

  async function typeName(page: Page, userName: string): Promise<void> {
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  async function typePassword(page: Page, password: string): Promise<void> {
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function signIn(page: Page, userName: string, password: string, link = 'Sign in'): Promise<void> {
    await page.goto(rp);
    await page.getByRole('link', { name: link, exact: true }).click();
    await typeName(page, userName);
    await typePassword(page, password);
    await page.waitForURL(`${rp}/`);
  }

  async function signOut(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${rp}/signed-out`);
    await page.getByRole('status').getByText('You are signed out.').waitFor();
  }

  /** Returns the value of a claim in a panel, parsed from JSON. */
  async function claim(page: Page, panel: string, name: string): Promise<unknown> {
    await page.waitForLoadState();
    const value = page.locator(`#${panel} [data-claim="${name}"] dd code`);
    return (await value.count()) === 0 ? undefined : JSON.parse((await value.textContent()) ?? '');
  }

  const identityIn = async (page: Page, panel: string) => ({
    sub: await claim(page, panel, 'sub'),
    oid: await claim(page, panel, 'oid'),
    tid: await claim(page, panel, 'tid'),
  });

  /** Signs in as alice, and then as her linked account, and compares the claims of both. */
  async function meetBothAlices(page: Page, meanwhile = async () => {}): Promise<void> {
    await signIn(page, 'alice@acme.test', 'alice');
    const atAcme = await identityIn(page, 'id-token');
    await meanwhile();
    expect(await identityIn(page, 'userinfo')).toEqual(atAcme);
    expect(await identityIn(page, 'introspection')).toEqual(atAcme);
    const [other, ...more] = (await claim(page, 'userinfo', 'may_login')) as { oid: string; tid: string; companyname: string }[];
    expect({ companyname: other?.companyname, more }).toEqual({ companyname: 'Globex', more: [] });
    await signOut(page);

    await signIn(page, 'alice@globex.test', 'alice');
    const atGlobex = await identityIn(page, 'id-token');
    expect(atGlobex).toEqual({ sub: atAcme.sub, oid: other?.oid, tid: other?.tid });
    expect(atGlobex.tid).not.toBe(atAcme.tid);
    expect(atGlobex.oid).not.toBe(atAcme.oid);
    expect(await claim(page, 'userinfo', 'company_name')).toBe('Globex');
    await signOut(page);
  }

  test('alice signs in, refreshes, calls the API and signs out; her linked account has the same sub and another tid', async () => {
    await withBrowser(scripting, (page) =>
      meetBothAlices(page, async () => {
        expect(await claim(page, 'introspection', 'active')).toBe(true);
        expect(await claim(page, 'userinfo', 'role')).toEqual(['Sales']);
        expect(await claim(page, 'userinfo', 'perm')).toEqual(['orders.approve', 'orders.view']);
        const before = { access: await claim(page, 'tokens', 'access_token'), identity: await identityIn(page, 'id-token') };
        await page.getByRole('button', { name: 'Refresh now' }).click();
        await page.getByText('Refreshed once').waitFor();
        expect(await claim(page, 'tokens', 'access_token')).not.toBe(before.access);
        expect(await claim(page, 'introspection', 'active')).toBe(true);
        for (const panel of ['id-token', 'userinfo', 'introspection']) expect(await identityIn(page, panel)).toEqual(before.identity);
        await page.getByRole('button', { name: 'Call it' }).click();
        await page.getByText('Rocket skates').waitFor();
      }),
    );
  });

  test('ida sets up the second factor that Initech requires, and is signed in with it', async () => {
    await withBrowser(scripting, async (page) => {
      await page.goto(rp);
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await typeName(page, 'ida@initech.test');
      await typePassword(page, 'ida');
      // A browser with passkeys shows the passkeys first, and the authenticator app in a closed section.
      await page.locator('details.choice:not([open]) > summary').click();
      await page.getByLabel('6-digit code').fill(codeOf((await page.locator('#secret code').textContent()) ?? ''));
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('button', { name: 'I saved them' }).click();
      await page.waitForURL(`${rp}/`);
      expect(await claim(page, 'id-token', 'amr')).toEqual(['pwd', 'mfa']);
      await signOut(page);
    });
  });

  test('alice goes over to Globex from the account page, and bob after her', async () => {
    await withBrowser(scripting, async (page) => {
      await signIn(page, 'alice@acme.test', 'alice');
      const { sub, tid } = await identityIn(page, 'id-token');
      await page.getByRole('link', { name: 'Sign in to Globex' }).click();
      // Linked accounts share one sign-in, so a change between them requires no password.
      await page.getByRole('button', { name: 'alice@globex.test' }).click();
      await page.getByText('Signed in to Globex').waitFor();
      const over = await identityIn(page, 'userinfo');
      expect(over.sub).toBe(sub);
      expect(over.tid).not.toBe(tid);
      await signOut(page);
      await signIn(page, 'bob@globex.test', 'bob');
      expect(await claim(page, 'userinfo', 'name')).toBe('Bob Berg');
      await signOut(page);
    });
  });

  test('bob belongs to Globex alone, and to nobody at Acme', async () => {
    await withBrowser(scripting, async (page) => {
      await signIn(page, 'bob@globex.test', 'bob', 'Sign in to Globex');
      expect(await claim(page, 'userinfo', 'company_name')).toBe('Globex');
      expect(await claim(page, 'userinfo', 'may_login')).toBeUndefined();
      expect(await claim(page, 'id-token', 'oid')).toBeUndefined();
      await signOut(page);
      await page.getByRole('link', { name: 'Sign in to Acme' }).click();
      await typeName(page, 'bob@globex.test');
      await typePassword(page, 'bob');
      await page.locator('#password-problem').waitFor();
      expect(new URL(page.url()).origin).toBe(idp);
    });
  });

  test('G8 sven of support signs in as bob, does something, ends it, and is himself again', async () => {
    await withBrowser(scripting, async (page) => {
      await signIn(page, 'sven@globex.test', 'sven');
      const self = await identityIn(page, 'id-token');
      await page.getByRole('link', { name: 'Sign in as somebody else' }).click();
      await page.getByLabel('Name, user name or e-mail address').fill('bob');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByText('alice@globex.test').first().waitFor({ state: 'detached' });
      await takeScreenshots(page, 'act-as');
      await page.getByRole('button', { name: /Bob Berg/ }).click();
      await page.getByLabel('Reason').fill('Ticket 4711: the order list is empty');
      await takeScreenshots(page, 'act-as-why');
      await page.getByRole('button', { name: 'Act as Bob Berg' }).click();

      await page.getByText('You act as Bob Berg.').waitFor();
      await page.waitForURL(`${rp}/`);
      expect(await claim(page, 'id-token', 'act')).toEqual({ oid: self.sub, sub: self.sub, tid: self.tid });
      expect(await claim(page, 'id-token', 'amr')).toEqual(['pwd', 'imp']);
      expect(await claim(page, 'userinfo', 'name')).toBe('Bob Berg');
      expect(await claim(page, 'tokens', 'refresh_token')).toBeUndefined();
      expect(await page.getByRole('link', { name: 'Sign in as somebody else' }).count()).toBe(0);
      await page.getByRole('button', { name: 'Call it' }).click();
      await page.getByText('Widget').waitFor();
      await takeScreenshots(page, 'impersonation');

      await page.getByRole('link', { name: 'End', exact: true }).click();
      await page.getByRole('heading', { name: 'You act as Bob Berg' }).waitFor();
      await takeScreenshots(page, 'acting-end');
      await page.getByRole('button', { name: 'End', exact: true }).click();
      await page.waitForURL(`${rp}/`);
      await page.getByRole('heading', { name: 'Sven Strand' }).waitFor();
      expect(await identityIn(page, 'id-token')).toEqual(self);
      expect(await claim(page, 'id-token', 'act')).toBeUndefined();
      expect(await page.getByText('You act as').count()).toBe(0);

      await until(async () => {
        await page.goto(`${rp}/mail`);
        return page.getByText('To bob@globex.test').count();
      });
      await page.getByRole('link', { name: 'Somebody signed in as you at Globex' }).click();
      await page.getByText('Sven Strand of Globex signed in as bob@globex.test').first().waitFor();
      await takeScreenshots(page, 'acting-mail');
      await page.goto(rp);
      await signOut(page);
    });
  });

  test('a wrong password is told, and the right one still signs in', async () => {
    await withBrowser(scripting, async (page) => {
      await page.goto(rp);
      await page.getByRole('link', { name: 'Sign in', exact: true }).click();
      await typeName(page, 'alice@acme.test');
      await typePassword(page, 'wrong');
      await page
        .locator('#password-problem')
        .getByText(/password/i)
        .waitFor();
      await typePassword(page, 'alice');
      await page.waitForURL(`${rp}/`);
    });
  });

  test('everything but /spa works without JavaScript', async () => {
    await withBrowser(scriptless, (page) => meetBothAlices(page));
  });

  test('the public client gets its tokens in the browser, and signs out', async () => {
    await withBrowser(scripting, async (page) => {
      await page.goto(`${rp}/spa`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await typeName(page, 'alice@acme.test');
      await typePassword(page, 'alice');
      await page.getByRole('heading', { name: 'Userinfo' }).waitFor();
      expect([await claim(page, 'id-token', 'iss'), await claim(page, 'id-token', 'aud')]).toEqual([idp, 'spa']);
      expect(await identityIn(page, 'userinfo')).toEqual(await identityIn(page, 'id-token'));
      expect(await claim(page, 'userinfo', 'company_name')).toBe('Acme');
      expect(page.url()).toBe(`${rp}/spa`);
      await takeScreenshots(page, 'spa-signed-in');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await page.waitForURL(`${rp}/spa`);
    });
  });

  test('each page is accessible and fits, in both schemes, on a phone and on a desk', async () => {
    await withBrowser(scripting, async (page) => {
      await page.goto(rp);
      await takeScreenshots(page, 'home');
      await page.goto(`${rp}/spa`);
      await takeScreenshots(page, 'spa');
      await page.goto(`${rp}/sign-in?tenant=`);
      await takeScreenshots(page, 'sign-in');
      await typeName(page, 'alice@acme.test');
      await page.getByLabel('Password', { exact: true }).waitFor();
      await takeScreenshots(page, 'password');
      await page.goto(rp);
      await page.getByRole('link', { name: 'Sign in to Globex' }).click();
      await page.getByLabel('E-mail or user name').waitFor();
      await takeScreenshots(page, 'sign-in-globex');
      await signIn(page, 'alice@acme.test', 'alice', 'Sign in to Acme');
      await page.getByRole('button', { name: 'Refresh now' }).click();
      await page.getByText('Refreshed once').waitFor();
      await page.getByRole('button', { name: 'Call it' }).click();
      await page.getByText('Rocket skates').waitFor();
      await takeScreenshots(page, 'account');
      await signOut(page);
      await takeScreenshots(page, 'signed-out');
    });
  });

  async function takeScreenshots(page: Page, name: string): Promise<void> {
    // Other tests check the pages of the identity provider for accessibility.
    await page.waitForLoadState();
    const isOurs = page.url().startsWith(rp);
    if (isOurs) await loadAxe(page);
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [360, 1280]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        if (!screenshots) continue;
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `demo-${name}-${colorScheme}-${width}.png`), fullPage: true });
      }
      if (isOurs) expect(await violationsOn(page)).toEqual([]);
    }
  }
});
