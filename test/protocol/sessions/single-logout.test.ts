/** 4.8: the service "can perform single logout across clients", over the back channel and by the browser. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Browser, Page } from 'playwright-core';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { describeInBrowser, launch } from '../../support/browser/chromium.js';
import { Agent, type Json, obtainTokens, titleOf } from '../../support/client/agent.js';
import { endpointsOf, isActive } from '../../support/client/endpoints.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { startIdp } from '../../support/service/idp.js';
import { testKeys } from '../../support/service/keys.js';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let receiver: LogoutReceiver;
let parties: Server;
let party: string;
/** Requests that frames made, and paths that are never answered. */
let called: string[];
let silent: string[];

const seedWith = (metadata: Readonly<Record<string, object>>, more: readonly object[] = []) =>
  ({
    ...testSeed,
    clients: [...testSeed.clients.map((client) => ({ ...client, metadata: { ...client.metadata, ...metadata[client.id] } })), ...more],
  }) as unknown as typeof testSeed;

const service = useIdp(async () => {
  receiver = await startLogoutReceiver();
  parties = createServer((request, response) => {
    called.push(request.url ?? '');
    if (!silent.some((path) => request.url?.startsWith(path))) response.end('<!doctype html><title>relying party</title>');
  });
  await new Promise<void>((resolve) => parties.listen(0, '127.0.0.1', resolve));
  party = `http://127.0.0.1:${(parties.address() as AddressInfo).port}`;
  const backchannel_logout_uri = receiver.url;
  const framed = (id: string) => ({
    id,
    name: `Framed ${id}`,
    secret: `${id}-secret`,
    metadata: {
      redirect_uris: [redirectUri, `${party}/callback`],
      post_logout_redirect_uris: [`${party}/signed-out`],
      frontchannel_logout_uri: `${party}/${id}?own=1`,
      frontchannel_logout_session_required: true,
    },
    allowedScopes: ['openid'],
  });
  return {
    seed: seedWith({ jwt: { backchannel_logout_uri }, web: { backchannel_logout_uri }, pairwise: { backchannel_logout_uri } }, [
      framed('one'),
      framed('two'),
    ]),
    outgoing: callLoopback,
  };
});
beforeEach(() => {
  receiver.tokens.length = 0;
  receiver.answer(200);
  [called, silent] = [[], []];
});
afterEach(backToPresent);
afterAll(async () => {
  receiver.close();
  parties.closeAllConnections();
  parties.close();
});

const signIn = (client: string, agent = new Agent(), parameters: Record<string, unknown> = {}) =>
  obtainTokens(service.issuer, { agent, client, secret: `${client}-secret`, ...parameters });
const endSession = (parameters: Record<string, string> = {}) => `${service.issuer}/connect/endsession?${new URLSearchParams(parameters)}`;
const signOut = async (agent: Agent, hint: string, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(endSession({ id_token_hint: hint, ...parameters })));
const told = () => receiver.tokens.map((token) => decodeJwt(token)).map(({ aud, sub, sid }) => ({ aud, sub, sid }));
/** Waits until a failure was recorded. */
const logged = async (problem: string) => {
  while (!service.logged.flat().some((entry) => (entry as Json).problem === problem)) await sleep(5);
};
const named = (tokens: Json) => (({ aud, sub, sid }) => ({ aud, sub, sid }))(decodeJwt(tokens.id_token));

