/** The call centre of the demo in two browsers: the agent asks, the caller's phone shows the request, and the tokens appear. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { type RunningDemo, startDemo } from '../support/service/example.js';
import { testTogether } from '../support/service/test-together.js';
import { until } from '../support/time/until.js';

describeInBrowser('the call centre of the demo in Chromium', () => {
  let browser: Browser;
  let demo: RunningDemo;
  let rp: string;
  let idp: string;
  beforeAll(async () => {
    demo = await startDemo();
    ({ idp, rp } = demo);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    expect(await demo?.stop()).toBe(0);
  });

  /** Opens the browser of the agent and the phone of the caller. Errors in their consoles fail the test. */
  async function withTwo(javaScriptEnabled: boolean, use: (agent: Page, caller: Page) => Promise<void>): Promise<void> {
    const contexts: BrowserContext[] = [
      await browser.newContext({ javaScriptEnabled }),
      await browser.newContext({ javaScriptEnabled, viewport: { width: 320, height: 640 } }),
    ];
    const complaints: string[] = [];
    for (const context of contexts) {
      context.on('console', (message) => {
        if (message.type() === 'error' && !isExpectedInConsole(message.text())) complaints.push(message.text());
      });
      context.on('weberror', (error) => void complaints.push(error.error().message));
    }
    const [agent, caller] = await Promise.all(contexts.map((context) => context.newPage()));
    await use(agent as Page, caller as Page);
    expect(complaints).toEqual([]);
    await Promise.all(contexts.map((context) => context.close()));
  }

  async function signIn(page: Page, userName: string, password: string): Promise<void> {
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function isAccessible(page: Page): Promise<void> {
    await loadAxe(page);
    expect([page.url(), await violationsOn(page)]).toEqual([page.url(), []]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }

  testTogether('“Ask alice” → her phone shows the request, with what the agent says → she approves → the tokens appear', async () => {
    await withTwo(true, async (agent, caller) => {
      await caller.goto(`${rp}/phone`);
      await agent.goto(`${rp}/call-centre`);
      await isAccessible(agent);
      await agent.getByRole('button', { name: 'Ask Alice at Acme' }).click();
      const number = await agent.locator('[data-number]').textContent();
      expect(number).toMatch(/^\d{3} \d{3}$/);
      const push = caller.locator('#phone-Alice').getByRole('link', { name: 'Call centre asks you to sign in' });
      await push.waitFor();
      await caller
        .locator('#phone-Alice')
        .getByText(number ?? '')
        .waitFor();
      await push.click();
      await signIn(caller, 'alice@acme.test', 'alice');
      await caller.getByRole('heading', { name: 'Call centre asks you to sign in' }).waitFor();
      expect(await caller.locator('.quote.code blockquote').innerText()).toBe(number);
      const left = caller.locator('[data-seconds]');
      const before = await left.innerText();
      await until(async () => (await left.innerText()) !== before);
      await isAccessible(caller);
      await caller.getByRole('button', { name: 'Approve' }).click();
      await caller.getByRole('heading', { name: 'You approved this' }).waitFor();
      await agent.getByText('Alice approved: this is them.').waitFor();
      expect(await agent.locator('#id-token [data-claim="amr"] dd code').textContent()).toBe('["pwd"]');
      expect(await agent.locator('#tokens [data-claim="access_token"] dd code').count()).toBe(1);
    });
  });

  testTogether('the inbox shows a request as it comes; “No, it’s not me” tells the agent no', async () => {
    await withTwo(true, async (agent, caller) => {
      await caller.goto(`${idp}/idp/ciba`);
      await signIn(caller, 'bob@globex.test', 'bob');
      await caller.getByText('There are no requests right now.').waitFor();
      await agent.goto(`${rp}/call-centre`);
      await agent.getByRole('button', { name: 'Ask Bob at Globex' }).click();
      const entry = caller.getByRole('link', { name: 'Call centre' });
      await entry.waitFor();
      await isAccessible(caller);
      await entry.click();
      await caller.getByRole('button', { name: 'No, it’s not me' }).click();
      await caller.getByRole('heading', { name: 'Thank you for telling us' }).waitFor();
      await isAccessible(caller);
      await agent.getByText('Bob denied it').waitFor();
    });
  });

  test('without JavaScript: the same by “Check again”', async () => {
    await withTwo(false, async (agent, caller) => {
      await caller.goto(`${idp}/idp/ciba`);
      await signIn(caller, 'alice@acme.test', 'alice');
      await caller.getByText('There are no requests right now.').waitFor();
      await agent.goto(`${rp}/call-centre`);
      await agent.getByRole('button', { name: 'Ask Alice at Acme' }).click();
      await agent.getByText('Waiting for Alice').waitFor();
      await caller.getByRole('link', { name: 'Check again' }).click();
      await caller.getByRole('link', { name: 'Call centre' }).click();
      await caller.getByRole('button', { name: 'Deny' }).click();
      await caller.getByRole('heading', { name: 'You denied this' }).waitFor();
      // The demo polls the token endpoint every five seconds.
      for (const denied = agent.getByText('Alice denied it'); (await denied.count()) === 0; ) {
        await agent.waitForTimeout(200);
        await agent.reload();
      }
    });
  });
});
