/** Unregistered URIs of a request: in development, the error page shows them and the registered URIs; in production, it shows neither. */
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { Agent, authorizeUrl, basic, postForm } from '../../support/client/agent.js';
import { inProduction, lastingOptions } from '../../support/service/idp.js';
import { keepLog } from '../../support/service/kept-log.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const registered = 'https://app.example:8443/auth/CallBack?way=in';
const other = 'https://other.example/cb';
const secret = 'a-secret-of-more-than-32-characters';
const metadata = { redirect_uris: [other, registered], post_logout_redirect_uris: [other, registered] };
const client = { id: 'app', name: 'App', secret, metadata, allowedScopes: ['openid'] };
const service = useIdp({ seed: { ...testSeed, clients: [...testSeed.clients, client] } });

beforeEach(() => {
  service.lines.length = 0;
});

const reason = () => service.lines.find(({ message }) => message === 'request refused')?.fields.reason;
/** Returns the text of a page, without its tags. */
const textOf = (body: string) =>
  body
    .replace(/<style[\s\S]*?<\/style>|<[^>]*>/g, '')
    .replaceAll('&amp;', '&')
    .replaceAll('&#39;', "'");

/** Ways to send an unregistered URI, one for each kind of request. */
const ways = {
  'an authorization request': (issuer: string, uri: string) =>
    new Agent().get(authorizeUrl(issuer, { client_id: 'app', redirect_uri: uri })),
  'a sign-out': (issuer: string, uri: string) =>
    new Agent().get(`${issuer}/connect/endsession?${new URLSearchParams({ client_id: 'app', post_logout_redirect_uri: uri })}`),
  'a pushed request of a browser': (issuer: string, uri: string) =>
    new Agent().post(
      `${issuer}/connect/par`,
      { client_id: 'app', response_type: 'code', scope: 'openid', redirect_uri: uri },
      { authorization: basic('app', secret) },
    ),
  'a pushed request': async (issuer: string, uri: string) => {
    const fields = { client_id: 'app', response_type: 'code', scope: 'openid', redirect_uri: uri };
    const { status, json } = await postForm(`${issuer}/connect/par`, fields, { authorization: basic('app', secret) });
    return { status, body: json.error_description as string };
  },
};

const differences: readonly (readonly [sent: string, difference: string | undefined])[] = [
  [registered.replace('CallBack', 'CallBack/'), 'the slash at the end'],
  [registered.replace('https', 'http'), 'http or https'],
  [registered.replace('8443', '8444'), 'the port'],
  [registered.replace(':8443', ''), 'the port'],
  [registered.replace('CallBack', 'callback'), 'upper and lower case in the path'],
  [registered.replace('app.', 'APP.'), 'upper and lower case'],
  [registered.replace('app.', 'www.'), 'the host'],
  [registered.replace('?way=in', ''), 'the query'],
  [registered.replace('CallBack', 'login'), 'the path'],
  [registered.replace('auth', '%61uth'), 'the path'],
  [registered.replace('https', 'http').replace('8443', '80'), 'http or https and the port'],
  [`${other}/`, 'the slash at the end'],
  ['http://elsewhere.test/x?y', undefined],
  ['callback', undefined],
];

describe.each(Object.entries(ways))('%s', (name, send) => {
  test.each(differences)('shows %s, the registered URIs, and what differs', async (sent, difference) => {
    const { status, body } = await send(service.issuer, sent);
    const text = textOf(body);
    expect(status).toBe(400);
    for (const uri of [sent, registered, other]) expect(text).toContain(uri);
    if (difference === undefined) expect(text).not.toContain('differs in');
    else expect(text).toContain(`The first registered URI differs in ${difference}.`);
    const [, first] = /received \S+\s+registered ([^\s;]+)/.exec(text.replaceAll('; ', '\n')) ?? [];
    if (difference !== undefined) expect(first).toBe(sent.startsWith(other) ? other : registered);
    expect(String(reason())).toMatch(difference === undefined ? /regist[^;]*$/ : new RegExp(`; the nearest one differs in ${difference}$`));
    expect(reason()).not.toContain(sent);
  });

  test('shows no markup, no line break and no more than a line of a URI that somebody made', async () => {
    const hostile = `https://app.example/<script>alert("1")</script>\\'\nregistered https://evil.example/\u202e${'x'.repeat(1500)}`;
    const { body } = await send(service.issuer, hostile);
    expect(body).not.toContain('<script>alert');
    expect(body).not.toMatch(/\nregistered https:\/\/evil/);
    expect(body).not.toContain('\u202e');
    expect(textOf(body)).not.toContain('x'.repeat(400));
    if (name === 'a pushed request') expect(body).toMatch(/^[ !#-[\]-~]+$/);
  });
});

test('a URI as long as no other is compared with none', async () => {
  const { body, status } = await ways['an authorization request'](service.issuer, `${registered}${'x'.repeat(3000)}`);
  expect(status).toBe(400);
  expect(body).not.toContain('differs in');
});

test('in production, no answer has the URI that was sent or one that is registered; the log names what differs', async () => {
  const { logger, lines } = keepLog();
  const idp = await inProduction(() => createIdentityProvider({ ...lastingOptions(), seed: { clients: [client] }, logger }));
  try {
    const server = await idp.listen(0, '127.0.0.1');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [sent] = differences[2] as readonly [string, string];
    for (const send of Object.values(ways)) {
      lines.length = 0;
      const { status, body } = await send(origin, sent);
      expect(status).toBe(400);
      expect(textOf(body)).not.toMatch(/CallBack|other\.example|8444|differs/);
      expect(lines.find(({ message }) => message === 'request refused')?.fields.reason).toMatch(/differs in the port$/);
    }
  } finally {
    await idp.close();
  }
});
