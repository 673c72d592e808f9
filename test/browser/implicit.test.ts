/** 4.2 implicit and hybrid flows in a browser, by an independent client library: openid-client, which runs on the page. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { signOutBeside } from '../support/browser/browser-session.js';
import { type BrowserWithCookies, describeInBrowser, launchWithCookies } from '../support/browser/chromium.js';
import { type BrowserClient, serveBrowserClient } from '../support/client/browser-client.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

describeInBrowser('4.2 openid-client in Chromium', () => {
  let client: BrowserClient;
  let browser: BrowserWithCookies;
  let context: BrowserContext;
  let origin: string;
  const service = useIdp(async () => {
    client = await serveBrowserClient();
    // A frame of the same site has the cookies of the session.
    origin = client.sameSite;
    const metadata = {
      redirect_uris: [`${origin}/callback`],
      response_types: ['id_token', 'id_token token', 'code id_token', 'code id_token token'],
      token_endpoint_auth_method: 'none',
    };
    const page = { id: 'page', name: 'Page', metadata, allowedScopes: ['openid', 'profile'] };
    return { tls: true, seed: { ...testSeed, clients: [...testSeed.clients, page] } };
  });
  beforeAll(async () => {
    browser = await launchWithCookies('blocked');
    ({ context } = browser);
  });
  afterEach(() => context.clearCookies());
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await client[Symbol.asyncDispose]();
  });

  /** Returns the first lines of every script below. */
  const prelude = (responseType: string) => `
    const openid = await import('openid-client');
    const settings = [new URL(${JSON.stringify(service.issuer)}), 'page', undefined, openid.None()];
    const use = ${JSON.stringify(responseType)}.includes('code') ? openid.useCodeIdTokenResponseType : openid.useIdTokenResponseType;
    const party = await openid.discovery(...settings, { execute: [use, openid.enableNonRepudiationChecks] });
    const urlOf = (nonce, state, more) => openid.buildAuthorizationUrl(party, {
      redirect_uri: location.origin + '/callback', scope: 'openid profile', response_type: ${JSON.stringify(responseType)}, nonce, state, ...more,
    }).href;
    const halfHash = async (value) => {
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(value));
      return btoa(String.fromCharCode(...new Uint8Array(digest).subarray(0, 16))).replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=/g, '');
    };`;
  const run = (page: Page, responseType: string, script: string): Promise<unknown> =>
    page.evaluate(`(async () => { ${prelude(responseType)} ${script} })()`);

  /** Goes to the service, signs in there, and returns with the response in the fragment. */
  async function signIn(page: Page, responseType: string): Promise<void> {
    await page.goto(origin);
    const url = await run(
      page,
      responseType,
      `const [nonce, state, verifier] = [openid.randomNonce(), openid.randomState(), openid.randomPKCECodeVerifier()];
       sessionStorage.request = JSON.stringify({ nonce, state, verifier });
       const pkce = { code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' };
       return urlOf(nonce, state, ${JSON.stringify(responseType)}.includes('code') ? pkce : {});`,
    );
    await page.goto(String(url));
    await page.getByLabel('E-mail or user name').fill('alice@acme.test');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill('alice');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/callback#*`);
  }

  const kept = 'const { nonce, state, verifier } = JSON.parse(sessionStorage.request);';

  test.each(['id_token', 'id_token token'])(
    '4.2 implicit flow, %s: a page gets and verifies an ID token, renews it in a frame, and sees the sign-out',
    async (type) => {
      const page = await context.newPage();
      await signIn(page, type);
      expect(new URL(page.url()).search).toBe('');
      const { claims, user, hash } = (await run(
        page,
        type,
        `${kept}
       const url = new URL(location.href);
       const claims = await openid.implicitAuthentication(party, url, nonce, { expectedState: state });
       const token = new URLSearchParams(url.hash.slice(1)).get('access_token');
       return { claims, hash: token && await halfHash(token), user: token && await openid.fetchUserInfo(party, token, claims.sub) };`,
      )) as Record<'claims' | 'user' | 'hash', Record<string, unknown> | null>;
      expect(claims).toMatchObject({ iss: service.issuer, aud: 'page', sid: expect.any(String) });
      expect([claims?.at_hash ?? null, (user ?? claims)?.name]).toEqual([hash, 'Alice Adams']);
      expect(user === null).toBe(type === 'id_token');

      const silently = `
      const [nonce, state] = [openid.randomNonce(), openid.randomState()];
      const frame = document.createElement('iframe');
      const arrived = new Promise((resolve) => { frame.onload = () => resolve(frame.contentWindow.location.href); });
      frame.src = urlOf(nonce, state, { prompt: 'none' });
      document.body.append(frame);
      const url = new URL(await arrived);
      return openid.implicitAuthentication(party, url, nonce, { expectedState: state }).catch(({ error }) => error);`;
      expect(await run(page, type, silently)).toMatchObject({ sub: claims?.sub, sid: claims?.sid, auth_time: claims?.auth_time });

      // The frame client of oidc-client-ts watches the session of that response.
      await run(
        page,
        type,
        `const state = new URLSearchParams(location.hash.slice(1)).get('session_state');
         window.replies = [];
         addEventListener('message', ({ origin, data }) => origin === ${JSON.stringify(service.issuer)} && replies.push(data));
         const frame = new oidc.CheckSessionIFrame(
           async () => { window.isChanged = true; }, 'page', party.serverMetadata().check_session_iframe, 0.25, true,
         );
         await frame.load();
         frame.start(state);`,
      );
      await page.waitForFunction('replies.length > 1', undefined, { polling: 50 });
      expect(await page.evaluate('[...new Set(replies)]')).toEqual(['unchanged']);
      await signOutBeside(context, service.issuer);
      await page.waitForFunction('window.isChanged', undefined, { polling: 50 });
      expect(await run(page, type, silently)).toBe('login_required');
    },
  );

  test.each(['code id_token', 'code id_token token'])(
    '4.2 hybrid flow, %s: a page verifies the ID token and redeems the code',
    async (type) => {
      const page = await context.newPage();
      await signIn(page, type);
      const { claims, user } = (await run(
        page,
        type,
        `${kept}
       const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state };
       const tokens = await openid.authorizationCodeGrant(party, new URL(location.href), checks);
       const claims = tokens.claims();
       return { claims, user: await openid.fetchUserInfo(party, tokens.access_token, claims.sub) };`,
      )) as Record<'claims' | 'user', Record<string, unknown>>;
      expect(claims).toMatchObject({ iss: service.issuer, aud: 'page' });
      expect(user).toMatchObject({ sub: claims.sub, name: 'Alice Adams' });
    },
  );
});
