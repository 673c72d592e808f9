/**
 * Issue 14, external sign-in, in Chromium: on a phone and a desktop, with JavaScript and without, checked by axe. `SCREENSHOTS=<folder>`
 * saves pictures.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { authorizeUrl, createPkce } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;

describeInBrowser('external sign-in in Chromium', () => {
  let upstream: UpstreamProvider;
  /** Returns the URL of the application: an empty page, on the server of the provider. */
  const application = () => `${upstream.issuer}/application`;
  const service = useIdp(async () => {
    upstream = await startUpstream();
    const connection = { id: 'contoso', name: 'Contoso', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
    const metadata = { redirect_uris: [application()] };
    const clients = [{ id: 'app', name: 'Web shop', secret: 'app-secret', metadata, allowedScopes: ['openid'] }];
    return {
      seed: {
        ...testSeed,
        clients,
        extensions: { connections: [{ ...connection, linkBySignIn: true, domains: ['contoso.test'] }] },
      } as never,
    };
  });
  let browser: Browser;
  beforeAll(async () => {
    upstream.register(service.issuer, ['contoso']);
    upstream.instead = (req, res) =>
      req.url?.startsWith('/application') === true &&
      Boolean(res.writeHead(200, { 'content-type': 'text/html' }).end('<title>Application</title>'));
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await upstream?.close();
  });

  async function inPage(
    {
      width,
      javaScriptEnabled = true,
      colorScheme = 'light',
    }: { width: number; javaScriptEnabled?: boolean; colorScheme?: 'light' | 'dark' },
    use: (page: Page, look: (name: string) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const context = await browser.newContext({ viewport: { width, height: 844 }, locale: 'en', javaScriptEnabled, colorScheme });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(message.text())).on('pageerror', (error) => void complaints.push(error.message));
    try {
      await use(page, async (name) => {
        expect(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')).toBe(true);
        if (javaScriptEnabled) {
          await loadAxe(page);
          expect([name, await violationsOn(page, tags)]).toEqual([name, []]);
        }
        if (!screenshots) return;
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `connection-${name}-${colorScheme}-${width}.png`), fullPage: true });
      });
      expect(complaints.filter((line) => !isExpectedInConsole(line))).toEqual([]);
    } finally {
      await context.close();
    }
  }
  const start = (page: Page) =>
    page.goto(
      authorizeUrl(service.issuer, {
        client_id: 'app',
        redirect_uri: application(),
        code_challenge: createPkce().challenge,
        code_challenge_method: 'S256',
      }),
    );

  test.each([
    { width: 320, javaScriptEnabled: true },
    { width: 1280, colorScheme: 'dark' as const },
    { width: 390, javaScriptEnabled: false },
  ])('cancelled, nobody here, the existing account connected, and then signed in at once: %j', async (look) => {
    const { tenants, accounts } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const carol = (await accounts.candidates('carol@acme.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(acme).users.update(carol, { externalIdentities: [] });
    await inPage(look, async (page, at) => {
      upstream.person = undefined;
      await start(page);
      await page.getByRole('button', { name: 'Continue with Contoso' }).waitFor();
      await at('button');
      await page.getByRole('button', { name: 'Continue with Contoso' }).click();
      await page.getByRole('heading', { name: 'You cancelled at Contoso' }).waitFor();
      await at('cancelled');
      await page.getByRole('link', { name: 'Other ways to sign in' }).click();
      await page.getByLabel('E-mail or user name').fill('somebody@contoso.test');
      upstream.person = { sub: 'carol there', email: 'carol@acme.test', email_verified: true };
      await page.getByRole('button', { name: 'Continue', exact: true }).click();
      await page.getByRole('heading', { name: 'There is no account for you yet' }).waitFor();
      await at('unknown');
      await page.getByRole('button', { name: 'Sign in to my account' }).click();
      await page.getByLabel('E-mail or user name').fill('carol@acme.test');
      await page.getByRole('button', { name: 'Continue', exact: true }).click();
      await page.getByLabel('Password', { exact: true }).fill('carol');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('heading', { name: 'Connect these accounts?' }).waitFor();
      await at('link');
      await page.getByRole('button', { name: 'Connect accounts' }).click();
      await page.waitForURL((url) => url.href.startsWith(application()) && url.searchParams.has('code'));
      await page.context().clearCookies();
      await start(page);
      await page.getByRole('button', { name: 'Continue with Contoso' }).click();
      await page.waitForURL((url) => url.href.startsWith(application()) && url.searchParams.has('code'));
    });
  });

  test.each([
    { width: 320, javaScriptEnabled: true },
    { width: 1280, colorScheme: 'dark' as const },
    { width: 390, javaScriptEnabled: false },
  ])('an account that a tenant’s administrator recorded the identity for is none of mine, and then it is: %j', async (look) => {
    const { tenants, accounts } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const carol = (await accounts.candidates('carol@acme.test'))[0]?.person.user.id ?? '';
    const administrator = { ofAllTenants: false, permissionIds: [], administers: (tid: string) => tid === acme, holds: () => false };
    const { users } = service.idp.directory.as({ actor: 'client:acme' }, administrator).forTenant(acme);
    for (const externalIdentities of [[], [{ idp: 'contoso', subject: 'carol there' }]]) await users.update(carol, { externalIdentities });
    upstream.person = { sub: 'carol there', email: 'carol@acme.test', email_verified: true };
    await inPage(look, async (page, at) => {
      await start(page);
      await page.getByRole('button', { name: 'Continue with Contoso' }).click();
      await page.getByRole('heading', { name: 'Is one of these accounts yours?' }).waitFor();
      await at('claims');
      await page.getByRole('button', { name: 'None of these is mine' }).click();
      await page.getByRole('heading', { name: 'There is no account for you yet' }).waitFor();
      await start(page);
      await page.getByRole('button', { name: 'Continue with Contoso' }).click();
      await page.getByRole('button', { name: /Acme entered Contoso as your way to sign in/ }).click();
      await page.waitForURL((url) => url.href.startsWith(application()) && url.searchParams.has('code'));
    });
  });
});
