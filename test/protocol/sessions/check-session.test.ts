import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describeInBrowser, isExpectedInConsole, launch } from '../../support/browser/chromium.js';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let relyingParty: Server;
let party: string;
const service = useIdp(async () => {
  relyingParty = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://rp.invalid');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const frame = pathname === '/monitor' ? `<iframe src="${new URL(searchParams.get('frame') ?? '').href}"></iframe>` : '';
    response.end(`<!doctype html><title>relying party</title>${frame}`);
  });
  await new Promise<void>((resolve) => relyingParty.listen(0, '127.0.0.1', resolve));
  party = `http://127.0.0.1:${(relyingParty.address() as AddressInfo).port}`;
  const [web] = testSeed.clients;
  const monitored = { ...web, id: 'monitored', metadata: { ...web?.metadata, redirect_uris: [`${party}/callback`] } };
  return { seed: { ...testSeed, clients: [...testSeed.clients, monitored] } as typeof testSeed };
});
afterAll(async () => {
  relyingParty.closeAllConnections();
  relyingParty.close();
});

afterEach(backToPresent);

const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const request = (parameters: Record<string, string | undefined> = {}) => authorizeUrl(service.issuer, { ...challenge, ...parameters });
const frameUrl = () => `${service.issuer}/connect/checksession`;
const stateIn = ({ location = '' }: Answer) => new URL(location).searchParams.get('session_state') ?? '';
const browserStateOf = ({ cookies }: Agent) => cookies.get('idp.browser-state /')?.value ?? '';

/** Returns the answer of the frame in this browser, by the algorithm of the specification. */
function verdict(agent: Agent, sessionState: string, clientId = 'web', origin = new URL(redirectUri).origin): 'unchanged' | 'changed' {
  const [hash, salt] = sessionState.split('.');
  const text = `${clientId} ${origin} ${browserStateOf(agent)} ${salt}`;
  return createHash('sha256').update(text).digest('base64url') === hash ? 'unchanged' : 'changed';
}

/** Signs in, and returns the session_state of the response. */
async function signedIn(userName = 'alice@acme.test', agent = new Agent()) {
  const answer = await signIn(agent, request(), userName, userName.split('@')[0]);
  return { agent, state: stateIn(answer) };
}
const silent = (agent: Agent, parameters: Record<string, string> = {}) => agent.get(request({ prompt: 'none', ...parameters }));

