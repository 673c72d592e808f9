import type { Browser, Page } from 'playwright-core';

export interface WatchedPage {
  readonly page: Page;
  /** Scripts that ran, blocked loads, and requests to other origins. */
  readonly incidents: readonly string[];
  /** Removes the cookies and the incidents, as for another user. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a page in a separate context, and records the page's incidents. @param origins origins to which the page may send requests */
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