describe('4.8 back-channel logout', () => {
  test('4.8 each client of the session is told, with the sub and sid of its own ID token; others are not', async () => {
    const { agent, tokens } = await signIn('web');
    const others = [(await signIn('jwt', agent)).tokens, (await signIn('pairwise', agent)).tokens];
    await signIn('jwt');
    await signOut(agent, tokens.id_token);
    await receiver.received(3);
    expect(new Set(told().map((each) => JSON.stringify(each)))).toEqual(
      new Set([tokens, ...others].map((each) => JSON.stringify(named(each)))),
    );
  });

  test('4.8 the sub is that of the grant, and each account that was used in the session is told of', async () => {
    const { agent, tokens } = await signIn('jwt', new Agent(), { userName: 'alice@globex.test' });
    const { tokens: acme } = await signIn('web', agent, { userName: 'alice@acme.test', prompt: 'login' });
    await signOut(agent, acme.id_token);
    await receiver.received(2);
    expect(told().sort((a, b) => String(a.aud).localeCompare(String(b.aud)))).toEqual([named(tokens), named(acme)]);
    expect(named(tokens).sub).toBe(named(acme).sub);
  });

  test('4.8 when it arrives, the session and its tokens are over', async () => {
    const { agent, tokens } = await signIn('web');
    const arrived = receiver.received(1).then(() => isActive(endpointsOf(service.issuer), tokens.access_token));
    await signOut(agent, tokens.id_token);
    expect(await arrived).toBe(false);
  });

  test('4.8 of who stays signed in, only the client that asked is told', async () => {
    const { agent } = await signIn('jwt');
    const { tokens } = await signIn('web', agent);
    await agent.follow(await agent.submit(await agent.get(endSession({ client_id: 'web' })), {}));
    await receiver.received(1);
    expect(told()).toEqual([named(tokens)]);
  });

  test('F8: one that does not answer holds nobody up, and is told again', async () => {
    receiver.answer(500);
    const { agent, tokens } = await signIn('web');
    const back = { post_logout_redirect_uri: postLogoutRedirectUri };
    expect((await signOut(agent, tokens.id_token, back)).location).toBe(postLogoutRedirectUri);
    await receiver.received(1);
    await logged('web answered 500');
    receiver.answer(204);
    passTime(10);
    await receiver.received(2);
    expect(told()).toEqual([named(tokens), named(tokens)]);
    expect(new Set(receiver.tokens.map((token) => decodeJwt(token).jti)).size).toBe(2);
    passTime(3600);
    await sleep(1200);
    expect(receiver.tokens).toHaveLength(2);
  });

  test('4.8 the page says which applications did not answer', async () => {
    receiver.answer(503);
    const { agent, tokens } = await signIn('web');
    await signIn('jwt', agent);
    const { body } = await signOut(agent, tokens.id_token);
    expect([...body.matchAll(/<li>([^<]*)<\/li>/g)].map(([, name]) => name).sort()).toEqual(['Reads JWTs', 'Web shop']);
    receiver.answer(200);
    const again = await signIn('web');
    expect((await signOut(again.agent, again.tokens.id_token)).body).not.toMatch(/<ul class="names">\s*<li/);
  });

  test('F8: a redirect is not followed', async () => {
    receiver.answer(302);
    const { agent, tokens } = await signIn('web');
    await signOut(agent, tokens.id_token);
    await receiver.received(1);
    await logged('web answered 302');
  });

  test('F8: what was not told before a restart is told after it', async () => {
    const directory = memoryDirectory();
    const own = await startLogoutReceiver();
    const seed = seedWith({ web: { backchannel_logout_uri: own.url } });
    const keys = { keys: { signing: testKeys, encryption: ['a secret that survives the crash of a node'] } };
    const first = await startIdp({ directory, seed, ...keys });
    const { agent, tokens } = await obtainTokens(first.issuer, {});
    await agent.get(`${first.issuer}/connect/endsession?id_token_hint=${tokens.id_token}`);
    await first.close();
    expect(own.tokens).toEqual([]);
    passTime(600);
    const second = await startIdp({ directory, seed, outgoing: callLoopback, ...keys });
    await own.received(1);
    await second.close();
    own.close();
    expect(decodeJwt(own.tokens[0] ?? '')).toMatchObject({ sid: named(tokens).sid });
  });

  test('F8: an address inside the network is not called unless the operator allows it', async () => {
    const own = await startLogoutReceiver();
    const strict = await startIdp({ seed: seedWith({ web: { backchannel_logout_uri: own.url } }) });
    const { agent, tokens } = await obtainTokens(strict.issuer, {});
    const page = await agent.follow(await agent.get(`${strict.issuer}/connect/endsession?id_token_hint=${tokens.id_token}`));
    expect(page.body).toContain('<li>Web shop</li>');
    expect(own.tokens).toEqual([]);
    await strict.close();
    own.close();
  });
});

