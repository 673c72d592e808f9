import { beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { type RawAnswer, rawRequest } from '../support/client/raw-request.js';
import { authorizationOf, obtainCode } from '../support/client/steps.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

let cookie: string;
const service = useIdp({ trustProxy: true });
beforeAll(async () => {
  const agent = new Agent();
  await obtainCode(service.issuer, agent);
  cookie = [...agent.cookies].map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ');
});

const query = () => new URL(authorizeUrl('http://x', { code_challenge: createPkce().challenge, code_challenge_method: 'S256' })).search;
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** Every route, with a request that reaches it. */
const routes: { name: string; method?: string; path: () => string; body?: string; authorization?: string; signedIn?: boolean }[] = [
  { name: 'discovery', path: () => '/.well-known/openid-configuration' },
  { name: 'key set', path: () => '/.well-known/openid-configuration/jwks' },
  { name: 'authorize', path: () => `/connect/authorize${query()}` },
  { name: 'authorize with a session', path: () => `/connect/authorize${query()}`, signedIn: true },
  { name: 'authorize with an error', path: () => `/connect/authorize${query()}&scope=x` },
  { name: 'resume', path: () => '/connect/authorize/AAAAAAAAAAAAAAAAAAAAA' },
  { name: 'sign-in page', path: () => '/idp/interaction/AAAAAAAAAAAAAAAAAAAAA' },
  { name: 'restart', path: () => '/idp/interaction/AAAAAAAAAAAAAAAAAAAAA/restart' },
  {
    name: 'pushed request',
    method: 'POST',
    path: () => '/connect/par',
    body: form({
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    }),
    authorization: authorizationOf('web').authorization as string,
  },
  {
    name: 'token',
    method: 'POST',
    path: () => '/connect/token',
    body: form({ grant_type: 'client_credentials' }),
    authorization: authorizationOf('service').authorization as string,
  },
  {
    name: 'token refused',
    method: 'POST',
    path: () => '/connect/token',
    body: form({ grant_type: 'client_credentials', client_id: 'nobody' }),
  },
  {
    name: 'introspection',
    method: 'POST',
    path: () => '/connect/introspect',
    body: form({ token: 'x' }),
    authorization: authorizationOf('web').authorization as string,
  },
  {
    name: 'revocation',
    method: 'POST',
    path: () => '/connect/revocation',
    body: form({ token: 'x' }),
    authorization: authorizationOf('web').authorization as string,
  },
  { name: 'userinfo', path: () => '/connect/userinfo' },
  {
    name: 'scope introspection',
    path: () => '/connect/scope/introspect?sub=x',
    authorization: authorizationOf('web').authorization as string,
  },
  { name: 'scope introspection refused', path: () => '/connect/scope/introspect?sub=x' },
  { name: 'end session', path: () => '/connect/endsession' },
  { name: 'end session with a session', path: () => '/connect/endsession', signedIn: true },
  { name: 'signed out', path: () => '/connect/endsession/success' },
  { name: 'nothing', path: () => '/nothing' },
];

const evil = 'evil.example';
const own = () => new URL(service.issuer).host;
/** Requests that name another host as the service. */
const spoofs: { name: string; lines: (method: string, path: string) => string[] }[] = [
  { name: 'Host', lines: (method, path) => [`${method} ${path} HTTP/1.1`, `Host: ${evil}`] },
  { name: 'Host with a port', lines: (method, path) => [`${method} ${path} HTTP/1.1`, `Host: ${evil}:443`] },
  { name: 'Host with credentials', lines: (method, path) => [`${method} ${path} HTTP/1.1`, `Host: ${evil}@${own()}`] },
  { name: 'Host that is no host', lines: (method, path) => [`${method} ${path} HTTP/1.1`, `Host: ${own()}/${evil}?`] },
  { name: 'Host, twice in one', lines: (method, path) => [`${method} ${path} HTTP/1.1`, `Host: ${own()}, ${evil}`] },
  { name: 'an absolute request line', lines: (method, path) => [`${method} http://${evil}${path} HTTP/1.1`, `Host: ${own()}`] },
  {
    name: 'an absolute request line and Host',
    lines: (method, path) => [`${method} https://a@${evil}:8443${path} HTTP/1.1`, `Host: ${evil}`],
  },
  ...[
    ['X-Forwarded-Host', evil],
    ['X-Forwarded-Host', `${evil}, ${evil}`],
    ['X-Forwarded-Server', evil],
    ['X-Forwarded-Proto', `https://${evil}`],
    ['X-Forwarded-Port', '666'],
    ['X-Forwarded-Prefix', `/${evil}`],
    ['X-Original-URL', `/${evil}`],
    ['X-Rewrite-URL', `/${evil}`],
    ['Forwarded', `for=1.1.1.1;host=${evil};proto=https`],
    ['Referer', `https://${evil}/`],
  ].map(([name, value]) => ({
    name: `${name}: ${value}`,
    lines: (method: string, path: string) => [`${method} ${path} HTTP/1.1`, `Host: ${own()}`, `${name}: ${value}`],
  })),
];

/** Returns the answer without the parts that differ from one answer to the next. */
const stable = ({ status, head, body }: RawAnswer) => ({
  status,
  location: /^location: (.*)$/im.exec(head)?.[1]?.replace(/(code|interaction\/|session_state=)[^&]*/g, '$1'),
  urls: [...body.matchAll(/https?:\/\/[^"'<\s]+/g)].map(([url]) => url.replace(/(code|interaction\/|session_state=)[^&]*/g, '$1')),
  secure: /; secure/i.test(head),
});

test.each(routes)(
  'A3: $name is the same whoever the request says the service is',
  async ({ method = 'GET', path, body, authorization, signedIn }) => {
    const send = (lines: string[]) =>
      rawRequest(
        service.issuer,
        [
          ...lines,
          'Accept: text/html',
          ...(body === undefined ? [] : ['Content-Type: application/x-www-form-urlencoded']),
          ...(authorization ? [`Authorization: ${authorization}`] : []),
          ...(signedIn ? [`Cookie: ${cookie}`] : []),
        ],
        body,
      );
    const honest = await send([`${method} ${path()} HTTP/1.1`, `Host: ${own()}`]);
    for (const { name, lines } of spoofs) {
      const answer = await send(lines(method, path()));
      expect({ name, ...stable(answer) }).toEqual({ name, ...stable(honest) });
      expect(`${answer.head}\n${answer.body}`).not.toContain(evil);
      expect(answer.head).not.toContain(':666');
    }
  },
);

test('A3: a second Host header changes nothing; none at all is a bad request', async () => {
  const twice = await rawRequest(service.issuer, ['GET /.well-known/openid-configuration HTTP/1.1', `Host: ${own()}`, `Host: ${evil}`]);
  expect(twice.body).not.toContain(evil);
  expect(await rawRequest(service.issuer, ['GET /.well-known/openid-configuration HTTP/1.1'])).toMatchObject({
    status: 400,
    body: expect.not.stringContaining('{'),
  });
});

test('A3: a sign-in begun under a foreign Host goes on at the issuer', async () => {
  const begun = await rawRequest(service.issuer, [
    `GET /connect/authorize${query()} HTTP/1.1`,
    `Host: ${evil}`,
    `X-Forwarded-Host: ${evil}`,
  ]);
  const cookies = [...begun.head.matchAll(/^set-cookie: ([^;]+)/gim)].map(([, pair]) => pair).join('; ');
  const location = /^location: (.*)$/im.exec(begun.head)?.[1] ?? '';
  expect(new URL(location, service.issuer).origin).toBe(service.issuer);
  const page = await fetch(new URL(location, service.issuer), { headers: { cookie: cookies } });
  expect(page.status).toBe(200);
  const action = /<form[^>]* action="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  expect(action.startsWith(`${service.issuer}/idp/interaction/`)).toBe(true);
});

test('A3: what the service logs is no cause for concern', () => expectQuietLog(service));
