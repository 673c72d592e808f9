import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { Agent } from '../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../support/client/journey.js';
import { keepLog } from '../support/service/kept-log.js';
import { testKeys } from '../support/service/keys.js';

/** Returns a proxy that ends TLS and passes requests on over plain http, with the headers that such proxies set. */
const proxyTo = (target: () => number): Server =>
  createServer((req, res) => {
    const headers = {
      ...req.headers,
      host: 'internal:8080',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'login.example.com',
      'x-forwarded-for': [req.headers['x-forwarded-for'], req.socket.remoteAddress].filter(Boolean).join(', '),
    };
    const passed = request({ host: '127.0.0.1', port: target(), method: req.method, path: req.url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    req.pipe(passed);
  });

const portOf = (server: Server) => (server.address() as AddressInfo).port;

describe.each(['https://login.example.com', 'https://login.example.com/idp'])('design §5: %s behind a proxy that ends TLS', (issuer) => {
  let idp: IdentityProvider;
  let proxy: Server;
  let via: (url: string) => string;
  const { logger, logged } = keepLog();
  beforeAll(async () => {
    idp = await createIdentityProvider({ issuer, seed: journeySeed, keys: { signing: testKeys }, trustProxy: 1, logger });
    const server = await idp.listen(0, '127.0.0.1');
    proxy = proxyTo(() => portOf(server));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    via = (url) => url.replace('https://login.example.com', `http://127.0.0.1:${portOf(proxy)}`);
  });
  afterAll(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
    await idp.close();
  });

  test('sign-in to sign-out; URLs are https, cookies Secure and prefixed', async () => {
    const result = await journey(issuer, new Agent(), { via });
    expect(result).toMatchObject(wholeJourney(issuer));
    expect(JSON.stringify(result.discovery)).not.toContain('http:');
    expect(result.page.headers.get('strict-transport-security')).toMatch(/max-age=/);
    expect(result.setCookies.length).toBeGreaterThan(2);
    for (const line of result.setCookies) {
      expect(line).toMatch(/^__(Host|Secure)-/);
      expect(line).toMatch(/; secure/i);
      // One cookie is for scripts in frames of other sites. @see OpenID Connect Session Management 1.0 §3.2
      const isForFrames = line.startsWith('__Host-idp.browser-state');
      expect(/; httponly/i.test(line)).toBe(!isForFrames);
      expect(line).toMatch(isForFrames ? /; samesite=none/i : /; samesite=lax/i);
      if (line.startsWith('__Host-')) expect(line).toMatch(/; path=\/(;|$)/i);
      expect(line).not.toMatch(/domain=/i);
    }
    expect(result.setCookies.some((line) => line.startsWith('__Host-idp.session'))).toBe(true);
    expect(logged).toEqual([]);
  });
});
