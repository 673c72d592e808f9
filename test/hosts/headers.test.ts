/** Middleware of a host before ours does not change the headers that our answers rely on. */

import { describe, expect, test } from '@jest/globals';
import koaCors from '@koa/cors';
import cors from 'cors';
import express from 'express';
import helmet from 'helmet';
import Koa from 'koa';
import koaHelmet from 'koa-helmet';
import type { IdentityProvider } from 'tenant-idp';
import { ownHeaders } from '../../lib/http/host-headers.js';
import { pageAt } from '../docs/pages.js';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../support/client/journey.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';

const open = { origin: 'https://anybody.example', credentials: true };
const transport = { maxAge: 60, includeSubDomains: false };

const hosts: Record<string, (idp: IdentityProvider) => ReturnType<Koa['callback']> | express.Express> = {
  'Express, helmet and cors': (idp) => {
    const app = express();
    app.use(helmet({ crossOriginEmbedderPolicy: true, strictTransportSecurity: transport }), cors(open));
    app.use((_req, res, next) => {
      res.set({ 'Cache-Control': 'public, max-age=600', Expires: 'Thu, 01 Jan 2099 00:00:00 GMT' });
      next();
    });
    app.use(idp.callback());
    return app.get('/own', (_req, res) => void res.send('own'));
  },
  'Koa, koa-helmet and @koa/cors': (idp) => {
    const app = new Koa();
    app.use(koaHelmet({ crossOriginEmbedderPolicy: true, strictTransportSecurity: transport }));
    app.use(koaCors({ origin: open.origin, credentials: true }));
    app.use(async (ctx, next) => {
      ctx.set({ 'Cache-Control': 'public, max-age=600', Expires: 'Thu, 01 Jan 2099 00:00:00 GMT' });
      await next();
    });
    app.use(idp.middleware());
    app.use((ctx) => {
      ctx.body = 'own';
    });
    return app.callback();
  },
};

describe.each(Object.keys(hosts))('D host middleware before ours: %s', (name) => {
  const service = useIdp({ seed: journeySeed, host: hosts[name] as never });
  const bare = useIdp({ seed: journeySeed });

  const origin = { origin: 'https://anybody.example' };
  const headersOf = async ({ issuer }: IdpInUse, path: string, init: RequestInit = {}) => {
    const { headers, status } = await fetch(issuer + path, { redirect: 'manual', ...init });
    return { status, headers: Object.fromEntries(ownHeaders.map((each) => [each, headers.get(each)?.replaceAll(issuer, '')])) };
  };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  test.each<[string, RequestInit]>([
    ['/.well-known/openid-configuration', { headers: origin }],
    ['/.well-known/openid-configuration/jwks', {}],
    ['/connect/checksession', {}],
    ['/connect/authorize?client_id=nobody', { headers: { accept: 'text/html' } }],
    ['/connect/endsession', { headers: { accept: 'text/html' } }],
    ['/connect/token', { method: 'POST', headers: { ...form, ...origin }, body: 'grant_type=client_credentials' }],
    ['/connect/userinfo', { headers: origin }],
    ['/idp/interaction/none', { headers: { accept: 'text/html' } }],
  ])('%s has the headers that it has without a host', async (path, init) => {
    expect(await headersOf(service, path, init)).toEqual(await headersOf(bare, path, init));
  });

  test('what the host says of its transport stays, and so do its headers on its own pages', async () => {
    const page = await fetch(authorizeUrl(service.issuer, { client_id: 'nobody' }));
    expect(page.headers.get('strict-transport-security')).toBe('max-age=60');
    const own = await fetch(`${service.issuer}/own`);
    expect(own.headers.get('x-frame-options')).toBe('SAMEORIGIN');
    expect(own.headers.get('access-control-allow-origin')).toBe(open.origin);
  });

  test('a whole sign-in works', async () => {
    expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
    const url = authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const agent = new Agent();
    expect((await agent.follow(await agent.get(url))).headers.get('x-frame-options')).toBe('DENY');
  });
});

test('docs/embed.md lists these headers', () => {
  const text = pageAt('docs/embed.md').section('After middleware that sets headers');
  expect(ownHeaders.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
