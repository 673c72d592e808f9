/** Paths below the service's own path that no route has: a page for browsers, the plain answer for programs. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp();
const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const answerAt = async (path: string, init: RequestInit = {}, base = service.issuer) => {
  const answer = await fetch(base + path, { redirect: 'manual', ...init });
  return { status: answer.status, type: answer.headers.get('content-type'), headers: answer.headers, body: await answer.text() };
};

describe('issue 46: a path below /idp that is not there', () => {
  test.each(['/idp', '/idp/', '/idp/nothing', '/idp/account/nothing', '/idp/interaction', '/idp/factors/a/b?c=d'])(
    'a browser gets a page in the look of the others at %s, which leads on',
    async (path) => {
      const { status, type, headers, body } = await answerAt(path, { headers: browser });
      expect([status, type, titleOf({ body })]).toEqual([404, 'text/html; charset=utf-8', 'There is no such page']);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('cache-control')).toBe('no-store');
      expect(body).toContain(`href="${service.issuer}/idp/account"`);
    },
  );

  test('in the language of the browser, for every method of a form', async () => {
    const german = await answerAt('/idp/nothing', { headers: { ...browser, 'accept-language': 'de' } });
    expect(titleOf(german)).toBe('Diese Seite gibt es nicht');
    expect((await answerAt('/idp/nothing', { method: 'POST', headers: browser, body: new URLSearchParams({ a: 'b' }) })).status).toBe(404);
    const head = await answerAt('/idp/nothing', { method: 'HEAD', headers: browser });
    expect([head.status, head.type, head.body]).toEqual([404, 'text/html; charset=utf-8', '']);
  });

  test.each([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'application/json, text/html;q=0.5' }])(
    'a program that accepts %j gets the plain answer',
    async (headers) => {
      const { status, type, body } = await answerAt('/idp/nothing', { headers: headers as Record<string, string> });
      expect([status, type, body]).toEqual([404, 'text/plain; charset=utf-8', 'Not Found']);
    },
  );

  test('other paths are the host’s, and an API answers in its own format', async () => {
    expect((await answerAt('/idpx', { headers: browser })).type).toBe('text/plain; charset=utf-8');
    expect((await answerAt('/nothing', { headers: browser })).type).toBe('text/plain; charset=utf-8');
    expect((await answerAt('/idp/api/v1/tenants', { headers: browser })).type).toBe('application/problem+json');
  });

  test('is logged once, as every path without a route', async () => {
    await answerAt('/idp/once', { headers: browser });
    await answerAt('/idp/once', { headers: browser });
    const lines = service.lines.filter((line) => JSON.stringify(line).includes('/idp/once'));
    expect(lines.map((line) => JSON.stringify(line).includes('no route answers this path'))).toEqual([true]);
  });

  test('in a host, the page comes before the routes of the host; programs get the host’s answer', async () => {
    const listener = service.idp.callback();
    const server = await new Promise<Server>((resolve) => {
      const started = createServer((req, res) => listener(req, res, () => res.writeHead(404).end('the host'))).listen(0, '127.0.0.1', () =>
        resolve(started),
      );
    });
    const path = new URL(service.issuer).pathname.replace(/\/$/, '');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    try {
      expect(titleOf(await answerAt('/idp/nothing', { headers: browser }, base))).toBe('There is no such page');
      expect((await answerAt('/idp/nothing', {}, base)).body).toBe('the host');
    } finally {
      server.close();
    }
  });
});
