/** 4.9 with a client library that is not ours: oidc-client-ts on a page of another site, third-party cookies allowed and blocked. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { describeInBrowser, launchWithCookies } from '../support/chromium.js';
import { testKeys } from '../support/keys.js';
import { testSeed } from '../support/seed.js';
import { testTls } from '../support/tls.js';

jest.setTimeout(60_000);

const installed = dirname(createRequire(import.meta.url).resolve('oidc-client-ts/package.json'));
const library = readFileSync(join(installed, 'dist/browser/oidc-client-ts.min.js'));

/** Serves the library on each page; the callback of a silent request hands its answer on. */
const relyingParty: RequestListener = (request, response) => {
  if (request.url === '/library.js') return void response.end(library);
  response.setHeader('content-type', 'text/html; charset=utf-8');
  const silent = request.url?.startsWith('/silent') ? '<script>new oidc.UserManager({}).signinSilentCallback()</script>' : '';
  response.end(`<!doctype html><title>relying party</title><script src="/library.js"></script>${silent}`);
};

const listen = async (server: Server, host = '127.0.0.1') => {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
};

describeInBrowser('4.9 the session monitor of oidc-client-ts', () => {
  let idp: IdentityProvider;
  let issuer: string;
  let party: string;
  let servers: Server[];
  /** Authorization requests, by `prompt`. */
  let prompts: (string | null)[] = [];
  beforeAll(async () => {
    let listener: RequestListener = (_request, response) => response.writeHead(503).end();
    const service = createTlsServer(testTls, (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'https://idp.invalid');
      if (pathname === '/connect/authorize') prompts.push(searchParams.get('prompt'));
      listener(request, response);
    });
    const client = createServer(relyingParty);
    servers = [service, client];
    issuer = `https://127.0.0.1:${await listen(service)}`;
    party = `http://localhost:${await listen(client)}`;
    const metadata = { redirect_uris: [`${party}/callback`, `${party}/silent`], token_endpoint_auth_method: 'none' };
    idp = await createIdentityProvider({
      issuer,
      keys: { signing: testKeys },
      seed: { ...testSeed, clients: [...testSeed.clients, { id: 'monitor', name: 'Monitor', metadata, allowedScopes: ['openid'] }] },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    listener = idp.callback();
  });
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await idp.close();
  });

  /** A page of the relying party that is signed in and looks at the session each second; `seen` is what its library told it. */
  async function monitor(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    await page.goto(party);
    const settings = `{
      authority: '${issuer}', client_id: 'monitor', scope: 'openid', redirect_uri: '${party}/callback', silent_redirect_uri: '${party}/silent',
      monitorSession: true, checkSessionIntervalInSeconds: 1, automaticSilentRenew: false,
      userStore: new oidc.WebStorageStateStore({ store: localStorage }),
    }`;
    const arrived = page.waitForURL(`${issuer}/**`);
    await page.evaluate(`void new oidc.UserManager(${settings}).signinRedirect()`);
    await arrived;
    await signInHere(page, 'alice@acme.test');
    await page.waitForURL(`${party}/callback*`);
    await page.evaluate(`(async () => {
      window.seen = [];
      window.manager = new oidc.UserManager(${settings});
      for (const event of ['UserSignedOut', 'UserSessionChanged', 'UserSignedIn']) manager.events['add' + event](() => seen.push(event));
      await manager.signinCallback();
    })()`);
    prompts = [];
    return page;
  }

  async function signInHere(page: Page, userName: string): Promise<void> {
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password').fill(userName.split('@')[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function signOutElsewhere(context: BrowserContext): Promise<void> {
    const other = await context.newPage();
    await other.goto(`${issuer}/connect/endsession`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.waitForURL(/success/);
    await other.close();
  }

  const seen = (page: Page) => page.evaluate('seen');

  test('4.9 with third-party cookies: silence while nothing changes, and a sign-out in another tab is seen', async () => {
    const context = await launchWithCookies('allowed');
    const page = await monitor(context);
    await page.waitForTimeout(3_500);
    expect([await seen(page), prompts]).toEqual([[], []]);
    await signOutElsewhere(context);
    await page.waitForFunction("seen.includes('UserSignedOut')", undefined, { timeout: 15_000 });
    await page.waitForTimeout(2_500);
    expect([await seen(page), prompts]).toEqual([['UserSignedOut'], ['none']]);
    await context.close();
  });

  test('4.9 with third-party cookies: another person signing in in another tab is seen as well', async () => {
    const context = await launchWithCookies('allowed');
    const page = await monitor(context);
    const other = await context.newPage();
    const parameters = {
      client_id: 'web',
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1:9/callback',
      scope: 'openid',
      prompt: 'login',
    };
    const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
    await other.goto(`${issuer}/connect/authorize?${new URLSearchParams({ ...parameters, ...challenge })}`);
    prompts = [];
    await signInHere(other, 'bob@globex.test');
    await page.waitForFunction("seen.includes('UserSignedOut')", undefined, { timeout: 15_000 });
    expect(prompts).toEqual(['none']);
    await context.close();
  });

  test('4.9 without third-party cookies: no loop, before a sign-out or after it', async () => {
    const context = await launchWithCookies('blocked');
    const page = await monitor(context);
    await page.waitForTimeout(3_500);
    expect([await seen(page), prompts]).toEqual([[], []]);
    await signOutElsewhere(context);
    await page.waitForTimeout(3_500);
    expect([await seen(page), prompts]).toEqual([[], []]);
    expect(await page.evaluate("manager.signinSilent().then(() => 'signed in', (error) => error.error)")).toBe('login_required');
    expect(prompts).toEqual(['none']);
    await context.close();
  });
});
