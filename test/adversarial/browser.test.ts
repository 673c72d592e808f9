import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Browser, Page } from 'playwright-core';
import { createPkce } from '../support/agent.js';
import { describeInBrowser, launch } from '../support/chromium.js';
import { hostileTexts } from '../support/hostile-content.js';
import { startIdp, type TestIdp } from '../support/idp.js';
import { expectQuietLog } from '../support/leaks.js';
import { testSeed } from '../support/seed.js';

/** Texts that run where a context is left open, on top of those that the pages are tested with. */
const payloads = [
  ...hostileTexts,
  '</script><script>alert(1)</script>',
  '"autofocus onfocus="alert(1)',
  "'-alert(1)-'",
  '<base href="//evil.example/">',
  '<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
  '<iframe srcdoc="<script>parent.alert(1)</script>">',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
];
const hostileName = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
/** Names of a form's own members: a field of that name hides it. */
const clobbering = ['submit', 'action', 'method', 'target', 'elements', 'length', 'nodeName', 'querySelector', 'parentNode', 'attributes'];

describeInBrowser('A5, G1, G7: in a browser', () => {
  let it: TestIdp;
  let browser: Browser;
  let relyingParty: Server;
  let origin: string;
  const received: URLSearchParams[] = [];

  beforeAll(async () => {
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
    const redirect_uris = [`${origin}/callback`, `${origin}/fragment`];
    const hostile = { name: hostileName, allowedScopes: ['openid', 'profile', 'evil.read'], metadata: { redirect_uris } };
    it = await startIdp({
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
          {
            id: 'front',
            name: 'Tokens in the browser',
            metadata: { redirect_uris, response_types: ['code id_token token', 'token'], token_endpoint_auth_method: 'none' },
            allowedScopes: ['openid'],
          },
          { id: 'evil', secret: 'evil-secret', requireConsent: true, ...hostile },
        ],
        apiResources: [...testSeed.apiResources, { id: 'evil-api', name: hostileName, secret: 'evil-api-secret', scopes: ['evil.read'] }],
      },
    });
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    relyingParty.closeAllConnections();
    await new Promise((resolve) => relyingParty.close(resolve));
    await it.close();
  });

  const authorize = (parameters: Record<string, string>, client = 'plain') =>
    `${it.issuer}/connect/authorize?${new URLSearchParams(
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

  /** A page that tells what ran, what was blocked by the browser, and where it was led. */
  const openPage = async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const incidents: string[] = [];
    page.on('dialog', (dialog) => {
      incidents.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(it.issuer) && !request.url().startsWith(origin)) incidents.push(`request ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text()) && !/favicon/.test(message.text())) incidents.push(message.text());
    });
    return { page, incidents, close: () => context.close() };
  };
  const signIn = async (page: Page, url: string, userName = 'alice@acme.test', password = 'alice') => {
    await page.goto(url);
    if (await page.locator('[name=identifier]:not([readonly])').count()) {
      await page.fill('[name=identifier]', userName);
      await page.click('button[type=submit]');
    }
    await page.fill('[name=password]', password);
    await page.click('button[type=submit]');
  };

  test('A5: nothing that a request brings runs, whatever the response mode, and it arrives as it was', async () => {
    const { page, incidents, close } = await openPage();
    await signIn(page, authorize({}));
    const custom = Object.fromEntries(payloads.map((payload) => [payload, payload]));
    const state = payloads.join('');
    for (const mode of ['query', 'form_post'])
      for (const more of [{}, { scope: 'nothing' }] as Record<string, string>[]) {
        const before = received.length;
        await page.goto(authorize({ ...custom, state, ...more, response_mode: mode }));
        await page.waitForURL(`${origin}/callback**`);
        expect(received.length).toBe(before + 1);
        expect({ mode, ...Object.fromEntries(received.at(-1) as URLSearchParams) }).toMatchObject({ mode, ...custom, state });
      }
    expect(incidents).toEqual([]);
    await close();
  });

  /** Names of the protocol's own, and of JWTs. */
  const claimed = {
    code: 'evil',
    iss: 'evil',
    error: 'evil',
    access_token: 'evil',
    id_token: 'evil',
    response: 'evil',
    aud: 'evil',
    exp: '1',
  };
  const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'];

  test.each([
    ['plain', 'code'],
    ['front', 'code id_token token'],
    ['front', 'token'],
  ])('A4, A5: nothing runs, and no member of the response is replaced, in any mode: %s, %s', async (client, type) => {
    const { page, incidents, close } = await openPage();
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    const custom = Object.fromEntries(payloads.map((payload) => [payload, payload]));
    const state = payloads.join('');
    for (const mode of modes.filter((one) => type === 'code' || !one.startsWith('query')))
      for (const error of [undefined, 'invalid_scope']) {
        const count = received.length;
        const scope = error ? 'nothing openid' : 'openid';
        await page.goto(authorize({ ...claimed, ...custom, state, scope, response_type: type, nonce: 'n', response_mode: mode }, client));
        await page.waitForURL(`${origin}/callback**`);
        const { hash } = new URL(page.url());
        expect({ mode, count: received.length }).toEqual({ mode, count: count + 1 });
        const sent = Object.fromEntries(hash === '' ? (received.at(-1) as URLSearchParams) : new URLSearchParams(hash.slice(1)));
        const members: Record<string, unknown> = mode.endsWith('jwt') ? decodeJwt(sent.response ?? '') : sent;
        if (mode.endsWith('jwt')) expect(Object.keys(sent)).toEqual(['response']);
        expect({ mode, ...members }).toMatchObject({ mode, ...custom, state, iss: it.issuer, ...(error ? { error } : {}) });
        const own = ['code', 'access_token', 'id_token', 'error', 'response', ...(mode.endsWith('jwt') ? ['aud', 'exp'] : [])];
        expect({ mode, taken: own.filter((name) => members[name] === claimed[name as 'code']) }).toEqual({ mode, taken: [] });
        expect({ mode, names: type.split(' ').map((name) => (name === 'token' ? 'access_token' : name) in members) }).toEqual({
          mode,
          names: type.split(' ').map(() => error === undefined),
        });
      }
    expect(incidents).toEqual([]);
    await close();
  });

  test('design §5: a request by POST from another site finds the session of the browser', async () => {
    const { page, incidents, close } = await openPage();
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    const fields = Object.fromEntries(new URL(authorize({ prompt: 'none', state: hostileName, [hostileName]: hostileName })).searchParams);
    await page.goto(`${origin}/?${new URLSearchParams({ attack: JSON.stringify({ action: `${it.issuer}/connect/authorize`, fields }) })}`);
    await page.waitForURL(`${origin}/callback**`);
    const answer = Object.fromEntries(received.at(-1) as URLSearchParams);
    expect(answer).toMatchObject({ code: expect.any(String), state: hostileName, [hostileName]: hostileName });
    expect(incidents).toEqual([]);
    await close();
  });

  test('A5: a field that is named like a member of the form does not keep it from being sent', async () => {
    const { page, incidents, close } = await openPage();
    await signIn(page, authorize({}));
    const custom = Object.fromEntries(clobbering.map((name) => [name, 'x']));
    await page.goto(authorize({ ...custom, response_mode: 'form_post', state: 's' }));
    await page.waitForURL(`${origin}/callback`);
    expect(Object.fromEntries(received.at(-1) as URLSearchParams)).toMatchObject({ ...custom, state: 's', code: expect.any(String) });
    expect(incidents).toEqual([]);
    await close();
  });

  test('G7: no name, hint or description runs on a page', async () => {
    const { page, incidents, close } = await openPage();
    for (const payload of payloads) await page.goto(authorize({ login_hint: payload, ui_locales: payload, acr_values: payload }, 'evil'));
    const all = payloads.join('');
    await page.goto(authorize({ prompt: all, scope: all }, 'evil'));
    await page.goto(authorize({ redirect_uri: all }, 'evil'));
    await page.goto(`${it.issuer}/connect/endsession?${new URLSearchParams({ client_id: all, id_token_hint: all, state: all })}`);
    await signIn(page, authorize({ scope: 'openid profile evil.read' }, 'evil'), 'evil@x.test', 'evil');
    await page.waitForSelector('[name=decision]');
    expect(await page.textContent('body')).toContain(hostileName);
    await page.goto(`${it.issuer}/connect/endsession?client_id=evil`);
    await page.waitForSelector('[name=logout]');
    await page.click('[name=logout]');
    await page.waitForURL('**/endsession/success**');
    expect(incidents).toEqual([]);
    await close();
  });

  test('G1: a form of another site signs nobody in, consents to nothing and signs nobody out', async () => {
    const { page, close } = await openPage();
    await page.goto(authorize({}));
    const action = (await page.getAttribute('form', 'action')) as string;
    const csrf = (await page.getAttribute('[name=csrf]', 'value')) as string;
    const attack = (to: string, fields: Record<string, string>) =>
      `${origin}/?${new URLSearchParams({ attack: JSON.stringify({ action: to, fields }) })}`;
    // Lax cookies do not come along: to the service it is a stranger's form, even with the right token.
    const answered = page.waitForResponse((response) => response.url().includes('/password'));
    await page.goto(attack(action.replace(/identifier$/, 'password'), { csrf, identifier: 'alice@acme.test', password: 'alice' }));
    expect([400, 403]).toContain((await answered).status());
    await signIn(page, authorize({}));
    await page.waitForURL(`${origin}/callback**`);
    const refused = page.waitForResponse((response) => response.url().includes('/endsession/confirm'));
    await page.goto(attack(`${it.issuer}/connect/endsession/confirm`, { logout: 'yes', xsrf: 'x' }));
    expect((await refused).status()).toBe(400);
    await page.goto(authorize({ prompt: 'none' }));
    expect(received.at(-1)?.get('code')).toEqual(expect.any(String));
    await close();
  });

  test('F9: no page is shown in a frame', async () => {
    const { page, close } = await openPage();
    for (const target of [authorize({}), `${it.issuer}/connect/endsession`, `${it.issuer}/connect/endsession/success`]) {
      await page.goto(origin);
      const framed = `new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = () => resolve(frame.contentDocument?.body?.innerText ?? 'blocked');
        frame.src = ${JSON.stringify(target)};
        document.body.append(frame);
      })`;
      expect(await page.evaluate(framed)).toBe('blocked');
      expect(page.frames().some((each) => each.url().startsWith(it.issuer))).toBe(false);
    }
    await close();
  });

  test('nothing of it is in the log', () => expectQuietLog(it));
});
