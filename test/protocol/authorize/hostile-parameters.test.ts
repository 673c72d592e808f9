/**
 * Hostile names and values of parameters, by every way of a request and in every response mode. In a browser none of them runs, all of them
 * are returned unchanged, and nothing of the response is replaced.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, launch } from '../../support/browser/chromium.js';
import { openWatchedPage, type WatchedPage } from '../../support/browser/watched-page.js';
import { createPkce, postForm } from '../../support/client/agent.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { dropped, ofJwts, payloads, returned } from '../../support/requests/hostile-parameters.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const isWhole = process.env.PROVE !== undefined;

type Parameters = Readonly<Record<string, string>>;

const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'];
const anyText = expect.any(String);
const markupOf = (value: string) => value.replace(/[&"<\r\n]/g, (character) => `&#${character.codePointAt(0)};`);

describeInBrowser('A4, A5: hostile parameters', () => {
  let browser: Browser;
  let client: Server;
  let signing: SigningClient;
  let origin: string;
  let redirectUri: string;
  /** Queries and forms that the client received. The client sees no fragment. */
  const received: string[] = [];
  /** A page of another site that posts a form as soon as it is shown. */
  let form = '';

  const service = useIdp(async () => {
    client = createServer(async (request, response) => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://client.invalid');
      if (pathname === '/callback') received.push(request.method === 'POST' ? await text(request) : search.slice(1));
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(pathname === '/form' ? form : '<!doctype html><title>arrived</title>');
    });
    await new Promise<void>((resolve) => client.listen(0, '127.0.0.1', resolve));
    origin = `http://localhost:${(client.address() as AddressInfo).port}`;
    redirectUri = `${origin}/callback`;
    const response_types = ['code', 'code id_token token', 'token'];
    signing = await createSigningClient('signing', {
      metadata: { redirect_uris: [redirectUri], response_types, grant_types: undefined, application_type: 'native' },
    });
    return { seed: { ...testSeed, clients: [...testSeed.clients, signing.record] } as typeof testSeed };
  });
  let watched: WatchedPage;
  beforeAll(async () => {
    browser = await launch();
    watched = await openWatchedPage(browser, [service.issuer, origin]);
  });
  beforeEach(() => watched.renew());
  afterAll(async () => {
    await browser?.close();
    client.closeAllConnections();
    await new Promise((resolve) => client.close(resolve));
  });

  const authorize = (parameters: Parameters) => `${service.issuer}/connect/authorize?${new URLSearchParams(parameters)}`;
  const byReference = { client_id: 'signing', response_type: 'code', scope: 'openid' };

  /** Ways in which the browser sends a request. */
  const ways: Readonly<Record<string, (page: Page, parameters: Parameters) => Promise<unknown>>> = {
    'a query': (page, parameters) => page.goto(authorize(parameters)),
    async 'a form that another site posts'(page, parameters) {
      const fields = Object.entries(parameters).map(
        ([name, value]) => `<textarea name="${markupOf(name)}">\n${markupOf(value)}</textarea>`,
      );
      const submit = 'HTMLFormElement.prototype.submit.call(document.forms[0])';
      form = `<!doctype html><form method="post" action="${service.issuer}/connect/authorize">${fields.join('')}</form><script>${submit}</script>`;
      await page.goto(`${origin}/form`, { waitUntil: 'commit' });
    },
    async 'a pushed request'(page, parameters) {
      const { json } = await postForm(`${service.issuer}/connect/par`, { ...parameters }, credentialsOf('signing'));
      expect(json).toEqual({ request_uri: expect.any(String), expires_in: expect.any(Number) });
      return page.goto(authorize({ client_id: 'signing', request_uri: json.request_uri }));
    },
    async 'a signed request'(page, parameters) {
      const request = await signing.sign(service.issuer, { ...parameters, iss: 'signing' });
      return page.goto(authorize({ ...byReference, request }));
    },
    async 'a signed request that is pushed'(page, parameters) {
      const request = await signing.sign(service.issuer, { ...parameters, iss: 'signing' });
      const { json } = await postForm(`${service.issuer}/connect/par`, { request }, credentialsOf('signing'));
      expect(json).toEqual({ request_uri: expect.any(String), expires_in: expect.any(Number) });
      return page.goto(authorize({ client_id: 'signing', request_uri: json.request_uri }));
    },
  };

  async function signIn(page: Page): Promise<void> {
    await page.fill('[name=identifier]', 'alice@acme.test');
    await page.click('button[type=submit]');
    await page.fill('[name=password]', 'alice');
    await page.click('button[type=submit]');
    await page.waitForURL(`${redirectUri}**`);
  }

  const request = (parameters: Parameters): Parameters => ({
    client_id: 'signing',
    response_type: 'code',
    scope: 'openid',
    redirect_uri: redirectUri,
    state: payloads.join(''),
    nonce: payloads.join(' '),
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
    ...parameters,
  });

  /** Returns the members of the response to this request, each of which must occur once. */
  async function responseTo(page: Page, way: string, parameters: Parameters): Promise<Record<string, unknown>> {
    received.length = 0;
    const main = page.mainFrame();
    const arrived = page.waitForEvent('framenavigated', (frame) => frame === main && frame.url().startsWith(redirectUri));
    await ways[way]?.(page, request(parameters));
    await arrived;
    const [sent = '', ...more] = received;
    expect(more).toEqual([]);
    const { hash } = new URL(page.url());
    expect([sent, hash]).toContain('');
    const pairs = [...new URLSearchParams(hash === '' ? sent : hash.slice(1))];
    const members = Object.fromEntries(pairs);
    expect(pairs.length).toBe(Object.keys(members).length);
    if (!parameters.response_mode?.endsWith('jwt')) return members;
    expect(Object.keys(members)).toEqual(['response']);
    return decodeJwt(members.response ?? '');
  }

  /** Returns the text with the line ends of a form. @see HTML §4.10.22.7 */
  const asForm = (value: string) => value.replace(/\r\n|\r|\n/g, '\r\n');

  interface Outcome {
    readonly outcome: 'success' | 'error';
    readonly request: Parameters;
    readonly names: readonly string[];
  }
  const outcomes: readonly Outcome[] = [
    { outcome: 'success', request: {}, names: ['scope'] },
    { outcome: 'error', request: { prompt: 'none', max_age: '0' }, names: ['error', 'error_description'] },
  ];
  /** Returns each mode with each outcome, or each mode with one outcome in turn. */
  const pairsOf = (some: readonly string[], isEach: boolean, first: number) =>
    some.flatMap((mode, index) =>
      outcomes.filter((_, at) => isEach || at === (first + index) % outcomes.length).map((outcome) => ({ mode, ...outcome })),
    );

  function expected(mode: string, names: readonly string[], custom: Parameters): Record<string, unknown> {
    const isJwt = mode.endsWith('jwt');
    const back = Object.entries(custom).filter(([name]) => !(isJwt && Object.hasOwn(ofJwts, name)));
    return {
      ...Object.fromEntries(back.map(([name, value]) => (mode === 'form_post' ? [asForm(name), asForm(value)] : [name, value]))),
      ...Object.fromEntries(names.map((name) => [name, anyText])),
      state: payloads.join(''),
      session_state: anyText,
      iss: service.issuer,
      ...(isJwt ? { aud: 'signing', exp: expect.any(Number) } : {}),
    };
  }

  test('discovery names no response mode that is not tried here', async () => {
    const document = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Record<string, string[]>;
    expect([...(document.response_modes_supported ?? [])].sort()).toEqual([...modes].sort());
  });

  test.each(Object.keys(ways))('4.2 A4 A5: by %s, in every response mode, with success and with an error', async (way) => {
    const nth = Object.keys(ways).indexOf(way);
    const { page, incidents } = watched;
    await page.goto(authorize(request(returned['markup and addresses'] as Parameters)));
    await signIn(page);
    const isSigned = way.includes('signed');
    // `iss` is a member of every JWT, so `iss` has its own meaning in a signed request.
    const { iss, ...others } = dropped;
    const evil = isSigned ? others : { iss: iss as string, ...others };
    const all = Object.entries(returned);
    let turn = nth;
    // The first way sends all kinds, and each other way sends one kind after another.
    for (const { mode, outcome, request: more, names } of pairsOf(modes, isWhole || nth === 0, nth))
      for (const [kind, custom] of isWhole && nth === 0 ? all : all.slice(turn++ % all.length).slice(0, 1)) {
        const own = outcome === 'success' ? ['code', ...names] : names;
        const response = await responseTo(page, way, { ...evil, ...custom, ...more, response_mode: mode });
        expect({ mode, kind, outcome, response }).toEqual({ mode, kind, outcome, response: expected(mode, own, custom) });
        expect(Object.values(response)).not.toContain('evil');
      }
    expect(incidents).toEqual([]);
  });

  const types = ['code id_token token', 'token'];
  test.each(types)('4.2 A4 A5: of %s, in every response mode, with success and with an error', async (type) => {
    const { page, incidents } = watched;
    await page.goto(authorize(request({})));
    await signIn(page);
    const tokens = { code: ['code'], id_token: ['id_token'], token: ['access_token', 'token_type', 'expires_in'] };
    const success = ['scope', ...type.split(' ').flatMap((name) => tokens[name as 'code'])];
    const notQuery = modes.filter((each) => !each.startsWith('query'));
    for (const { mode, outcome, request: more, names } of pairsOf(notQuery, isWhole, types.indexOf(type))) {
      const custom = returned['markup and addresses'] as Parameters;
      const response = await responseTo(page, 'a query', { ...dropped, ...custom, ...more, response_type: type, response_mode: mode });
      const { expires_in: _, ...rest } = response;
      const { expires_in: __, ...right } = expected(mode, outcome === 'success' ? success : names, custom);
      expect({ mode, outcome, rest }).toEqual({ mode, outcome, rest: right });
      expect(Object.values(response)).not.toContain('evil');
    }
    expect(incidents).toEqual([]);
  });

  test('A4: names of JWT members come back where they mean nothing, and in a signed response are its own', async () => {
    const { page, incidents } = watched;
    await page.goto(authorize(request({})));
    await signIn(page);
    for (const mode of modes) {
      const response = await responseTo(page, 'a query', { ...ofJwts, response_mode: mode });
      expect({ mode, response }).toEqual({ mode, response: expected(mode, ['code', 'scope'], ofJwts) });
    }
    expect(incidents).toEqual([]);
  });

  test.each(Object.entries(returned))('4.2 A5: through the sign-in pages, %s', async (_, custom) => {
    const { page, incidents } = watched;
    received.length = 0;
    await page.goto(authorize(request({ ...dropped, ...custom, response_mode: 'form_post' })));
    await signIn(page);
    expect(Object.fromEntries(new URLSearchParams(received[0]))).toEqual(expected('form_post', ['code', 'scope'], custom));
    expect(incidents).toEqual([]);
  });

  test('nothing of it is in the log', () => expectQuietLog(service));
});
