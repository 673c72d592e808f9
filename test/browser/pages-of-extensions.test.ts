/**
 * Pages of extensions in the journeys of users: each answer is kept, and shown in Chromium. Pages that need no journey are in the gallery.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { captureMail, invite, invitingSeed, personalTenant } from '../support/administration/invitations.js';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../support/client/agent.js';
import type { Sending } from '../support/client/send.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied, enrolOn } from '../support/sign-in/factors.js';
import { forget, linkIn, mailTo, NEW_PASSWORD, passwordPage, pkce, pressForgotten } from '../support/sign-in/passwords.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const MOST_BYTES = 30_000;
const screenshots = process.env.SCREENSHOTS;
const schemes = process.env.PROVE ? (['light', 'dark'] as const) : (['light'] as const);

/** First page of each heading, by the heading. */
const seen = new Map<string, Answer>();
/** Browser without JavaScript whose pages are kept. */
class Visitor extends Agent {
  override async request(url: string, sending: Sending = {}): Promise<Answer> {
    const answer = await super.request(url, sending);
    const title = titleOf(answer);
    if (title !== '' && !seen.has(title)) seen.set(title, answer);
    return answer;
  }
}

const captured = captureMail();
let upstream: UpstreamProvider;
const service = useIdp(async () => {
  upstream = await startUpstream();
  const connection = { id: 'upstream', name: 'Contoso ID', issuer: upstream.issuer, linkBySignIn: true };
  return {
    seed: {
      ...invitingSeed,
      extensions: { connections: [{ ...connection, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET }] },
    } as never,
    mail: captured.mail,
    personalTenant,
  };
});
beforeAll(() => upstream.register(service.issuer, ['upstream']));
afterAll(() => upstream?.close());

const begin = (parameters: Record<string, string> = {}): string => authorizeUrl(service.issuer, { ...pkce, ...parameters });
const press = async (visitor: Agent, page: Answer, fields: Record<string, string>): Promise<Answer> =>
  visitor.follow(await visitor.submit(page, fields));

/** Accepts an invitation. Also opens an invitation link twice, malformed, and as a user with a personal account. */
async function invitations(): Promise<void> {
  const visitor = new Visitor();
  const { url } = await invite(service.idp);
  await visitor.get(`${url}x`);
  const page = await visitor.get(url);
  await new Visitor().submit(page, { password: NEW_PASSWORD });
  await visitor.submit(page, { password: 'short' });
  await press(visitor, page, { password: NEW_PASSWORD });
  await new Visitor().get(url);
  const linked = await invite(service.idp, { link: true });
  const other = new Visitor();
  const choice = await other.get(linked.url);
  await press(other, choice, { step: 'create' });
  const asked = await press(other, choice, { step: 'sign-in' });
  await press(other, await press(other, asked, { identifier: 'paula@home.test' }), { password: 'paula' });
}

/** Resets a forgotten password by a reset link. Also opens malformed, used and replaced links. */
async function passwords(): Promise<void> {
  const visitor = new Visitor();
  const page = await pressForgotten(visitor, await passwordPage(service.issuer, visitor, 'carol@acme.test'));
  await visitor.submit(page, { identifier: '' });
  await visitor.submit(page, {});
  const url = linkIn(await mailTo(captured, 'carol@acme.test', 'password-reset'));
  const reset = await visitor.get(url);
  await visitor.submit(reset, { password: 'short' });
  await new Visitor().submit(reset, { password: NEW_PASSWORD });
  await press(visitor, reset, { password: NEW_PASSWORD });
  await new Visitor().get(url);
  await new Visitor().get(`${url}x`);
  await forget(service.issuer, 'bob@globex.test');
  const first = linkIn(await mailTo(captured, 'bob@globex.test', 'password-reset'));
  await forget(service.issuer, 'bob@globex.test');
  await mailTo(captured, 'bob@globex.test', 'password-reset', 1);
  await new Visitor().get(first);
  await visitor.follow(await visitor.get(`${service.issuer}/idp/email`));
}

