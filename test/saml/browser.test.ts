/**
 * SAML Profiles §4.1 and §4.4 in a browser, from another site. Service providers run at localhost and the identity provider at 127.0.0.1, so that
 * `SameSite=Lax` cookies are not sent with posts between them.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { authnRequest, postFields } from '../support/saml/inbound/sent-messages.js';
import { type AddOptions, bob, type RegisteredServiceProvider, useSamlService } from '../support/saml/service/use-saml-service.js';

describeInBrowser('SAML in Chromium, across sites', () => {
  const service = useSamlService();
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  const add = (options: AddOptions = {}): Promise<RegisteredServiceProvider> => service.add({ host: 'localhost', ...options });

  /** A form of another site, as the service received it. */
  interface Posted {
    readonly to: string;
    readonly site: string | undefined;
    readonly cookie: string | undefined;
  }
  interface Tab {
    readonly page: Page;
    /** Returns the forms that service providers posted to the service. */
    posted(): Promise<readonly Posted[]>;
  }

  /** Runs a test in a tab. A complaint of the browser fails the test. */
  async function withTab(use: (tab: Tab) => Promise<void>): Promise<void> {
    const context: BrowserContext = await browser.newContext();
    const complaints: string[] = [];
    const reading: Promise<Posted>[] = [];
    const posted = (): Promise<readonly Posted[]> => Promise.all(reading);
    context.on('console', (message) => void (isExpectedInConsole(message.text()) || complaints.push(message.text())));
    context.on('weberror', (error) => void complaints.push(error.error().message));
    const page = await context.newPage();
    page.on('response', (response) => {
      const request = response.request();
      const isOurs = request.method() === 'POST' && request.url().startsWith(`${service.issuer}/idp/saml/`);
      if (isOurs)
        reading.push(
          request.allHeaders().then((headers) => ({
            to: new URL(request.url()).pathname,
            site: headers['sec-fetch-site'],
            cookie: headers.cookie,
          })),
        );
    });
    try {
      await use({ page, posted });
      expect((await posted()).filter(({ site, cookie }) => site !== 'cross-site' || cookie !== undefined)).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  async function signInOn(page: Page): Promise<void> {
    await page.getByLabel('E-mail or user name').fill(bob.userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(bob.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  const isSignedIn = (page: Page): Promise<void> => page.getByRole('heading', { name: 'signed in as' }).waitFor();
  const isSignedOut = (page: Page): Promise<void> => page.getByRole('heading', { name: 'signed out' }).waitFor();
  /** Signs in at service providers. The first sign-in asks for the person; the others show no page. */
  async function signInAt(page: Page, [first, ...others]: readonly RegisteredServiceProvider[]): Promise<void> {
    await page.goto(first?.loginUrl ?? '');
    await signInOn(page);
    await isSignedIn(page);
    for (const { loginUrl } of others) {
      await page.goto(loginUrl);
      await isSignedIn(page);
    }
  }
  async function isAskedAgain(page: Page): Promise<void> {
    await page.goto((await add()).loginUrl);
    await page.getByLabel('E-mail or user name').waitFor();
  }
  async function leaveHere(page: Page): Promise<void> {
    await page.goto(`${service.issuer}/connect/endsession`);
    await page.getByRole('button', { name: 'Sign out' }).click();
  }
  const nameOf = ({ url }: RegisteredServiceProvider): string => `Application ${new URL(url).port}`;

  test('a request and its Response by POST; a second service provider is answered without a question', async () => {
    const [first, second] = [await add({ binding: 'post' }), await add({ binding: 'post' })];
    await withTab(async ({ page, posted }) => {
      await page.goto(`${first.loginUrl}?${new URLSearchParams({ relayState: '/deep?a=1&b="2"' })}`);
      await page.getByText(nameOf(first)).first().waitFor();
      await signInOn(page);
      await isSignedIn(page);
      expect(page.url()).toBe(first.acsUrl);
      await page.getByText('/deep?a=1&b="2"').waitFor();
      await page.goto(second.loginUrl);
      await isSignedIn(page);
      expect(page.url()).toBe(second.acsUrl);
      expect((await posted()).map(({ to }) => to)).toEqual(['/idp/saml/sso', '/idp/saml/sso']);
      expect((await page.context().cookies(service.issuer)).map(({ sameSite }) => sameSite)).toContain('Lax');
    });
    expect([first, second].map(({ responses }) => responses.length)).toEqual([1, 1]);
  });

  test.each(['redirect', 'post'] as const)(
    'a logout that a service provider begins by %s reaches the other, and ends the sign-in',
    async (binding) => {
      const [first, second] = [await add({ binding }), await add({ binding })];
      await withTab(async ({ page, posted }) => {
        await signInAt(page, [first, second]);
        await page.goto(`${first.logoutUrl}?relayState=bye`);
        await isSignedOut(page);
        await page.getByText('bye').waitFor();
        expect((await posted()).filter(({ to }) => to === '/idp/saml/slo')).toHaveLength(binding === 'post' ? 2 : 0);
        expect([first, second].map(({ sessions }) => sessions.size)).toEqual([0, 0]);
        expect(first.loggedOut).toEqual([['Success']]);
        await isAskedAgain(page);
      });
    },
  );

  test.each(['redirect', 'post'] as const)('a sign-out here names the one that does not sign out, by %s', async (binding) => {
    const [failing, other] = [await add({ binding, onLogout: 'fail' }), await add({ binding })];
    await withTab(async ({ page }) => {
      await signInAt(page, [failing, other]);
      await leaveHere(page);
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
      await page.getByText(nameOf(failing)).waitFor();
      expect(await page.getByText(nameOf(other)).count()).toBe(0);
      expect([failing, other].map(({ sessions }) => sessions.size)).toEqual([1, 0]);
      await isAskedAgain(page);
    });
  });

  test('a user who gets stuck at a service provider that does not answer is signed out here', async () => {
    const silent = await add({ onLogout: 'stay-silent' });
    await withTab(async ({ page }) => {
      await signInAt(page, [silent]);
      await leaveHere(page);
      await page.getByText('nothing happens here').waitFor();
      await isAskedAgain(page);
    });
  });

  test('§4.1.5 a link that begins here', async () => {
    const sp = await add({ record: { idpInitiated: { isAllowed: true } } });
    await withTab(async ({ page }) => {
      await page.goto(`${service.issuer}/idp/saml/init?${new URLSearchParams({ sp: sp.entityId, RelayState: '/inbox' })}`);
      await signInOn(page);
      await isSignedIn(page);
      await page.getByText('/inbox').waitFor();
    });
  });

  test('a request that is refused shows its reason, and reaches nobody', async () => {
    const sp = await add({ binding: 'post' });
    await withTab(async ({ page, posted }) => {
      await page.goto(sp.url);
      const { SAMLRequest } = postFields(authnRequest({ issuer: sp.entityId, destination: sp.idp.ssoUrl }));
      const field = `<input type="hidden" name="SAMLRequest" value="${SAMLRequest}">`;
      await page.setContent(`<form method="post" action="${sp.idp.ssoUrl}">${field}<button>Go on</button></form>`);
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByRole('heading', { name: 'This request was not accepted' }).waitFor();
      await page.getByText('Reason: not_signed').waitFor();
      expect(page.url()).toBe(sp.idp.ssoUrl);
      expect(await posted()).toHaveLength(1);
      expect(sp.responses).toEqual([]);
    });
  });
});
