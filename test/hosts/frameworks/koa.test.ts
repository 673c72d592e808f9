import { describe, expect, test } from '@jest/globals';
import Koa, { type Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import compress from 'koa-compress';
import mount from 'koa-mount';
import session from 'koa-session';
import type { IdentityProvider } from 'tenant-idp';
import { Agent, authorizeUrl, basic, postForm, signIn } from '../../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { startIdp, type TestIdp } from '../../support/service/idp.js';
import { useIdp } from '../../support/service/use-idp.js';

interface HostApp {
  readonly errors: unknown[];
  readonly listen: (idp: IdentityProvider) => ReturnType<Koa['callback']>;
}

/** Returns a host that mounts the service. The host has its own error handler, and a counter in its own session under its own keys. */
function hostApp(layers: (app: Koa) => readonly Middleware[], mounted = (idp: IdentityProvider) => idp.middleware()): HostApp {
  const errors: unknown[] = [];
  return {
    errors,
    listen(idp) {
      const app = new Koa({ keys: ['the host has a key of its own'] });
      app.on('error', (error) => errors.push(error));
      app.use(async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          errors.push(error);
          ctx.status = 500;
          ctx.body = 'host error';
        }
      });
      for (const layer of layers(app)) app.use(layer);
      app.use(async (ctx, next) => {
        ctx.set('X-Host', 'yes');
        await next();
      });
      app.use(mounted(idp));
      app.use((ctx) => {
        if (ctx.path === '/boom') throw new Error('of the host');
        if (ctx.path !== '/visits') return;
        const own = ctx.session as { visits?: number } | null;
        if (own) own.visits = (own.visits ?? 0) + 1;
        ctx.body = `visit ${own?.visits}`;
      });
      return app.callback();
    },
  };
}

const layers = {
  session: (app: Koa) => session({ key: 'host.sess', rolling: true, signed: true }, app) as unknown as Middleware,
  compress: () => compress({ threshold: 0 }) as Middleware,
  parser: () => bodyParser() as Middleware,
};
const orders: readonly (readonly (keyof typeof layers)[])[] = [
  [],
  ['session', 'compress', 'parser'],
  ['parser', 'session', 'compress'],
  ['compress', 'parser', 'session'],
];

describe.each(orders)('design §1 hosts: koa behind [%s %s %s]', (...order) => {
  const host = hostApp((app) => order.filter(Boolean).map((name) => layers[name](app)));
  const service = useIdp({ seed: journeySeed, host: host.listen });

  test('sign-in to sign-out; the host keeps its session, its headers and its errors', async () => {
    const agent = new Agent();
    const hasSession = order.includes('session');
    expect((await agent.get(`${service.issuer}/visits`)).body).toBe(hasSession ? 'visit 1' : 'visit undefined');
    const result = await journey(service.issuer, agent);
    expect(result).toMatchObject(wholeJourney(service.issuer));
    expect(result.page.headers.get('x-host')).toBe('yes');
    expect(result.page.headers.get('content-encoding')).toEqual(order.includes('compress') ? expect.stringMatching(/br|gzip|zstd/) : null);
    expect((await agent.get(`${service.issuer}/visits`)).body).toBe(hasSession ? 'visit 2' : 'visit undefined');
    expect((await agent.get(`${service.issuer}/boom`)).body).toBe('host error');
    expect(host.errors.map(String)).toEqual(['Error: of the host']);
    expect(service.logged).toEqual([]);
  });

  test('errors of ours are answered by us, with our status and the host none the wiser', async () => {
    const before = host.errors.length;
    const refused = await postForm(`${service.issuer}/connect/token`, { grant_type: 'x' }, { authorization: basic('web', 'wrong') });
    expect(refused).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    const page = await new Agent().get(authorizeUrl(service.issuer, { client_id: 'unknown' }));
    expect(page).toMatchObject({ status: 400, body: expect.stringContaining('<html') });
    const huge = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'x'.repeat(60_000) },
      { authorization: basic('web', 'web-secret') },
    );
    // The layer that reads a body limits its size.
    expect(huge).toMatchObject(
      order.includes('parser') ? { status: 500, text: 'host error' } : { status: 400, json: { error: 'invalid_request' } },
    );
    expect(host.errors.slice(before).map(String)).toEqual(
      order.includes('parser') ? ['PayloadTooLargeError: request entity too large'] : [],
    );
  });

  test('a pushed request carries every parameter, repeated ones are refused', async () => {
    const par = `${service.issuer}/connect/par`;
    const request = {
      client_id: 'web',
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1:9/callback',
      scope: 'openid',
      code_challenge: 'c'.repeat(43),
    };
    const authorization = basic('web', 'web-secret');
    const pushed = await postForm(par, { ...request, code_challenge_method: 'S256', custom: 'å & + %' }, { authorization });
    expect(pushed).toMatchObject({ status: 201, json: { request_uri: expect.any(String) } });
    const response = await fetch(par, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(request)}&scope=openid`,
    });
    expect({ status: response.status, json: await response.json() }).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
});

test('design §1 hosts: a compressor leaves lengths right, and HEAD has no body', async () => {
  const host = hostApp((app) => [layers.compress(), layers.session(app)]);
  const service = await startIdp({ seed: journeySeed, host: host.listen });
  const url = `${service.issuer}/.well-known/openid-configuration`;
  const identity = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
  const text = await identity.text();
  expect(Number(identity.headers.get('content-length') ?? Buffer.byteLength(text))).toBe(Buffer.byteLength(text));
  const compressed = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  expect(await compressed.text()).toBe(text);
  const head = await fetch(url, { method: 'HEAD' });
  expect({ status: head.status, body: await head.text() }).toEqual({ status: 200, body: '' });
  await service.close();
});

describe.each([
  ['mounted', (idp: IdentityProvider) => mount('/idp', idp.middleware())],
  ['used', (idp: IdentityProvider) => idp.middleware()],
])('design §5: an issuer with a path, %s', (_, mounted) => {
  const host = hostApp((app) => [layers.session(app), layers.parser()], mounted);
  const service = useIdp({ seed: journeySeed, path: '/idp', host: host.listen });

  test('sign-in to sign-out', async () => {
    expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
    expect(host.errors).toEqual([]);
  });
});

test('two identity providers under two paths of one host know nothing of each other', async () => {
  const second: { idp?: TestIdp } = {};
  const first = await startIdp({
    seed: journeySeed,
    path: '/a',
    host: (idp) => {
      const app = new Koa();
      app.use(idp.middleware());
      app.use((ctx, next) => (second.idp as TestIdp).idp.middleware()(ctx, next));
      return app.callback();
    },
  });
  const origin = new URL(first.issuer).origin;
  second.idp = await startIdp({ seed: journeySeed, issuer: `${origin}/b` } as never);
  const agent = new Agent();
  const code = (issuer: string, more = {}) =>
    authorizeUrl(issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', ...more });
  const codeOf = (location = '') => new URL(location).searchParams.get('code');
  expect(codeOf((await signIn(agent, code(`${origin}/a`))).location)).toEqual(expect.any(String));
  const elsewhere = await agent.get(code(`${origin}/b`, { prompt: 'none' }));
  expect(new URL(elsewhere.location ?? '').searchParams.get('error')).toBe('login_required');
  expect(codeOf((await signIn(agent, code(`${origin}/b`))).location)).toEqual(expect.any(String));
  for (const path of ['/a', '/b'])
    expect(codeOf((await agent.get(code(`${origin}${path}`, { prompt: 'none' }))).location)).toEqual(expect.any(String));
  await second.idp.close();
  await first.close();
});
