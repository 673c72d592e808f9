/**
 * Section “Profile” in Chromium, on a phone and on a desktop, in both schemes and in each language. `SCREENSHOTS=<folder>` saves pictures.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { locales } from 'tenant-idp';
import { tenantNamed } from '../support/administration/invitations.js';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;
/** The whole matrix is for `PROVE`. */
const looks = [
  { width: 390, colorScheme: 'light', languages: ['en'] },
  ...(process.env.PROVE
    ? ([
        { width: 320, colorScheme: 'dark', languages: locales },
        { width: 1280, colorScheme: 'light', languages: locales },
      ] as const)
    : []),
] as const;

describeInBrowser('the profile in Chromium', () => {
  const service = useIdp({ seed: testSeed });
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
    await service.idp.directory.tenants.update(await tenantNamed(service.idp, 'Acme'), { selfService: ['name', 'phone', 'locale'] });
  });
  afterAll(() => browser?.close());

  test.each(looks)('two tabs; a problem beside its field: $width $colorScheme', async ({ width, colorScheme, languages }) => {
    const context = await browser.newContext({ viewport: { width, height: 844 }, locale: 'en', colorScheme });
    const complaints: string[] = [];
    const newPage = async (): Promise<Page> => {
      const page = await context.newPage();
      return page
        .on('console', (message) => void complaints.push(message.text()))
        .on('pageerror', (error) => void complaints.push(error.message));
    };
    const look = async (page: Page, name: string): Promise<void> => {
      expect(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')).toBe(true);
      await loadAxe(page);
      expect([name, await violationsOn(page, tags)]).toEqual([name, []]);
      if (!screenshots) return;
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `profile-${name}-${colorScheme}-${width}.png`), fullPage: true });
    };
    const url = `${service.issuer}/idp/account/profile`;
    const [first, second] = [await newPage(), await newPage()];
    await first.goto(url);
    await first.getByLabel('E-mail or user name').fill('carol@acme.test');
    await first.getByRole('button', { name: 'Continue', exact: true }).click();
    await first.getByLabel('Password', { exact: true }).fill('carol');
    await first.getByRole('button', { name: 'Sign in', exact: true }).click();
    await first.getByRole('heading', { name: 'Profile' }).waitFor();
    await second.goto(url);
    for (const language of languages) {
      await second.goto(`${url}?ui_locales=${language}`);
      await look(second, `form-${language}`);
    }
    await second.goto(url);
    const name = `Karoline ${width}`;
    await first.getByLabel('Given name').fill(name);
    await first.getByRole('button', { name: 'Save' }).click();
    await first.getByRole('heading', { name: 'Your profile is saved' }).waitFor();
    await look(first, 'saved');
    await second.getByLabel('Given name').fill('Katrin');
    await second.getByLabel('Surname').fill('Krog');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByText(`Saved now: ${name}`).waitFor();
    expect(await second.getByLabel('Surname').inputValue()).toBe('Krog');
    await look(second, 'overtaken');
    await second.getByLabel('Phone number').fill('call me');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByText('Enter a phone number,').waitFor();
    await second.locator('[name="phoneNumber"]:focus').waitFor();
    await look(second, 'problem');
    expect(complaints.filter((line) => !isExpectedInConsole(line))).toEqual([]);
    await context.close();
  });
});
