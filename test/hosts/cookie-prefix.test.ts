/** The option `cookies.prefix`: two services on one host name. Browsers do not separate cookies by port. @see RFC 6265bis §8.5 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, request } from 'playwright-core';
import { ConfigError, createIdentityProvider } from 'tenant-idp';
import { describeInBrowser, launch } from '../support/browser/chromium.js';
import { Agent, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { alice, signedInAt, useSamlService } from '../support/saml/service/use-saml-service.js';
import { travel } from '../support/saml/service-providers/travel.js';
import { startIdp, type TestIdpOptions } from '../support/service/idp.js';
import { testSeed } from '../support/service/seed.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { impersonationIn } from '../support/sign-in/impersonation-session.js';

const ask = ({ issuer }: Pick<IdpInUse, 'issuer'>, parameters: Record<string, string> = {}): string =>
  authorizeUrl(issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });

const sources = (): readonly string[] =>
  ['lib', 'extensions']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith('.ts'))
    .sort();

/** Returns the names of cookies in the sources, as `cookieName` and `pathCookieName` get them. */
function namesInSources(): readonly string[] {
  const named = sources().flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/\b(?:pathC|c)ookieName\(['`]([\w-]+)/g)]);
  return [...new Set(named.map(([, name = '']) => name))].sort();
}

describe('each cookie of a service has the prefix', () => {
  /** Lines of `Set-Cookie` of all answers. */
  const lines: string[] = [];
  const listened = (idp: { callback(): (req: IncomingMessage, res: ServerResponse) => void }) => {
    const answer = idp.callback();
    return (req: IncomingMessage, res: ServerResponse): void => {
      res.on('finish', () => lines.push(...[res.getHeader('set-cookie') ?? []].flat().map(String)));
      answer(req, res);
    };
  };
  const service = useSamlService({
    host: listened,
    cookies: { prefix: 'eu-1.' },
    extensions: [actAs({ lasts: 600_000 })],
  });

  test('in sign-ins of every kind, and in sign-outs', async () => {
    const { act } = impersonationIn(service);
    const agent = new Agent();
    const page = await agent.follow(await agent.get(ask(service)));
    await agent.get(`${page.url}?ui_locales=nb`);
    const signedIn = await signIn(agent, ask(service));
    expect(membersOf(signedIn).code).toBeDefined();
    await agent.follow(await agent.get(ask(service, { prompt: 'select_account' })));
    await act({}, new Agent());
    const sp = await service.add();
    const ofSaml = await signedInAt([sp], alice);
    await travel(ofSaml, await ofSaml.submit(await ofSaml.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));

    const names = lines.map((line) => line.slice(0, line.indexOf('=')));
    expect(names.filter((name) => !name.startsWith('eu-1.idp.'))).toEqual([]);
    const bare = names.map((name) => name.slice('eu-1.idp.'.length).replace(/\.sig$/, ''));
    const seen = new Set(bare.map((name) => name.replace(/^(saml-logout)\..*/, '$1')));
    // The steps above set every cookie of the sources. A new cookie may need a new step here.
    expect([...seen].sort()).toEqual(namesInSources());
    expect(names).toContain('eu-1.idp.session.sig');
  });

  test('and no source names one in another way', () => {
    const isOurs = (text: string) => /\bcookies\.set\(['"`]|(['"`])(?:__(?:Host|Secure)-)?idp\.(?!admin\1)[a-z-]+\1/.test(text);
    expect(sources().filter((path) => isOurs(readFileSync(path, 'utf8')))).toEqual([]);
    const writers = sources().filter((path) => /\bcookies\.set\(|\bSet-Cookie', `/.test(readFileSync(path, 'utf8')));
    // The last file acts as a browser. Each other file gets its names from `cookieName` or `pathCookieName`.
    expect(writers).toEqual([
      'extensions/saml/slo/logout-sequence-cookie.ts',
      'lib/http/pages/chosen-language.ts',
      'lib/oidc/sessions/browser-state.ts',
      'lib/oidc/sessions/browsers.ts',
      'lib/oidc/sessions/cookies.ts',
      'lib/oidc/upstream/authorization.ts',
      'lib/testing/cookies.ts',
    ]);
  });

  test('after __Host- and __Secure-, with an https issuer', async () => {
    const secure = await startIdp({ tls: true, cookies: { prefix: 'eu-1.' }, host: listened as never });
    const before = lines.length;
    const browser = await request.newContext({ ignoreHTTPSErrors: true });
    try {
      expect((await browser.get(ask(secure))).status()).toBe(200);
    } finally {
      await browser.dispose();
      await secure.close();
    }
    const names = lines.slice(before).map((line) => line.slice(0, line.indexOf('=')));
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !/^__(?:Host|Secure)-eu-1\.idp\./.test(name))).toEqual([]);
    expect(names).toContain('__Host-eu-1.idp.browser');
  });
});

describe('E06: two services on one host name, with one jar of cookies', () => {
  const options: TestIdpOptions = { hostname: '127.0.0.1' };
  const one = useIdp({ ...options, cookies: { prefix: 'one.' } });
  const other = useIdp({ ...options, cookies: { prefix: 'other.' } });
  const third = useIdp(options);
  const fourth = useIdp(options);
  const errorOf = async (agent: Agent, service: IdpInUse): Promise<string | undefined> =>
    membersOf(await agent.get(ask(service, { prompt: 'none' }))).error;

  test('both stay signed in', async () => {
    const agent = new Agent();
    for (const service of [one, other, one]) expect(membersOf(await signIn(agent, ask(service))).code).toBeDefined();
    expect([await errorOf(agent, one), await errorOf(agent, other)]).toEqual([undefined, undefined]);
    await agent.follow(await agent.submit(await agent.get(`${other.issuer}/connect/endsession`), { logout: 'yes' }));
    expect([await errorOf(agent, one), await errorOf(agent, other)]).toEqual([undefined, 'login_required']);
  });

  test('without the option, the second signs the first out', async () => {
    const agent = new Agent();
    for (const service of [third, fourth]) expect(membersOf(await signIn(agent, ask(service))).code).toBeDefined();
    expect(await errorOf(agent, third)).toBe('login_required');
  });
});

describeInBrowser('E06: two services on two ports of one host, in Chromium', () => {
  let browser: Browser;
  let callback: string;
  const server = createServer((_req, res) => res.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title>'));
  const options = (prefix: string) => async (): Promise<TestIdpOptions> => {
    if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
    callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    const metadata = { redirect_uris: [callback] };
    return {
      cookies: { prefix },
      seed: { ...testSeed, clients: [{ id: 'app', name: 'App', secret: 'app-secret', metadata, allowedScopes: ['openid'] }] },
    };
  };
  const one = useIdp(options('one.'));
  const other = useIdp(options('other.'));
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
  });

  test('both stay signed in, and each has its state for the check-session frame', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const asked = (service: IdpInUse, more: Record<string, string> = {}) =>
      ask(service, { client_id: 'app', redirect_uri: callback, ...more });
    for (const service of [one, other]) {
      await page.goto(asked(service));
      await page.getByLabel('E-mail or user name').fill('alice@acme.test');
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByLabel('Password', { exact: true }).fill('alice');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${callback}**`);
    }
    for (const service of [one, other]) {
      await page.goto(asked(service, { prompt: 'none' }));
      expect(new URL(page.url()).searchParams.has('code')).toBe(true);
      expect(await (await context.request.get(`${service.issuer}/connect/checksession`)).text()).toContain(
        service === one ? 'one.idp.browser-state' : 'other.idp.browser-state',
      );
    }
    await context.close();
  });
});

describe('a prefix that is none', () => {
  test.each(['', '__Host-', '__Secure-x', '-x', 'a b', 'a;b', 'a=b', 'ä', 'x'.repeat(33), 5, null])(
    '%p is refused with its path',
    async (prefix) => {
      const creating = createIdentityProvider({ issuer: 'http://localhost:3000', cookies: { prefix: prefix as string } });
      const error = await creating.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).problems.map(({ path }) => path)).toEqual(['cookies.prefix']);
    },
  );
});
