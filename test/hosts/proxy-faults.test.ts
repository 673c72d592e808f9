/** Faults of a proxy: the log shows once the request, the expected one, and the remedy; so do the examples of docs/embed.md. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startIdp, type TestIdp } from '../support/service/idp.js';

type Headers = Readonly<Record<string, string>>;

let service: TestIdp | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

/** The parts of a request that a proxy passes on. */
interface Passed {
  readonly path: string;
  readonly headers?: Headers;
}

const send = (port: number, { path, headers = {} }: Passed): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers, agent: new Agent() }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });

/** Starts a service and sends what a proxy passes on. @returns the statuses, and the lines of the log. */
async function through(options: Parameters<typeof startIdp>[0], passed: readonly Passed[]) {
  service = await startIdp(options);
  const { port } = service.server.address() as AddressInfo;
  const statuses: number[] = [];
  for (const one of passed) statuses.push(await send(port, one));
  return { statuses, lines: service.logged.map(([fields, message]) => ({ ...fields, message })) };
}

const discovery = '/.well-known/openid-configuration';
const paths = [discovery, '/connect/token', '/connect/authorize?client_id=web', '/idp/api/v1/openapi.json'];

describe('E02: paths', () => {
  test.each([
    ['stripped', (path: string) => path, 'requests arrive without the path of the issuer, so no route answers them'],
    ['doubled', (path: string) => `/oidc/oidc${path}`, 'requests arrive with the path of the issuer twice, so no route answers them'],
    ['two slashes', (path: string) => `/oidc/${path}`, 'requests arrive with repeated slashes, so no route answers them'],
  ])('%s: told once, however many come', async (_name, rewritten, message) => {
    const { statuses, lines } = await through(
      { path: '/oidc' },
      [...paths, ...paths].map((path) => ({ path: rewritten(path) })),
    );
    expect(new Set(statuses)).toEqual(new Set([404]));
    const expected = `/oidc${discovery}`;
    expect(lines).toEqual([{ issuer: service?.issuer, message, came: rewritten(discovery), expected, action: expect.any(String) }]);
  });

  test('a right one, and one after which a scanner comes, are not told', async () => {
    const { statuses, lines } = await through({ path: '/oidc' }, [
      { path: `/oidc${discovery}` },
      { path: discovery },
      { path: '/' },
      { path: '/oidc/nowhere' },
    ]);
    expect([statuses, lines]).toEqual([[200, 404, 404, 404], []]);
  });
});

describe('scheme and host', () => {
  const told = async (headers: Headers) =>
    (
      await through({}, [
        { path: discovery, headers },
        { path: '/connect/token', headers },
      ])
    ).lines;

  test('https in front of an http issuer; another host, by the proxy or by the browser', async () => {
    expect(await told({ 'x-forwarded-proto': 'https' })).toMatchObject([{ came: 'https', expected: 'http', action: expect.any(String) }]);
    expect(await told({ 'x-forwarded-host': 'login.example.com' })).toMatchObject([{ came: 'login.example.com' }]);
    expect(await told({ host: 'localhost:3000' })).toMatchObject([
      { came: 'localhost:3000', expected: expect.stringContaining('127.0.0.1') },
    ]);
  });

  test('what a proxy may send, and what a stranger writes, is not told', async () => {
    expect(await told({ 'x-forwarded-proto': 'http', 'x-forwarded-host': '127.0.0.1:8080', host: 'internal:1' })).toEqual([]);
    for (const host of ['a b', 'x'.repeat(300), 'a\u00e9', '"><script>', '%0aadmin signed in'])
      expect(await told({ 'x-forwarded-host': host })).toEqual([]);
  });
});

test('a thousand faults of all kinds are a handful of lines', async () => {
  const passed = Array.from({ length: 250 }, (_, index) => [
    { path: discovery, headers: { 'x-forwarded-host': `host-${index}` } },
    { path: `/oidc${discovery}`, headers: { 'x-forwarded-host': `host-${index}`, 'x-forwarded-proto': 'https' } },
    { path: `/oidc/oidc/connect/token?${index}` },
    { path: `/oidc/${'/'.repeat(index)}connect/token` },
  ]).flat();
  expect((await through({ path: '/oidc' }, passed)).lines.length).toBe(5);
});

describe('docs/embed.md: the nginx examples', () => {
  const text = readFileSync(new URL('../../../docs/embed.md', import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/([^\n]*)\n\n```nginx\n([\s\S]*?)```/g)].map(([, said = '', block = '']) => ({ said, block }));

  /**
   * Returns the path that nginx passes on: a path in `proxy_pass` takes the place of the location's.
   * @see nginx, module ngx_http_proxy_module, proxy_pass
   */
  const rewritten = (block: string, path: string): string => {
    const [, location = ''] = /location (\S+)/.exec(block) ?? [];
    const [, replacement = ''] = /proxy_pass http:\/\/[^/;]+([^;]*);/.exec(block) ?? [];
    return path.startsWith(location) && replacement !== '' ? replacement + path.slice(location.length) : path;
  };

  test.each(blocks.map(({ said, block }) => [said, block]))('%s', async (said, block) => {
    const path = block.includes('/.well-known/') ? '/.well-known/oauth-authorization-server/oidc' : `/oidc${discovery}`;
    const { statuses, lines } = await through({ path: '/oidc' }, [{ path: rewritten(block, path) }]);
    const isWrong = said.startsWith('The next one is wrong');
    expect([statuses, lines.length]).toEqual(isWrong ? [[404], 1] : [[200], 0]);
  });

  test('are four', () => expect(blocks.length).toBe(4));
});