/** Sets up a second factor, gives wrong codes for it, and opens the user's page of factors. */
async function factors(): Promise<void> {
  const visitor = new Visitor();
  const page = await signIn(visitor, begin({ acr_values: 'mfa' }));
  const [secret = ''] = copied(page);
  await visitor.submit(page, { code: codeOf(secret, 7) });
  await enrolOn(visitor, page);
  await visitor.get(`${service.issuer}/idp/factors`);
  await visitor.get(`${service.issuer}/idp/account`);
  const challenge = await signIn(new Visitor(), begin({ acr_values: 'mfa' }));
  const again = new Visitor();
  const asked = await signIn(again, begin({ acr_values: 'mfa' }));
  for (let wrong = 0; wrong < 6; wrong += 1) await again.submit(asked, { code: `00000${wrong}` });
  const recovery = new Visitor();
  const last = await signIn(recovery, begin({ acr_values: 'mfa' }));
  const way = /href="([^"]*with=recovery)"/.exec(last.body)?.[1] ?? '';
  await recovery.submit(await recovery.get(way.replaceAll('&amp;', '&')), { recovery: 'wrong' });
  expect(titleOf(challenge)).toBe(titleOf(asked));
}

/** Signs a user in with three browsers, and opens the sessions page. */
async function sessions(): Promise<void> {
  const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0';
  for (const userAgent of [firefox, 'a program'])
    await signIn(new Agent({ 'user-agent': userAgent }), begin(), 'alice@globex.test', 'alice');
  const visitor = new Visitor({ 'user-agent': firefox });
  await signIn(visitor, begin(), 'alice@globex.test', 'alice');
  await visitor.follow(await visitor.get(`${service.issuer}/idp/account/sessions`));
}

/** Signs in at another provider, with different outcomes. */
async function connections(): Promise<void> {
  const through = async (visitor: Agent): Promise<Answer> => {
    const begun = await visitor.follow(await visitor.get(begin({ acr_values: 'idp:upstream' })));
    return visitor.follow(await visitor.get(await atUpstream(upstream, begun)));
  };
  upstream.person = undefined;
  await through(new Visitor());
  upstream.person = { sub: 'stranger', email: 'stranger@upstream.test' };
  const visitor = new Visitor();
  const unknown = await through(visitor);
  const asked = await press(visitor, unknown, { step: 'link' });
  await press(visitor, await press(visitor, asked, { identifier: 'carol@acme.test' }), { password: NEW_PASSWORD });
  upstream.instead = (req, res) => req.url === '/token' && Boolean(res.writeHead(500).end());
  await through(new Visitor());
  upstream.instead = undefined;
  await new Visitor().get(`${service.issuer}/idp/connections/upstream/callback?state=x&code=y`);
}

describeInBrowser('pages of extensions in Chromium', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await launch();
    page = await browser.newPage({ viewport: { width: 320, height: 640 } });
  });
  afterAll(() => browser?.close());

  test('design §6, WCAG 2.2 AA: each page of each journey is accessible, weighs at most 30 KB and loads only itself', async () => {
    for (const journey of [invitations, passwords, sessions, factors, connections]) await journey();
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        'Welcome to Acme',
        'Link these accounts?',
        'Forgotten password?',
        'Your password is changed',
        'There is a newer link',
        'Set up a second factor',
        'Save your recovery codes',
        'Confirm that it is you',
        'Your account',
        'Sessions',
        'You cancelled at Contoso ID',
        'Connect these accounts?',
      ]),
    );
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(message.text()));
    page.on('request', (request) => void asked.push(request.url()));
    let shown: Answer | undefined;
    await page.route('**', (route) =>
      shown && route.request().isNavigationRequest()
        ? route.fulfill({ status: shown.status, headers: Object.fromEntries(shown.headers), body: shown.body })
        : route.abort(),
    );
    for (const [title, answer] of seen) {
      expect([title, Buffer.byteLength(answer.body) <= MOST_BYTES]).toEqual([title, true]);
      shown = answer;
      asked.length = 0;
      await page.goto(answer.url);
      await loadAxe(page);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        if (screenshots) await page.screenshot({ path: join(screenshots, `${title}-${colorScheme}.png`), fullPage: true });
        expect([title, colorScheme, await violationsOn(page, tags)]).toEqual([title, colorScheme, []]);
      }
      if (process.env.PROVE) {
        await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
        expect([title, 'forced colours', await violationsOn(page, tags)]).toEqual([title, 'forced colours', []]);
        await page.emulateMedia({ forcedColors: 'none' });
      }
      expect([title, complaints.filter((line) => !isExpectedInConsole(line))]).toEqual([title, []]);
      expect([title, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([title, 320]);
      expect([title, asked.filter((url) => url !== answer.url)]).toEqual([title, []]);
    }
  });
});
