/** A sibling subdomain that attacks sign-ins over https, in Chromium: the subdomain may set cookies for the whole domain. */
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Cookie, Page } from 'playwright-core';
import { describeInBrowser, launchAmong } from '../support/browser/chromium.js';
import { testTls } from '../support/browser/tls.js';
import { authorizeUrl, createPkce } from '../support/client/agent.js';
import { startIdp } from '../support/service/idp.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { testSeed } from '../support/service/seed.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';

const domain = 'example.test';

const authorize = ({ issuer }: IdpInUse, redirectUri: string, more: Record<string, string> = {}) =>
  authorizeUrl(issuer, {
    client_id: 'app',
    redirect_uri: redirectUri,
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
    ...more,
  });
const app = (redirectUri: string) => ({
  id: 'app',
  name: 'App',
  secret: 'app-secret',
  metadata: { redirect_uris: [redirectUri] },
  allowedScopes: ['openid'],
});

async function signIn(page: Page, name = 'alice'): Promise<void> {
  await page.getByLabel('E-mail or user name').fill(`${name}@acme.test`);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Password', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

describeInBrowser('M1: a sibling subdomain in Chromium', () => {
  let browser: Browser;
  /** Server of every other host of the domain: the application, and the attacker's site that sets cookies. */
  let others: Server;
  let evil: string;
  let callback: string;
  /** Page in the browser of an attacker, which ignores the content security policy. */
  let attacker: Page;
  let victim: Page;

  const service = useIdp(async () => {
    others = createServer(testTls, (request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'https://others.invalid');
      response.setHeader('set-cookie', JSON.parse(searchParams.get('cookies') ?? '[]'));
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>here</title>');
    });
    await new Promise<void>((resolve) => others.listen(0, '127.0.0.1', resolve));
    const { port } = others.address() as AddressInfo;
    evil = `https://evil.${domain}:${port}/`;
    callback = `https://app.${domain}:${port}/callback`;
    return { hostname: `login.${domain}`, tls: true, seed: { ...testSeed, clients: [app(callback)] } };
  });
  beforeAll(async () => {
    browser = await launchAmong(domain);
    attacker = await (await browser.newContext({ ignoreHTTPSErrors: true, bypassCSP: true })).newPage();
    victim = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  });
  afterEach(async () => {
    for (const page of [attacker, victim]) await page.context().clearCookies();
  });
  afterAll(async () => {
    await browser?.close();
    others.closeAllConnections();
    others.close();
  });

  const begin = async (page: Page, more: Record<string, string> = {}): Promise<string> => {
    await page.goto(authorize(service, callback, more));
    return page.url();
  };
  const uidOf = (url: string): string => new URL(url).pathname.split('/')[3] as string;
  const cookiesOf = (page: Page): Promise<Cookie[]> => page.context().cookies();
  const secretOf = async (page: Page) => (await cookiesOf(page)).find(({ name }) => name === '__Host-idp.browser')?.value;
  const isSignedIn = async (page: Page): Promise<boolean> => {
    await page.goto(authorize(service, callback, { prompt: 'none' }));
    return new URL(page.url()).searchParams.has('code');
  };

  /** Sets all cookies of the attacker's browser in the victim's browser, for the whole domain, by the attacker's site. */
  async function toss(attacker: Page, victim: Page): Promise<void> {
    const cookies = (await cookiesOf(attacker)).filter((cookie) => cookie.domain.includes('login.'));
    const lines = cookies.flatMap(({ name, value, path }) => [
      `${name}=${value}; Domain=${domain}; Path=${path}; Secure; SameSite=Lax`,
      `=${name}=${value}; Domain=${domain}; Path=${path}; Secure; SameSite=Lax`,
    ]);
    await victim.goto(`${evil}?${new URLSearchParams({ cookies: JSON.stringify(lines) })}`);
    const set = (await cookiesOf(victim)).filter((cookie) => cookie.domain === `.${domain}`).map(({ name }) => name);
    expect(set).toEqual(expect.arrayContaining(cookies.map(({ name }) => name).filter((name) => !name.startsWith('__Host-'))));
    expect(set).toContain('__Secure-idp.interaction');
    expect(set.filter((name) => name.startsWith('__Host-'))).toEqual([]);
  }

  /** Posts the form of the page without following the redirect. */
  const submitAndStay = (page: Page, fields: Record<string, string>) =>
    page.evaluate(`(async () => {
      const form = new FormData(document.querySelector('form'));
      for (const [name, value] of Object.entries(${JSON.stringify(fields)})) form.set(name, value);
      const { type } = await fetch(document.querySelector('form').action, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' });
      return type;
    })()`);

  test.each([
    ['who has never signed in here', false],
    ['who has begun a sign-in before', true],
  ])('M1: the sign-in that an attacker began stays without a session when a victim, %s, goes through it', async (_, isKnown) => {
    const page = await begin(attacker, { state: 'of the attacker' });
    if (isKnown) await begin(victim);
    const before = await secretOf(victim);
    await toss(attacker, victim);
    await victim.goto(page);
    expect(new URL(victim.url()).pathname).toMatch(/^\/idp\/interaction\//);
    expect(uidOf(victim.url())).not.toBe(uidOf(page));
    await signIn(victim);
    await victim.waitForURL(`${callback}*`);
    expect(new URL(victim.url()).searchParams.get('code')).not.toBeNull();
    expect(await secretOf(victim)).toMatch(/^[\w-]{43}$/);
    if (isKnown) expect(await secretOf(victim)).toBe(before);
    expect(await secretOf(victim)).not.toBe(await secretOf(attacker));

    await attacker.goto(`${service.issuer}/connect/authorize/${uidOf(page)}`);
    expect(attacker.url().startsWith(callback)).toBe(false);
    expect(await isSignedIn(attacker)).toBe(false);
    expect(await isSignedIn(victim)).toBe(true);
  });

  test.each([
    ['who has never signed in here', false],
    ['who has begun a sign-in before', true],
  ])('M1: an attacker’s sign-in does not become that of a victim, %s', async (_, isKnown) => {
    const page = await begin(attacker);
    await attacker.getByLabel('E-mail or user name').fill('carol@acme.test');
    await attacker.getByRole('button', { name: 'Continue' }).click();
    await attacker.getByLabel('Password', { exact: true }).waitFor();
    expect(await submitAndStay(attacker, { password: 'carol' })).toBe('opaqueredirect');
    if (isKnown) await begin(victim);
    await toss(attacker, victim);
    const resume = `${service.issuer}/connect/authorize/${uidOf(page)}`;
    await victim.goto(resume);
    expect(new URL(victim.url()).pathname).toMatch(/^\/idp\/interaction\//);
    expect(await victim.getByLabel('E-mail or user name').count()).toBe(1);
    expect(await isSignedIn(victim)).toBe(false);
    // The same URL works in the attacker's browser.
    await attacker.goto(resume);
    await attacker.waitForURL(`${callback}*`);
    expect(await isSignedIn(attacker)).toBe(true);
  });

  test('M1: the accounts of an attacker are not offered to a victim', async () => {
    await begin(attacker);
    await signIn(attacker, 'carol');
    await attacker.waitForURL(`${callback}*`);
    await begin(attacker, { prompt: 'select_account' });
    expect(await attacker.content()).toContain('carol@');
    await toss(attacker, victim);
    await begin(victim, { prompt: 'select_account' });
    expect(await victim.content()).not.toContain('carol@');
    expect(await victim.getByLabel('E-mail or user name').count()).toBe(1);
  });

  test('M1: who fills the cookie jar gets the secret forgotten, not replaced, and the victim signs in all the same', async () => {
    await begin(victim);
    const before = await secretOf(victim);
    const page = victim.url();
    for (let round = 0; round < 3; round += 1) {
      const lines = Array.from({ length: 100 }, (_, each) => `c${round}-${each}=x; Domain=${domain}; Path=/; Secure`);
      await victim.goto(`${evil}?${new URLSearchParams({ cookies: JSON.stringify(lines) })}`);
    }
    expect(await secretOf(victim)).toBeUndefined();
    await victim.goto(page);
    // The cookies of that sign-in are lost, and its record still exists.
    expect(uidOf(victim.url())).not.toBe(uidOf(page));
    expect(await secretOf(victim)).not.toBe(before);
    await signIn(victim);
    await victim.waitForURL(`${callback}*`);
    expect(await isSignedIn(victim)).toBe(true);
  });

  test.each([
    ['one after the other', false],
    ['at once, of which one secret is left', true],
  ])('M1: sign-ins in two tabs of one browser, begun %s, come to their ends', async (_, isAtOnce) => {
    const one = victim;
    const two = await victim.context().newPage();
    const beginnings = [() => begin(one, { state: 'one', prompt: 'login' }), () => begin(two, { state: 'two', prompt: 'login' })];
    if (isAtOnce) await Promise.all(beginnings.map((each) => each()));
    else for (const each of beginnings) await each();
    for (const [tab, state] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      await tab.getByLabel('E-mail or user name').fill('alice@acme.test');
      await tab.getByRole('button', { name: 'Continue' }).click();
      const again = tab.getByRole('link', { name: 'Start again' });
      await again.or(tab.getByLabel('Password', { exact: true })).waitFor();
      if (isAtOnce && (await again.count()) > 0) await again.click();
      else await tab.getByRole('link', { name: 'Not you?' }).click();
      await signIn(tab);
      await tab.waitForURL(`${callback}*`);
      expect(Object.fromEntries(new URL(tab.url()).searchParams)).toMatchObject({ state, code: expect.any(String) });
    }
    await two.close();
  });

  test('nothing of it is in the log', () => expectQuietLog(service));

  test('M1: in development, http://localhost signs in, with the secret in a cookie of its own', async () => {
    const ofApp = `https://127.0.0.1:${new URL(evil).port}/callback`;
    const local = await startIdp({ hostname: 'localhost', seed: { ...testSeed, clients: [app(ofApp)] } });
    try {
      await victim.goto(authorize(local, ofApp));
      await signIn(victim);
      await victim.waitForURL(`${ofApp}*`);
      expect(new URL(victim.url()).searchParams.get('code')).not.toBeNull();
      const secret = (await cookiesOf(victim)).find(({ name }) => name === 'idp.browser');
      expect(secret).toMatchObject({ domain: 'localhost', path: '/', httpOnly: true, secure: false, sameSite: 'Lax' });
      const days = ((secret?.expires ?? 0) - Date.now() / 1000) / 86_400;
      expect(Math.round(days)).toBe(400);
      expectQuietLog(local);
    } finally {
      await local.close();
    }
  });
});
