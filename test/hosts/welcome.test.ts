/** The page at `/` of `listen` in development, for a developer who has just started the service. */

import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type Extension, type IdentityProvider } from 'tenant-idp';
import { Agent } from '../support/client/agent.js';
import { isSignInPage } from '../support/client/authorization-response.js';
import { freePort } from '../support/service/free-port.js';
import { inProduction, lastingOptions } from '../support/service/idp.js';
import { testKeys } from '../support/service/keys.js';

let idp: IdentityProvider;
afterEach(() => idp.close());

const seed = {
  clients: [
    {
      id: 'web',
      name: 'Web',
      secret: 'w'.repeat(32),
      allowedScopes: ['openid', 'profile'],
      metadata: { redirect_uris: ['https://app.example/cb'] },
    },
    {
      id: 'job',
      name: 'Job',
      secret: 'j'.repeat(32),
      metadata: { grant_types: ['client_credentials'] },
    },
  ],
};
const listen = async (options: { extensions?: Extension[]; path?: string } = {}) => {
  const { path = '', ...more } = options;
  // The port is chosen first, because the issuer contains the port.
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  idp = await createIdentityProvider({ issuer: origin + path, seed, keys: { signing: testKeys }, logger: silent, ...more });
  await idp.listen(port, '127.0.0.1');
  return origin;
};
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describe('D the first page of a service in development', () => {
  test('says issuer and discovery, and begins a sign-in with each client of the seed that can', async () => {
    const origin = await listen({ path: '/login' });
    const agent = new Agent();
    const page = await agent.get(`${origin}/`);
    expect(page.status).toBe(200);
    expect(page.body).toContain(`<code>${origin}/login</code>`);
    expect(page.body).toContain(`href="${origin}/login/.well-known/openid-configuration"`);
    expect(page.body).toContain('Job');
    for (const id of ['web', 'job']) expect(page.body).toContain(`<code>${id}</code>`);
    const links = [...page.body.matchAll(/href="([^"]+authorize[^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
    expect(links).toHaveLength(1);
    expect(isSignInPage(await agent.follow(await agent.get(links[0] ?? '')))).toBe(true);
  });

  test('has the headers of the other pages, and their languages', async () => {
    const origin = await listen();
    const { headers, body } = await new Agent().get(`${origin}/?ui_locales=de`);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect([headers.get('x-frame-options'), headers.get('cache-control')]).toEqual(['DENY', 'no-store']);
    expect(body).toContain('<html lang="de"');
    expect(await (await fetch(`${origin}/elsewhere`)).text()).toBe('Not Found');
    expect((await fetch(`${origin}/`, { method: 'POST' })).status).toBe(404);
  });

  test('gives way to an extension that has `/`, and is no part of what a host mounts', async () => {
    const own: Extension = {
      name: 'own',
      routes: (router) =>
        void router.get('/', (ctx) => {
          ctx.body = 'own';
        }),
    };
    const origin = await listen({ extensions: [own] });
    expect(await (await fetch(`${origin}/`)).text()).toBe('own');
  });

  test('is not there in production', () =>
    inProduction(async () => {
      idp = await createIdentityProvider({ ...lastingOptions(), logger: silent });
      const server = await idp.listen(0, '127.0.0.1');
      expect((await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).status).toBe(404);
    }));
});
