import { request } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, basic } from '../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../support/client/journey.js';
import { startIdp } from '../support/service/idp.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';

/** Sends a request line as written, because `fetch` would tidy up the line. */
const raw = (service: IdpInUse, method: string, target: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((resolve, reject) => {
    const { hostname, port } = new URL(service.issuer);
    const sent = request({ hostname, port, method, path: target, headers, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
    sent.on('error', reject).end();
  });
const service = useIdp({ seed: journeySeed });

describe('design §1 hosts: node:http', () => {
  test('sign-in to sign-out', async () => {
    expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
    expect(service.logged).toEqual([]);
  });

  test('a host that hands over raw requests and has read the body (Fastify)', async () => {
    const fastify = await startIdp({
      seed: journeySeed,
      host: (idp) => async (req, res) => {
        const parts: Buffer[] = [];
        for await (const part of req) parts.push(part as Buffer);
        const isForm = req.headers['content-type']?.includes('form');
        Object.assign(req, isForm ? { body: Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString())) } : {});
        idp.callback()(req, res);
      },
    });
    expect(await journey(fastify.issuer)).toMatchObject(wholeJourney(fastify.issuer));
    await fastify.close();
  });
});

describe('design §1: only registered routes are taken', () => {
  const seen: (string | undefined)[] = [];
  const host = useIdp(() => ({
    seed: journeySeed,
    host: (idp) => (req, res) =>
      idp.callback()(req, res, () => {
        seen.push(req.url);
        res.end('host');
      }),
  }));

  test.each([
    '/.well-known/acme-challenge/x',
    '/api/v1/x',
    '/idp/unknown',
    '/idp',
    '/connect/unknown',
    '/connect',
    '/connect/authorize/a/b',
    '/connect/%74oken',
    '/',
    '//connect/token',
  ])("%s is the host's, whatever the method", async (path) => {
    seen.length = 0;
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) expect((await raw(host, method, path)).body).toBe('host');
    expect(seen).toEqual([path, path, path, path]);
  });
});

describe('RFC 9110 §15.5.6: a wrong method', () => {
  test.each([
    ['GET', '/connect/token', 'POST, OPTIONS'],
    ['GET', '/connect/token/', 'POST, OPTIONS'],
    ['GET', '/Connect/PAR', 'POST, OPTIONS'],
    ['HEAD', '/connect/introspect', 'POST, OPTIONS'],
    ['PUT', '/connect/revocation', 'POST, OPTIONS'],
    ['DELETE', '/connect/userinfo', 'GET, HEAD, POST, OPTIONS'],
    ['POST', '/.well-known/openid-configuration', 'GET, HEAD, OPTIONS'],
    ['PATCH', '/.well-known/openid-configuration/jwks', 'GET, HEAD, OPTIONS'],
    ['PUT', '/connect/endsession', 'GET, HEAD, POST'],
    ['GET', '/connect/endsession/confirm', 'POST'],
    ['POST', '/connect/endsession/success', 'GET, HEAD'],
    ['PUT', '/idp/interaction/x', 'GET, HEAD'],
    ['GET', '/idp/interaction/x/password', 'POST'],
  ])('%s %s', async (method, path, allow) => {
    const { status, headers } = await raw(service, method, path);
    expect({ status, allow: String(headers.allow).split(', ').sort() }).toEqual({ status: 405, allow: allow.split(', ').sort() });
  });
});

describe('design §5: URLs and preflights', () => {
  test('an absolute-form request line, a spoofed Host and forwarded headers change no URL', async () => {
    const path = '/.well-known/openid-configuration';
    const plain = await raw(service, 'GET', path);
    const spoof = { host: 'evil.test', 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'https', forwarded: 'host=evil.test' };
    expect((await raw(service, 'GET', `http://evil.test${path}`, spoof)).body).toBe(plain.body);
    expect(JSON.parse(plain.body)).toMatchObject({ issuer: service.issuer });
    const to = new URL(authorizeUrl(service.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' }));
    const { status, headers } = await raw(service, 'GET', `https://evil.test${to.pathname}${to.search}`, spoof);
    expect(status).toBe(303);
    expect(JSON.stringify(headers)).not.toMatch(/evil|secure/i);
  });

  test('case and one trailing slash do not matter; HEAD answers like GET without a body', async () => {
    expect((await raw(service, 'GET', '/.WELL-KNOWN/OpenID-Configuration/')).status).toBe(200);
    const path = '/.well-known/openid-configuration';
    const [get, head] = [await raw(service, 'GET', path), await raw(service, 'HEAD', path)];
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-type': get.headers['content-type'] } });
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.body)));
  });

  test.each([
    '/connect/authorize/%E0%A4%A',
    '/idp/interaction/%zz',
    '/idp/interaction/%E0%A4%A',
    '/idp/interaction/%00',
    '/connect/authorize/%2F',
  ])('a malformed path %s is no error of ours', async (path) => {
    const { status } = await raw(service, 'GET', path);
    expect(status).toBeGreaterThanOrEqual(300);
    expect(status).toBeLessThan(500);
  });

  test.each([
    ['/connect/token', 'POST', '*, or the origin'],
    ['/connect/userinfo', 'GET', ''],
    ['/connect/par', 'POST', ''],
    ['/.well-known/openid-configuration', 'GET', ''],
    ['/.well-known/openid-configuration/jwks', 'GET', ''],
  ])('Fetch §3.2: a preflight for %s', async (path, method) => {
    const { status, headers } = await raw(service, 'OPTIONS', path, {
      origin: 'https://spa.test',
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization',
    });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://spa.test',
      'access-control-allow-methods': expect.stringContaining(method),
      'access-control-allow-headers': 'authorization',
    });
  });

  test('the answer itself is for registered origins only', async () => {
    const ask = (origin: string) =>
      fetch(`${service.issuer}/connect/token`, {
        method: 'POST',
        body: 'grant_type=client_credentials',
        headers: {
          origin,
          authorization: basic('web', 'web-secret'),
          'content-type': 'application/x-www-form-urlencoded',
        },
      });
    expect((await ask('http://127.0.0.1:9')).headers.get('access-control-allow-origin')).toBe('http://127.0.0.1:9');
    expect((await ask('https://evil.test')).headers.get('access-control-allow-origin')).toBeNull();
    const page = await new Agent({ origin: 'http://127.0.0.1:9' }).get(authorizeUrl(service.issuer, {}));
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
  });
});
