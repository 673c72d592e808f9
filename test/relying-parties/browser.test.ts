/** Applications that run in the browser, and a tool on a person's machine: docs/connect-an-application.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, launchWithCookies } from '../support/browser/chromium.js';
import { testTls } from '../support/browser/tls.js';
import { Agent } from '../support/client/agent.js';
import { journeySeed } from '../support/client/journey.js';
import { freePort } from '../support/service/free-port.js';
import { startIdp } from '../support/service/idp.js';
import { until } from '../support/time/until.js';
import { applicationNamed, blocksOf, clientSettings, page } from './applications.js';
import { compiled, placed, signIn, tenants } from './sign-in.js';

const { resolve: find } = createRequire(import.meta.url);
/** oidc-client-ts for browsers: the global `oidc`. */
const bundle = readFileSync(join(dirname(find('oidc-client-ts/package.json')), 'dist/browser/oidc-client-ts.min.js'), 'utf8');

/** Serves a page at each path, which has the exports of the block as `application`. */
async function serveApplication(port: number, program: () => string) {
  const html = `<!doctype html><title>application</title><script src="/library.js"></script>
<script type="module">window.application = await import('/program.js')</script>`;
  const contents = new Map([
    ['/library.js', () => bundle],
    ['/program.js', program],
  ]);
  const server = createServer(({ url = '' }, response) => {
    const content = contents.get(url);
    response.setHeader('content-type', content ? 'text/javascript' : 'text/html; charset=utf-8').end(content?.() ?? html);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Calls an export of the block, and returns its result. May reject if the call leaves the page. */
const call = (tab: Page, name: string): Promise<unknown> =>
  tab.evaluate(async (member) => {
    const scope = globalThis as unknown as { application?: Record<string, () => Promise<unknown>> };
    while (!scope.application) await new Promise((done) => setTimeout(done, 20));
    return scope.application[member]?.();
  }, name);

/** Signs in and out, as an application that runs in the browser does. */
async function tryInBrowser(name: string): Promise<void> {
  const application = applicationNamed(name);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const metadata = {
    redirect_uris: [`${origin}/callback`],
    post_logout_redirect_uris: [`${origin}/`],
    token_endpoint_auth_method: 'none',
  };
  const spa = { id: 'spa', name: 'Spa', allowedScopes: ['openid', 'profile', 'email'], metadata, ...clientSettings(application) };
  const service = await startIdp({ tls: true, seed: { ...journeySeed, tenants, clients: [spa] } });
  const code = compiled(placed(blocksOf(application.section)[0]?.code ?? '', service.issuer, origin));
  const server = await serveApplication(port, () => code.replace(/^import (\{.*\}) from 'oidc-client-ts';$/m, 'const $1 = oidc;'));
  const browser = await launchWithCookies('allowed');
  try {
    const tab = await browser.context.newPage();
    const asked: URL[] = [];
    tab.on('request', (request) => asked.push(new URL(request.url())));
    await tab.goto(origin);
    await call(tab, 'signIn').catch(() => undefined); // the call leaves the page
    await tab.fill('[name=identifier]', 'alice@acme.test');
    await tab.click('[type=submit]');
    await tab.fill('[name=password]', 'alice');
    await tab.click('[type=submit]');
    await tab.waitForURL(`${origin}/callback?**`);
    expect(await call(tab, 'signedIn')).toMatchObject({ name: 'Alice Adams', email: ['alice@acme.test', 'alice@home.test'] });
    const request = asked.find(({ pathname }) => pathname === '/connect/authorize');
    expect([request?.searchParams.has('code_challenge'), request?.searchParams.has('nonce')]).toEqual([true, false]);
    expect([application.pkce, application.nonce, application.signOut]).toEqual(['yes', '–', ['RP-initiated']]);

    await call(tab, 'signOut').catch(() => undefined);
    await tab.waitForURL(`${origin}/`);
    await call(tab, 'signIn').catch(() => undefined);
    await tab.waitForSelector('[name=identifier]');
  } finally {
    await browser[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
    await service.close();
  }
}

describeInBrowser('relying parties in Chromium', () => {
  test('oidc-client-ts', () => tryInBrowser('oidc-client-ts'));
});

test("a tool on a person's machine signs in, at whatever port is free", async () => {
  const [registration = '', program = ''] = blocksOf("A tool on a person's machine").map(({ code }) => code);
  const metadata = /const metadata = (\{[\s\S]*?\});/.exec(registration)?.[1] ?? '';
  const tool = {
    id: 'tool',
    name: 'Tool',
    allowedScopes: ['openid', 'profile'],
    metadata: new Function(`return ${metadata}`)() as { application_type: 'native' },
  };
  expect(page.section("A tool on a person's machine")).toContain("id: 'tool', name: 'Tool', allowedScopes: ['openid', 'profile']");
  const service = await startIdp({ tls: true, seed: { ...journeySeed, tenants, clients: [tool] } });
  const folder = mkdtempSync(join(tmpdir(), 'tool-'));
  const certificate = join(folder, 'certificate.pem');
  writeFileSync(certificate, testTls.cert);
  const file = resolve(`dist/relying-parties-tool-${process.pid}.mjs`);
  writeFileSync(file, compiled(placed(program, service.issuer, service.issuer)));
  const child = spawn(process.execPath, [file], { env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate } });
  try {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
    const url = await until(() => /^Open (\S+)/m.exec(output)?.[1]);
    const agent = new Agent();
    const { answer } = await signIn(agent, await agent.get(url ?? ''));
    expect([answer.status, answer.body]).toEqual([200, 'You can close this page.']);
    if (child.exitCode === null) await once(child, 'exit');
    expect(output).toMatch(/^Signed in as [\w-]{36}$/m);
  } finally {
    child.kill();
    await service.close();
    rmSync(folder, { recursive: true });
    rmSync(file);
  }
});
