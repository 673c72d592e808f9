import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent as HttpAgent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { MARK } from '../servers/reaper.js';
import { isRefused } from '../support/client/raw-request.js';
import { testKeys } from '../support/service/keys.js';
import { testSeed } from '../support/service/seed.js';
import { LIMIT_MS } from '../support/time/in-time.js';
import { until } from '../support/time/until.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const create = (options: Partial<IdentityProviderOptions> = {}) =>
  createIdentityProvider({ issuer: 'http://127.0.0.1:3999', keys: { signing: testKeys }, logger: quiet, ...options });

describe('design §1: close()', () => {
  test('lets requests finish that are under way, and accepts no more', async () => {
    const gate: { open?: () => void } = {};
    const opened = new Promise<void>((resolve) => {
      gate.open = resolve;
    });
    let reached: () => void = () => {};
    const waiting = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const idp = await create({
      extensions: [
        {
          name: 'slow',
          routes: (router) =>
            void router.get('/idp/slow', async (ctx) => {
              reached();
              await opened;
              ctx.body = 'done';
            }),
        },
      ],
    });
    const server = await idp.listen(0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    const agent = new HttpAgent({ keepAlive: true });
    const answer = new Promise<string>((resolve, reject) => {
      request({ port, host: '127.0.0.1', path: '/idp/slow', agent }, (response) => {
        response.setEncoding('utf8').on('data', resolve);
      })
        .on('error', reject)
        .end();
    });
    await waiting;
    let isClosed = false;
    const closing = idp.close().then(() => {
      isClosed = true;
    });
    await until(() => isRefused(port));
    expect(isClosed).toBe(false);
    gate.open?.();
    expect(await answer).toBe('done');
    await closing;
    expect(server.listening).toBe(false);
    agent.destroy();
  });

  test('ends every server, and may be called again', async () => {
    const idp = await create();
    const servers = [await idp.listen(0, '127.0.0.1'), await idp.listen(0, '127.0.0.1')];
    await idp.close();
    expect(servers.map(({ listening }) => listening)).toEqual([false, false]);
    await idp.close();
  });
});

test('design §1: listen() on a busy port rejects with the port, and close() still ends', async () => {
  const idp = await create();
  const { port } = (await idp.listen(0, '127.0.0.1')).address() as AddressInfo;
  await expect(idp.listen(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE', message: expect.stringContaining(String(port)) });
  await idp.close();
});

test('design §1: health, provider, onProvider and configure', async () => {
  const given: unknown[] = [];
  const idp = await create({
    onProvider: (provider) => void given.push(provider),
    configure: (configuration) => ({ ...configuration, acrValues: ['urn:of:the:host'] }),
  });
  expect(await idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
  expect(given).toEqual([idp.provider]);
  expect(idp.provider.issuer).toBe(idp.issuer);
  const { port } = (await idp.listen(0, '127.0.0.1')).address() as AddressInfo;
  const discovery = await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`);
  expect(await discovery.json()).toMatchObject({ acr_values_supported: ['urn:of:the:host'] });
  await idp.close();
});

/** Runs code in a process of its own. Returns its output and its status, which is null if the process did not end by itself. */
async function run(code: string, env: Record<string, string>): Promise<{ status: number | null; out: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH: process.env.PATH ?? '', [MARK]: process.env[MARK], ...env },
    timeout: LIMIT_MS,
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      out += part;
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, out };
}

/** Returns the lines of oidc-provider, except the one about old Node. */
const upstreamLines = (out: string) =>
  out.split('\n').filter((line) => /oidc-provider|NOTICE|WARNING/.test(line) && !/Node\.js|runtime/i.test(line));
const modules = new URL('..', import.meta.url);
const imports = `
  import { createIdentityProvider } from '${new URL('../lib/index.js', modules).href}';
  import { memoryArtifacts, memoryDirectory } from '${new URL('../adapters/memory/index.js', modules).href}';
  import { testKeys } from '${new URL('support/service/keys.js', modules).href}';
  import { journey, journeySeed } from '${new URL('support/client/journey.js', modules).href}';
`;

describe('design §1: not one upstream line on the happy path, and the process ends after close()', () => {
  test('development, defaults only', async () => {
    const { status, out } = await run(
      `${imports}
      import { createServer } from 'node:http';
      let listener;
      const server = createServer((req, res) => listener(req, res));
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const issuer = 'http://127.0.0.1:' + server.address().port;
      const idp = await createIdentityProvider({ issuer, seed: journeySeed });
      listener = idp.callback();
      const { idToken } = await journey(issuer);
      console.log('signed in', idToken.aud);
      server.closeAllConnections();
      server.close();
      await idp.close();`,
      {},
    );
    expect({ status, upstream: upstreamLines(out) }).toEqual({ status: 0, upstream: [] });
    expect(out).toContain('signed in web');
    expect(out.match(/development defaults/g)).toHaveLength(1);
  });

  test('production, everything given; a body parser and a proxy before it', async () => {
    const { status, out } = await run(
      `${imports}
      import Koa from 'koa';
      import bodyParser from 'koa-bodyparser';
      const lasting = (store) => ({ ...store, name: 'lasting', ephemeral: false });
      const directory = lasting(memoryDirectory());
      const stores = { artifacts: lasting(memoryArtifacts()), directory };
      const keys = { signing: testKeys, encryption: ['e'.repeat(43)] };
      // Passwords come from invitations in production; here, from a development process over the same store.
      const issuer = 'https://login.example.com';
      process.env.NODE_ENV = 'development';
      const before = await createIdentityProvider({ issuer, ...stores, keys, cookies: { keys: ['c'.repeat(43)] }, seed: journeySeed });
      process.env.NODE_ENV = 'production';
      const idp = await createIdentityProvider({ issuer, ...stores, keys, cookies: { keys: ['c'.repeat(43)] }, trustProxy: 1 });
      const app = new Koa();
      app.use(bodyParser());
      app.use(idp.middleware());
      const server = app.listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { idToken } = await journey(issuer, undefined, {
        via: (url) => url.replace(issuer, 'http://127.0.0.1:' + server.address().port),
      });
      console.log('signed in', idToken.iss);
      server.closeAllConnections();
      server.close();
      await idp.close();
      await before.close();`,
      { NODE_ENV: 'production' },
    );
    expect({ status, upstream: upstreamLines(out) }).toEqual({ status: 0, upstream: [] });
    expect(out.replace(/^.*(Node\.js|runtime).*\n/gim, '').trim()).toBe('signed in https://login.example.com');
  });
});

test('design §1: production refuses what is not fit for it', async () => {
  const env = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    await expect(create({ seed: testSeed })).rejects.toMatchObject({ code: 'insecure_options' });
  } finally {
    process.env.NODE_ENV = env;
  }
});
