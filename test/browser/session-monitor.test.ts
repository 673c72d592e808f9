/**
 * 4.9 and silent renewal with an independent client library: oidc-client-ts, which polls the frame. On a page of the service's own site,
 * the frame has all cookies. On a page of another site, the frame has at most the cookie of the check-session frame.
 */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { UserManagerSettings } from 'oidc-client-ts';
import type { BrowserContext, Page } from 'playwright-core';
import { signInBeside, signOutBeside } from '../support/browser/browser-session.js';
import { type BrowserWithCookies, describeInBrowser, launchWithCookies } from '../support/browser/chromium.js';
import { createPkce } from '../support/client/agent.js';
import { type BrowserClient, serveBrowserClient } from '../support/client/browser-client.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

/** Seconds from one check of the session to the next. */
const INTERVAL_SECONDS = 0.25;

describeInBrowser('4.2 4.9 oidc-client-ts in Chromium', () => {
  let client: BrowserClient;
  let browsers: BrowserWithCookies[] = [];
  /** Browser contexts with third-party cookies and without. */
  let allowed: BrowserContext;
  let blocked: BrowserContext;
  /** Requested paths, with the value of `prompt`. */
  let asked: string[] = [];
  const service = useIdp(async () => {
    client = await serveBrowserClient();
    const under = (path: string) => [client.origin, client.sameSite].map((origin) => origin + path);
    const metadata = {
      redirect_uris: [...under('/callback'), ...under('/silent')],
      post_logout_redirect_uris: under('/signed-out'),
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    };
    return {
      tls: true,
      seed: { ...testSeed, clients: [...testSeed.clients, { id: 'monitor', name: 'Monitor', metadata, allowedScopes: ['openid'] }] },
      host: (idp) => {
        const callback = idp.callback();
        return (request, response) => {
          const { pathname, searchParams } = new URL(request.url ?? '/', 'https://idp.invalid');
          asked.push(`${pathname} ${searchParams.get('prompt') ?? ''}`.trim());
          callback(request, response);
        };
      },
    };
  });
  beforeAll(async () => {
    browsers = await Promise.all([launchWithCookies('allowed'), launchWithCookies('blocked')]);
    [allowed, blocked] = browsers.map(({ context }) => context) as [BrowserContext, BrowserContext];
  });
  afterEach(async () => {
    for (const { context } of browsers) {
      await context.clearCookies();
      for (const page of context.pages().slice(1)) await page.close();
    }
  });
  afterAll(async () => {
    for (const browser of browsers) await browser[Symbol.asyncDispose]();
    await client[Symbol.asyncDispose]();
  });

  type Settings = Partial<UserManagerSettings>;

  /** Page of an application: `manager` of the library, the events of the library (`seen`) and the replies of the frame (`replies`). */
  class Application {
    private constructor(
      readonly page: Page,
      readonly origin: string,
      readonly settings: Settings,
    ) {}

    static async open(context: BrowserContext, origin: string, settings: Settings = {}): Promise<Application> {
      const application = new Application(await context.newPage(), origin, settings);
      await application.page.goto(origin);
      await application.#manage();
      return application;
    }

    /** Opens an application in a signed-in browser, and waits for the first reply of the frame. */
    static async signedIn(context: BrowserContext, origin: string, settings: Settings = {}): Promise<Application> {
      await signInElsewhere(context, 'alice@acme.test');
      const application = await Application.open(context, origin, settings);
      await application.signIn();
      await application.until('replies.length > 0');
      asked = [];
      return application;
    }

    async #manage(): Promise<void> {
      const settings: UserManagerSettings = {
        authority: service.issuer,
        client_id: 'monitor',
        redirect_uri: `${this.origin}/callback`,
        silent_redirect_uri: `${this.origin}/silent`,
        post_logout_redirect_uri: `${this.origin}/signed-out`,
        monitorSession: true,
        checkSessionIntervalInSeconds: INTERVAL_SECONDS,
        automaticSilentRenew: false,
        ...this.settings,
      };
      await this.read(`{
        window.seen = [];
        window.replies = [];
        addEventListener('message', ({ origin, data }) => origin === ${JSON.stringify(service.issuer)} && replies.push(data));
        window.manager = new oidc.UserManager(${JSON.stringify(settings)});
        for (const event of ['UserSignedIn', 'UserSignedOut', 'UserSessionChanged'])
          manager.events['add' + event](() => seen.push(event));
      }`);
    }

    read(expression: string): Promise<unknown> {
      return this.page.evaluate(expression);
    }
    async until(expression: string): Promise<void> {
      await this.page.waitForFunction(expression, undefined, { polling: 50 });
    }
    /** Returns the events of the library, and each distinct reply of the frame. */
    told(): Promise<unknown> {
      return this.read('[seen, [...new Set(replies)]]');
    }
    async moreReplies(count: number): Promise<void> {
      await this.until(`replies.length >= ${Number(await this.read('replies.length')) + count}`);
    }
    /** Waits until the library stops its checks. Some checks may still be in progress when the library gets its last answer. */
    async silence(): Promise<void> {
      for (let before = -1, now = await this.read('replies.length'); now !== before; ) {
        await this.intervals(6);
        [before, now] = [Number(now), await this.read('replies.length')];
      }
    }
    /** Waits for the time of so many checks of the session. Nothing may follow from these checks. */
    async intervals(count: number): Promise<void> {
      await this.page.waitForTimeout(count * INTERVAL_SECONDS * 1000);
    }
    forget(): Promise<unknown> {
      return this.read('seen.length = replies.length = 0');
    }

    /** Signs in from the page: through the sign-in pages with a user name, and without any sign-in page otherwise. */
    async signIn(userName?: string): Promise<void> {
      const arrived = this.#arrival('/callback');
      await this.read('void manager.signinRedirect()');
      if (userName) await fillIn(this.page, userName);
      await arrived;
      await this.#manage();
      await this.read('manager.signinCallback()');
    }
    async signOut(): Promise<void> {
      const arrived = this.#arrival('/signed-out');
      await this.read('void manager.signoutRedirect()');
      await arrived;
    }
    async #arrival(path: string): Promise<void> {
      const main = this.page.mainFrame();
      await this.page.waitForEvent('framenavigated', (frame) => frame === main && frame.url().startsWith(this.origin + path));
      await this.page.waitForLoadState();
    }

    /** Renews the tokens. Returns the new access token, or the error. */
    renew(): Promise<unknown> {
      return this.read('manager.signinSilent().then((user) => user.access_token, (error) => error.error)');
    }
  }

  async function fillIn(page: Page, userName: string): Promise<void> {
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(userName.split('@')[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function signInElsewhere(context: BrowserContext, userName: string): Promise<void> {
    const redirect_uri = `${client.origin}/callback`;
    const request = { client_id: 'monitor', response_type: 'code', redirect_uri, scope: 'openid', prompt: 'login' };
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    await signInBeside(context, `${service.issuer}/connect/authorize?${new URLSearchParams({ ...request, ...pkce })}`, userName);
  }
  const signOutElsewhere = (context: BrowserContext) => signOutBeside(context, service.issuer);

  const silently = () => asked.filter((path) => path === '/connect/authorize none').length;
  const [byFrame, byToken] = [['/connect/authorize none', '/connect/token'], ['/connect/token']];
  const aToken = expect.stringMatching(/^[\w-]{20,}$/);

  /** Renews twice, and then asks the frame about the session state from before the renewals. */
  async function expectRenewal(application: Application, way: readonly string[]): Promise<void> {
    const before = (await application.read('manager.getUser()')) as Record<string, string>;
    const tokens = [before.access_token, await application.renew(), await application.renew()];
    expect(tokens).toEqual([aToken, aToken, aToken]);
    expect(new Set(tokens).size).toBe(3);
    expect(asked).toEqual([...way, ...way]);
    await application.forget();
    const message = JSON.stringify(`monitor ${before.session_state}`);
    await application.read(`{
      const frame = [...document.querySelectorAll('iframe')].find(({ src }) => src.endsWith('/checksession'));
      frame.contentWindow.postMessage(${message}, ${JSON.stringify(service.issuer)});
    }`);
    await application.moreReplies(2);
  }

  test('4.9 another site: silence while nothing changes, and a sign-out in another tab is seen at the next look', async () => {
    const application = await Application.open(allowed, client.origin);
    await application.signIn('alice@acme.test');
    await application.until('replies.length > 0');
    asked = [];
    await application.moreReplies(2);
    expect([await application.told(), asked]).toEqual([[[], ['unchanged']], []]);
    const other = await Application.open(allowed, client.origin, { monitorSession: false });
    await other.signIn();
    asked = [];
    await other.signOut();
    await application.until("seen.includes('UserSignedOut')");
    await application.silence();
    expect([await application.told(), silently()]).toEqual([[['UserSignedOut'], ['unchanged', 'changed']], 1]);
  });

  test.each(['bob@globex.test', 'alice@acme.test'])(
    '4.9 another site: %s signing in in another tab ends the sign-in of Alice here, who is back without a password if it was she',
    async (userName) => {
      const application = await Application.signedIn(allowed, client.origin);
      await signInElsewhere(allowed, userName);
      await application.until("seen.includes('UserSignedOut') || seen.includes('UserSessionChanged')");
      await application.intervals(4);
      expect([await application.read('seen'), silently()]).toEqual([['UserSignedOut'], 1]);
      await application.read('manager.removeUser()');
      await application.signIn();
      await application.moreReplies(2);
      expect([await application.told(), silently()]).toEqual([[[], ['unchanged']], 1]);
    },
  );

  test('4.9 another site: a page where nobody is signed in learns that something changed, and asks once', async () => {
    asked = [];
    const application = await Application.open(allowed, client.origin, { monitorAnonymousSession: true });
    await application.until('replies.length > 1');
    expect([await application.told(), silently()]).toEqual([[[], ['unchanged']], 1]);
    await signInElsewhere(allowed, 'alice@acme.test');
    await application.until('seen.length > 0');
    await application.forget();
    await application.moreReplies(2);
    expect([await application.told(), silently()]).toEqual([[[], ['unchanged']], 2]);
  });

  test('4.4 4.9 another site: renewal by a refresh token changes no session, and fails after the sign-out', async () => {
    const application = await Application.signedIn(allowed, client.origin, { scope: 'openid offline_access' });
    await expectRenewal(application, byToken);
    expect(await application.told()).toEqual([[], ['unchanged']]);
    await signOutElsewhere(allowed);
    expect(await application.renew()).toBe('invalid_grant');
  });

  test('4.9 another site, no third-party cookies: the frame says error, and nobody asks again, whatever happens', async () => {
    const application = await Application.signedIn(blocked, client.origin, { stopCheckSessionOnError: false });
    await application.moreReplies(2);
    await signInElsewhere(blocked, 'alice@acme.test');
    await signOutElsewhere(blocked);
    asked = [];
    await application.moreReplies(2);
    expect([await application.told(), asked]).toEqual([[[], ['error']], []]);
  });

  test('4.9 another site, no third-party cookies: by default the library stops asking the frame', async () => {
    const application = await Application.signedIn(blocked, client.origin);
    await application.silence();
    expect([await application.told(), asked]).toEqual([[[], ['error']], []]);
  });

  test('4.9 another site, no third-party cookies: a page where nobody is signed in asks once', async () => {
    asked = [];
    const application = await Application.open(blocked, client.origin, { monitorAnonymousSession: true, stopCheckSessionOnError: false });
    await application.until('replies.length > 0');
    await signInElsewhere(blocked, 'alice@acme.test');
    await application.moreReplies(2);
    expect([await application.told(), silently()]).toEqual([[[], ['error']], 1]);
  });

  test('4.4 another site, no third-party cookies: renewal by a refresh token works until the sign-out', async () => {
    const application = await Application.signedIn(blocked, client.origin, {
      scope: 'openid offline_access',
      stopCheckSessionOnError: false,
    });
    await expectRenewal(application, byToken);
    expect(await application.told()).toEqual([[], ['error']]);
    await signOutElsewhere(blocked);
    asked = [];
    expect([await application.renew(), asked]).toEqual(['invalid_grant', ['/connect/token']]);
  });

  test.each([
    ['with third-party cookies', () => allowed],
    ['without', () => blocked],
  ])('4.2 another site, %s: renewal in a frame says login_required, and the way by the page itself needs no password', async (_, of) => {
    const application = await Application.signedIn(of(), client.origin);
    expect(await application.renew()).toBe('login_required');
    await application.signIn();
    await application.intervals(4);
    expect([await application.read('seen'), asked.filter((path) => path.startsWith('/connect/authorize'))]).toEqual([
      [],
      ['/connect/authorize none', '/connect/authorize'],
    ]);
  });

  test.each([
    ['with third-party cookies', () => allowed],
    ['without', () => blocked],
  ])('4.2 4.9 the same site, %s: renewal in a frame brings a new token and changes no session, until the sign-out', async (_, of) => {
    const application = await Application.signedIn(of(), client.sameSite);
    await expectRenewal(application, byFrame);
    expect(await application.told()).toEqual([[], ['unchanged']]);
    await signOutElsewhere(of());
    expect(await application.renew()).toBe('login_required');
    await application.until("seen.includes('UserSignedOut')");
  });

  test.each(['alice@acme.test', 'alice@globex.test'])(
    '4.9 the same site: %s signing in again, or by a linked account, is a change of session, asked about once and then watched on',
    async (userName) => {
      const application = await Application.signedIn(blocked, client.sameSite);
      await signInElsewhere(blocked, userName);
      await application.until("seen.includes('UserSessionChanged')");
      await application.forget();
      await application.moreReplies(3);
      expect([await application.told(), silently()]).toEqual([[[], ['unchanged']], 1]);
    },
  );

  test('4.9 the same site: another person is told from a change of session, and a page where nobody is signed in sees the sign-in', async () => {
    asked = [];
    const nobody = await Application.open(blocked, client.sameSite, { monitorAnonymousSession: true });
    await nobody.until('replies.length > 0');
    const application = await Application.signedIn(blocked, client.sameSite);
    await nobody.until('seen.length > 0');
    await application.moreReplies(1);
    asked = [];
    await signInElsewhere(blocked, 'bob@globex.test');
    await application.until('seen.length > 0');
    await application.intervals(4);
    expect([await nobody.read('seen'), await application.read('seen'), silently()]).toEqual([['UserSignedIn'], ['UserSignedOut'], 1]);
  });
});