describe('4.8 front-channel logout', () => {
  test('4.8 discovery says so', async () => {
    const document = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(document).toMatchObject({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
    });
  });

  test('4.8 the page calls each client of the session with iss and sid, may frame their origins alone, and goes on', async () => {
    const { agent, tokens } = await signIn('one');
    const { tokens: other } = await signIn('two', agent);
    const back = { post_logout_redirect_uri: `${party}/signed-out`, state: 's' };
    const page = await signOut(agent, tokens.id_token, back);
    const frames = [...page.body.matchAll(/<iframe src="([^"]*)"/g)].map(([, uri = '']) => uri.replaceAll('&amp;', '&'));
    const expected = [tokens, other].map((each) => {
      const { aud, sid } = named(each);
      return `${party}/${aud}?${new URLSearchParams({ own: '1', iss: service.issuer, sid: String(sid) })}`;
    });
    expect(frames.sort()).toEqual(expected.sort());
    expect(page.headers.get('content-security-policy')).toContain(`; frame-src ${party};`);
    expect(page.headers.get('refresh')).toBeNull();
    const meta = /<noscript><meta http-equiv="refresh" content="5; url=([^"]*)"><\/noscript>/.exec(page.body)?.[1] ?? '';
    const next = meta.replaceAll('&amp;', '&');
    expect(new URL(next).origin).toBe(service.issuer);
    expect((await agent.get(next)).location).toBe(`${party}/signed-out?state=s`);
  });

  test('F7: the page goes nowhere that was not stored with it', async () => {
    for (const query of ['next=https://evil.test', 'result=guessed&next=https://evil.test', 'result=a&result=b&next='])
      expect((await new Agent().get(`${service.issuer}/connect/endsession/success?${query}`)).location).toBeUndefined();
  });

  test('F7: another browser gets neither the page nor where it goes on, whether a user is signed in there or not', async () => {
    const { agent, tokens } = await signIn('one');
    const page = await signOut(agent, tokens.id_token, { post_logout_redirect_uri: `${party}/signed-out` });
    expect([page.url, page.body.includes('<iframe')]).toEqual([expect.stringContaining('?result='), true]);
    for (const [other, title] of [
      [new Agent(), 'You are signed out'],
      [(await signIn('web')).agent, 'You are still signed in'],
    ] as const) {
      const shown = await other.get(page.url);
      expect([titleOf(shown), shown.body.includes('<iframe')]).toEqual([title, false]);
      expect((await other.get(`${page.url}&next=`)).location).toBeUndefined();
    }
    expect((await agent.get(`${page.url}&next=`)).location).toBe(`${party}/signed-out`);
  });

  test('4.8 a client that lives elsewhere than its redirect URIs is refused', async () => {
    const { clients } = service.idp.directory;
    for (const uri of ['https://elsewhere.test/', `${redirectUri}#fragment`, 'javascript:alert(1)', 7])
      await expect(
        clients.update('spa', { metadata: { redirect_uris: [redirectUri], frontchannel_logout_uri: uri } }),
      ).rejects.toMatchObject({
        code: 'invalid_record',
      });
  });
});

describeInBrowser('4.8 front-channel logout in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  /** Returns a page of a browser with the cookies of an agent. */
  async function pageOf(agent: Agent, options: { javaScriptEnabled?: boolean } = {}) {
    const context = await browser.newContext(options);
    const cookies = [...agent.cookies].map(([key, { value, path }]) => ({
      name: key.split(' ')[0] ?? '',
      value,
      domain: '127.0.0.1',
      path,
    }));
    await context.addCookies(cookies);
    return context.newPage();
  }

  test('4.8 the frames are called, then the browser goes on', async () => {
    const { agent, tokens } = await signIn('one');
    await signIn('two', agent);
    const page = await pageOf(agent);
    await page.goto(endSession({ id_token_hint: tokens.id_token, post_logout_redirect_uri: `${party}/signed-out` }));
    await page.waitForURL(`${party}/signed-out`);
    expect(called.filter((url) => /^\/(one|two)\?own=1&iss=.*&sid=/.test(url))).toHaveLength(2);
    await page.context().close();
  });

  test('4.8 a browser goes on once, with scripts and without', async () => {
    const visit = async (javaScriptEnabled: boolean): Promise<string[]> => {
      const { agent, tokens } = await signIn('one');
      const page = await pageOf(agent, { javaScriptEnabled });
      const onward: string[] = [];
      page.on('request', (request) => void (/[?&]next=/.test(request.url()) && onward.push(request.url())));
      // A `Refresh` header would later send a browser with scripts on once more.
      page.on('response', (response) => void ('refresh' in response.headers() && onward.push(`later: ${response.url()}`)));
      await page.goto(endSession({ id_token_hint: tokens.id_token, post_logout_redirect_uri: `${party}/signed-out` }));
      await page.waitForURL(`${party}/signed-out`);
      await page.context().close();
      return onward;
    };
    const [scripting, scriptless] = await Promise.all([visit(true), visit(false)]);
    expect([scripting, scriptless]).toEqual([[expect.any(String)], [expect.any(String)]]);
  });

  test('4.8 one that does not answer is named, and does not keep the browser', async () => {
    silent = ['/two'];
    const visit = async (parameters: Record<string, string>, isOver: (page: Page) => Promise<unknown>): Promise<void> => {
      const { agent, tokens } = await signIn('one');
      await signIn('two', agent);
      const page = await pageOf(agent);
      await page.goto(endSession({ id_token_hint: tokens.id_token, ...parameters }), { waitUntil: 'commit' });
      await isOver(page);
      await page.context().close();
    };
    await Promise.all([
      visit({}, async (page) => {
        await page.locator('li', { hasText: 'Framed two' }).waitFor();
        await page.locator('li', { hasText: 'Framed one' }).waitFor({ state: 'hidden' });
      }),
      visit({ post_logout_redirect_uri: `${party}/signed-out` }, (page) => page.waitForURL(`${party}/signed-out`)),
    ]);
  });
});
