import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { openWatchedPage, type WatchedPage } from '../support/browser/watched-page.js';
import { createPkce } from '../support/client/agent.js';
import { payloads } from '../support/requests/hostile-parameters.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const hostileName = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
describeInBrowser('A5, G1, G7: in a browser', () => {
  let browser: Browser;
  let relyingParty: Server;
  let origin: string;
  const received: URLSearchParams[] = [];

  const service = useIdp(async () => {
    relyingParty = createServer(async (request, response) => {
      const url = new URL(request.url ?? '/', 'http://x');
      if (url.pathname === '/callback')
        received.push(request.method === 'POST' ? new URLSearchParams(await text(request)) : url.searchParams);
      const attack = url.searchParams.get('attack');
      const form = attack && JSON.parse(attack);
      const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        form
          ? `<!doctype html><form method="post" action="${escaped(form.action)}">${Object.entries(form.fields)
              .map(([name, value]) => `<input name="${escaped(name)}" value="${escaped(String(value))}">`)
              .join('')}</form><script>document.forms[0].submit()</script>`
          : '<!doctype html><title>arrived</title>',
      );
    });
    await new Promise<void>((resolve) => relyingParty.listen(0, '127.0.0.1', resolve));
    origin = `http://localhost:${(relyingParty.address() as AddressInfo).port}`;
    const redirect_uris = [`${origin}/callback`];
    const hostile = { name: hostileName, allowedScopes: ['openid', 'profile', 'evil.read'], metadata: { redirect_uris } };
    return {
      seed: {
        ...testSeed,
        tenants: [
          ...testSeed.tenants,
          {
            name: hostileName,
            persons: [{ givenName: hostileName, familyName: hostileName, user: { userName: 'evil@x.test', devPassword: 'evil' } }],
          },
        ],
        clients: [
          ...testSeed.clients,
          { id: 'plain', name: 'Plain', secret: 'plain-secret', metadata: { redirect_uris }, allowedScopes: ['openid'] },
          { id: 'evil', secret: 'evil-secret', requireConsent: true, ...hostile },
        ],
        apiResources: [...testSeed.apiResources, { id: 'evil-api', name: hostileName, secret: 'evil-api-secret', scopes: ['evil.read'] }],
      },
    };
  });
  let watched: WatchedPage;
  beforeAll(async () => {
    browser = await launch();
    watched = await openWatchedPage(browser, [service.issuer, origin]);
  });
  beforeEach(() => watched.renew());
  afterAll(async () => {
    await browser?.close();
    relyingParty.closeAllConnections();
    await new Promise((resolve) => relyingParty.close(resolve));
  });

  const authorize = (parameters: Record<string, string>, client = 'plain') =>
    `${service.issuer}/connect/authorize?${new URLSearchParams(
      Object.entries({
        client_id: client,
        response_type: 'code',
        scope: 'openid',
        redirect_uri: `${origin}/callback`,
        code_challenge: createPkce().challenge,
        code_challenge_method: 'S256',
        ...parameters,
      }),
    )}`;

  const signIn = async (page: Page, url: string, userName = 'alice@acme.test', password = 'alice') => {
    await page.goto(url);
    if (await page.locator('[name=identifier]:not([readonly])').count()) {
      await page.fill('[name=identifier]', userName);
      await page.click('button[type=submit]');
    }
    await page.fill('[name=password]', password);
    await page.click('button[type=submit]');
  };

  test('design §5: a request by POST from another site finds the session of the browser', async () => {
    const { page, incidents } = watched;
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    const fields = Object.fromEntries(new URL(authorize({ prompt: 'none', state: hostileName, [hostileName]: hostileName })).searchParams);
    await page.goto(
      `${origin}/?${new URLSearchParams({ attack: JSON.stringify({ action: `${service.issuer}/connect/authorize`, fields }) })}`,
    );
    await page.waitForURL(`${origin}/callback**`);
    const answer = Object.fromEntries(received.at(-1) as URLSearchParams);
    expect(answer).toMatchObject({ code: expect.any(String), state: hostileName, [hostileName]: hostileName });
    expect(incidents).toEqual([]);
  });

  test('G7: no name, hint or description runs on a page', async () => {
    const { page, incidents } = watched;
    const third = Math.ceil(payloads.length / 3);
    const some = [0, 1, 2].map((part) => payloads.slice(part * third, (part + 1) * third).join(' '));
    for (const payload of process.env.PROVE ? payloads : some)
      await page.goto(authorize({ login_hint: payload, ui_locales: payload, acr_values: payload }, 'evil'));
    const all = payloads.join('');
    await page.goto(authorize({ prompt: all, scope: all }, 'evil'));
    await page.goto(authorize({ redirect_uri: all }, 'evil'));
    await page.goto(`${service.issuer}/connect/endsession?${new URLSearchParams({ client_id: all, id_token_hint: all, state: all })}`);
    await signIn(page, authorize({ scope: 'openid profile evil.read' }, 'evil'), 'evil@x.test', 'evil');
    await page.waitForSelector('[name=decision]');
    expect(await page.textContent('body')).toContain(hostileName);
    await page.goto(`${service.issuer}/connect/endsession?client_id=evil`);
    await page.waitForSelector('[name=logout]');
    await page.click('[name=logout]');
    await page.waitForURL('**/endsession/success**');
    expect(incidents).toEqual([]);
  });

  test('G1: a form of another site signs nobody in, consents to nothing and signs nobody out', async () => {
    const { page } = watched;
    await page.goto(authorize({}));
    const action = (await page.getAttribute('form', 'action')) as string;
    const csrf = (await page.getAttribute('[name=csrf]', 'value')) as string;
    const attack = (to: string, fields: Record<string, string>) =>
      `${origin}/?${new URLSearchParams({ attack: JSON.stringify({ action: to, fields }) })}`;
    // The browser sends no Lax cookies, so the service sees a stranger's form, even with the right token.
    const answered = page.waitForResponse((response) => response.url().includes('/password'));
    await page.goto(attack(action.replace(/identifier$/, 'password'), { csrf, identifier: 'alice@acme.test', password: 'alice' }));
    expect([400, 403]).toContain((await answered).status());
    await page.waitForURL((url) => url.pathname.endsWith('/password'));
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    const refused = page.waitForResponse((response) => response.url().includes('/endsession/confirm'));
    await page.goto(attack(`${service.issuer}/connect/endsession/confirm`, { logout: 'yes', xsrf: 'x' }));
    expect((await refused).status()).toBe(400);
    await page.waitForURL((url) => url.pathname.endsWith('/endsession/confirm'));
    await page.goto(authorize({ prompt: 'none' }));
    expect(received.at(-1)?.get('code')).toEqual(expect.any(String));
  });

  test('F9: the check-session page is shown in a frame of another site, and no other page is', async () => {
    const { page } = watched;
    /** Returns the address that a frame of the target shows. */
    const framed = async (target: string): Promise<string> => {
      if (page.url() !== `${origin}/`) await page.goto(origin);
      const shown = page.waitForEvent('framenavigated', (frame) => frame !== page.mainFrame());
      await page.evaluate(`{
        const frame = document.createElement('iframe');
        frame.src = ${JSON.stringify(target)};
        document.body.append(frame);
      }`);
      return (await shown).url();
    };
    const checkSession = `${service.issuer}/connect/checksession`;
    expect(await framed(checkSession)).toBe(checkSession);
    const refused = async (...targets: string[]) => {
      for (const target of targets) expect([target, await framed(target)]).toEqual([target, 'chrome-error://chromewebdata/']);
    };
    await page.goto(authorize({}));
    const signInPage = page.url();
    await refused(authorize({}), signInPage, authorize({ redirect_uri: 'x' }));
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    await refused(
      authorize({ prompt: 'login' }),
      authorize({ prompt: 'consent' }),
      authorize({ prompt: 'select_account' }),
      authorize({ scope: 'openid profile evil.read' }, 'evil'),
      authorize({ response_mode: 'form_post' }),
      authorize({ prompt: 'none', response_mode: 'form_post', scope: 'nothing' }),
      `${signInPage}/password`,
      `${service.issuer}/idp/interaction/none`,
      `${service.issuer}/connect/authorize/none`,
      `${service.issuer}/connect/endsession`,
      `${service.issuer}/connect/endsession?id_token_hint=x`,
      `${service.issuer}/connect/endsession/success`,
    );
  });

  test('nothing of it is in the log', () => expectQuietLog(service));
});
