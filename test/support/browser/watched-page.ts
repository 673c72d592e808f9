import type { Browser, Page } from 'playwright-core';

export interface WatchedPage {
  readonly page: Page;
  /** Scripts that ran, blocked loads, and requests to other origins. */
  readonly incidents: readonly string[];
  /** Makes it that of another person: without cookies and incidents. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

/** A page in a context of its own that tells what happens to it. @param origins whom it may ask. */
export async function openWatchedPage(browser: Browser, origins: readonly string[]): Promise<WatchedPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const incidents: string[] = [];
  page.on('dialog', (dialog) => {
    incidents.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!origins.includes(new URL(request.url()).origin)) incidents.push(`request ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text()) && !/favicon/.test(message.text())) incidents.push(message.text());
  });
  page.on('pageerror', (error) => incidents.push(error.message));
  return {
    page,
    incidents,
    async renew() {
      await context.clearCookies();
      incidents.length = 0;
    },
    close: () => context.close(),
  };
}