describe('4.2 4.9 session_state', () => {
  test('4.9 the frame is where discovery says', async () => {
    const document = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Record<string, string>;
    expect(document.check_session_iframe).toBe(frameUrl());
  });

  test('4.2 comes with every response, salted anew each time, and none says anything of the session', async () => {
    const { agent, state } = await signedIn();
    const again = stateIn(await silent(agent));
    expect(state).toMatch(/^[\w-]{43}\.[\w-]{22}$/);
    expect(again).not.toBe(state);
    expect([verdict(agent, state), verdict(agent, again)]).toEqual(['unchanged', 'unchanged']);
  });

  test('4.2 in the fragment and the form as well', async () => {
    const { agent } = await signedIn();
    const { location = '' } = await silent(agent, { response_mode: 'fragment' });
    expect(new URLSearchParams(new URL(location).hash.slice(1)).get('session_state')).toMatch(/^[\w-]{43}\./);
    expect((await silent(agent, { response_mode: 'form_post' })).body).toMatch(/name="session_state" value="[\w-]{43}\./);
  });

  test('4.2 a parameter of that name is not returned in its place', async () => {
    const { agent } = await signedIn();
    expect(verdict(agent, stateIn(await silent(agent, { session_state: 'mine' })))).toBe('unchanged');
  });

  test('4.9 is of the client and of its origin', async () => {
    const { agent, state } = await signedIn();
    expect([verdict(agent, state, 'spa'), verdict(agent, state, 'web', 'https://evil.test')]).toEqual(['changed', 'changed']);
  });

  test('4.9 unchanged across refreshes, silent renewals and other clients of the same session', async () => {
    const agent = new Agent();
    const { callback, tokens } = await obtainTokens(service.issuer, { agent, scope: 'openid offline_access' });
    const state = new URL(callback).searchParams.get('session_state') ?? '';
    await endpointsOf(service.issuer).refresh(tokens.refresh_token);
    for (let times = 0; times < 3; times += 1) await silent(agent);
    await obtainTokens(service.issuer, { agent, client: 'jwt', secret: 'jwt-secret' });
    await agent.get(`${service.issuer}/connect/authorize?client_id=nobody`);
    await silent(agent, { scope: 'openid nonsense' });
    expect(verdict(agent, state)).toBe('unchanged');
  });

  test('4.9 changed after sign-out', async () => {
    const { agent, state } = await signedIn();
    const page = await agent.get(`${service.issuer}/connect/endsession`);
    expect(verdict(agent, state)).toBe('unchanged');
    await agent.submit(page, { logout: 'yes' });
    expect(verdict(agent, state)).toBe('changed');
  });

  test('4.9 changed when another account of the person becomes active, and when another person signs in', async () => {
    for (const other of ['alice@globex.test', 'bob@globex.test']) {
      const { agent, state } = await signedIn();
      const switched = await signIn(agent, request({ prompt: 'login' }), other, other.split('@')[0]);
      expect([other, verdict(agent, state), verdict(agent, stateIn(switched))]).toEqual([other, 'changed', 'unchanged']);
    }
  });

  test('4.9 changed when the same account signs in again, within the same second too', async () => {
    passTime(0);
    const { agent, state } = await signedIn();
    const again = await signIn(agent, request({ prompt: 'login' }));
    expect([verdict(agent, state), verdict(agent, stateIn(again))]).toEqual(['changed', 'unchanged']);
  });

  test('4.9 changed after signing out and in again', async () => {
    const { agent, state } = await signedIn();
    await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' });
    const again = await signedIn('alice@acme.test', agent);
    expect([verdict(agent, state), verdict(agent, again.state)]).toEqual(['changed', 'unchanged']);
  });

  test('4.9 changed once the browser learns that the service ended the sign-in', async () => {
    const { agent, state } = await signedIn('carol@acme.test');
    const [carol] = await service.idp.directory.accounts.candidates('carol@acme.test');
    await service.idp.tenant(carol?.tenant.id ?? '').users.signOutEverywhere(carol?.person.user.id ?? '');
    const { location = '' } = await silent(agent);
    expect(new URL(location).searchParams.get('error')).toBe('login_required');
    expect(verdict(agent, state)).toBe('changed');
  });

  test('4.9 a browser that keeps the session from a frame is not taken for signed out', async () => {
    const { agent, state } = await signedIn();
    const session = agent.cookies.get('idp.session /');
    agent.cookies.delete('idp.session /');
    expect((await silent(agent)).location).toContain('error=login_required');
    if (session) agent.cookies.set('idp.session /', session);
    expect(verdict(agent, state)).toBe('unchanged');
  });

  test('4.9 nobody is signed in: a state of its own, until somebody is', async () => {
    const agent = new Agent();
    const state = stateIn(await silent(agent));
    expect(verdict(agent, state)).toBe('unchanged');
    await signedIn('alice@acme.test', agent);
    expect(verdict(agent, state)).toBe('changed');
  });

  test('F10: the cookie is no session: it signs nobody in', async () => {
    const { agent } = await signedIn();
    const thief = new Agent();
    const cookie = { value: browserStateOf(agent), path: '/' };
    for (const name of ['idp.browser-state /', 'idp.session /']) thief.cookies.set(name, cookie);
    expect((await silent(thief)).location).toContain('error=login_required');
  });
});

describe('4.9 the frame', () => {
  test('4.9 takes no parameters, needs no session, and is the same for all', async () => {
    const [plain, signed] = [await new Agent().get(frameUrl()), await (await signedIn()).agent.get(`${frameUrl()}?client_id=web`)];
    expect([plain.status, plain.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(signed.body).toBe(plain.body);
    expect(plain.headers.get('set-cookie')).toBeNull();
    expect((await fetch(frameUrl(), { method: 'POST' })).status).toBe(405);
  });

  test('F9: it may be framed, and its script is admitted by its hash alone', async () => {
    const { body, headers } = await new Agent().get(frameUrl());
    const script = /<script>([\s\S]*)<\/script>/.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'sha256-${hash}'; connect-src 'self'; base-uri 'none'; frame-ancestors *`,
    );
    expect(headers.get('x-frame-options')).toBeNull();
  });

  test('F9: no other page may be', async () => {
    const { agent } = await signedIn();
    const pages = [
      await new Agent().follow(await new Agent().get(request())),
      await agent.get(`${service.issuer}/connect/endsession`),
      await agent.get(`${service.issuer}/connect/endsession/success`),
      await agent.get(`${service.issuer}/connect/authorize?client_id=nobody`),
      await silent(agent, { response_mode: 'form_post' }),
    ];
    for (const { url, headers } of pages)
      expect([url, headers.get('x-frame-options'), headers.get('content-security-policy')]).toEqual([
        url,
        'DENY',
        expect.stringContaining("frame-ancestors 'none'"),
      ]);
  });

  test('4.9 the look-up tells clients that exist from those that do not, by name alone', async () => {
    const known = async (query: string) => (await fetch(`${service.issuer}/idp/check-session/client${query}`)).json();
    expect(await known('?client_id=web')).toEqual({ known: true });
    for (const query of ['', '?client_id=', '?client_id=nobody', '?client_id=orders', '?client_id=web&client_id=web'])
      expect(await known(query)).toEqual({ known: false });
  });
});

describeInBrowser('4.9 the frame in Chromium', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await launch();
    context = await browser.newContext();
    context.on('console', (message) => complaints.push(message.text()));
    context.on('weberror', (error) => complaints.push(error.error().message));
    page = await context.newPage();
  });
  afterEach(async () => {
    await context.clearCookies();
    for (const other of context.pages().slice(1)) await other.close();
    expect(complaints.splice(0).filter((text) => !isExpectedInConsole(text))).toEqual([]);
  });
  afterAll(() => browser?.close());

  async function signInHere(page: Page, userName: string, parameters: Record<string, string> = {}): Promise<string> {
    await page.goto(request({ client_id: 'monitored', redirect_uri: `${party}/callback`, ...parameters }));
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(userName.split('@')[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${party}/callback*`);
    return new URL(page.url()).searchParams.get('session_state') ?? '';
  }

  const monitor = (page: Page) => page.goto(`${party}/monitor?frame=${encodeURIComponent(frameUrl())}`);
  /** Posts to the frame and waits for its reply. */
  const ask = (page: Page, message: unknown): Promise<unknown> =>
    page.evaluate(`new Promise((resolve) => {
      const listen = (event) => {
        if (event.origin !== ${JSON.stringify(service.issuer)}) return;
        removeEventListener('message', listen);
        resolve(event.data);
      };
      addEventListener('message', listen);
      frames[0].postMessage(${JSON.stringify(message)}, ${JSON.stringify(service.issuer)});
    })`);

  test('4.9 unchanged in one tab until the other signs out, then changed', async () => {
    const state = await signInHere(page, 'alice@acme.test');
    await monitor(page);
    expect(await ask(page, `monitored ${state}`)).toBe('unchanged');
    const other = await context.newPage();
    await other.goto(`${service.issuer}/connect/endsession`);
    expect(await ask(page, `monitored ${state}`)).toBe('unchanged');
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.waitForURL(/success/);
    expect(await ask(page, `monitored ${state}`)).toBe('changed');
  });

  test('4.9 changed when another person signs in in another tab', async () => {
    const state = await signInHere(page, 'alice@acme.test');
    await monitor(page);
    const other = await signInHere(await context.newPage(), 'bob@globex.test', { prompt: 'login' });
    expect(await ask(page, `monitored ${state}`)).toBe('changed');
    expect(await ask(page, `monitored ${other}`)).toBe('unchanged');
  });

  test('4.9 error for a bad format and for an unknown client; changed for another client', async () => {
    const state = await signInHere(page, 'alice@acme.test');
    await monitor(page);
    for (const message of ['', 'monitored', state, `nobody ${state}`, `monitored ${state} more`, { client: 'monitored' }, 7])
      expect(await ask(page, message)).toBe('error');
    expect(await ask(page, `web ${state}`)).toBe('changed');
  });
});
