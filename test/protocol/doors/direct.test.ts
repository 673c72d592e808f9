/** Plain requests, which the service answers itself: the answers are those of oidc-provider to the same requests in an unusual form. */
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { authorizeUrl, basic, createPkce, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { answerOf, formTypes, plainType, unusualType } from '../../support/requests/both-doors.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { jitteryDirectory } from '../../support/stores/jittery-directory.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
let tokens: Json;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  ({ tokens } = await obtainTokens(service.issuer, { scope: 'openid profile email org roles perms offline_access orders.read' }));
});

afterEach(backToPresent);

const answerTo = (path: string, init: RequestInit) => answerOf(service.issuer + path, init);

const introspected = (fields: Record<string, string>, headers: Record<string, string>) =>
  Promise.all(
    formTypes.map((type) =>
      answerTo('/connect/introspect', {
        method: 'POST',
        headers: { 'content-type': type, ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    ),
  );

describe('4.5 a plain introspection is answered like any other', () => {
  test.each(['web', 'orders', 'invoices', 'pairwise', 'spa'])('asked by %s', async (caller) => {
    const own = await endpoints.clientCredentials();
    for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token, own.access_token, 'unknown', 'a'.repeat(44), '']) {
      const [direct, other] = await introspected({ token }, credentialsOf(caller));
      expect(direct).toEqual(other);
    }
  });

  test('of the token of a pairwise client', async () => {
    const { tokens: pairwise } = await obtainTokens(service.issuer, {
      client: 'pairwise',
      secret: 'pairwise-secret',
      scope: 'openid profile',
    });
    const [direct, other] = await introspected({ token: pairwise.access_token }, credentialsOf('pairwise'));
    expect(direct).toMatchObject({ body: { active: true } });
    expect(direct).toEqual(other);
  });

  test('of tokens of the authorization endpoint; userinfo and revocation alike', async () => {
    const { agent } = await obtainTokens(service.issuer);
    await service.idp.directory.clients.create({
      id: 'hybrid',
      name: 'Hybrid',
      secret: 'hybrid-secret',
      metadata: { redirect_uris: [redirectUri], response_types: ['token', 'code id_token token'] },
      allowedScopes: ['openid', 'profile', 'orders.read'],
    });
    const { challenge } = createPkce();
    for (const type of ['token', 'code id_token token']) {
      const pkce = type.includes('code') ? { code_challenge: challenge, code_challenge_method: 'S256' } : {};
      const scope = 'openid profile orders.read';
      const url = authorizeUrl(service.issuer, { client_id: 'hybrid', response_type: type, nonce: 'n', scope, ...pkce });
      const { location = '' } = await agent.follow(await agent.get(url));
      const token = new URLSearchParams(new URL(location).hash.slice(1)).get('access_token') ?? '';
      for (const caller of ['hybrid', 'orders', 'web']) {
        const [direct, other] = await introspected({ token }, credentialsOf(caller));
        expect(direct).toMatchObject({ body: { active: caller !== 'web' } });
        expect(direct).toEqual(other);
      }
      const init = { headers: { authorization: `Bearer ${token}` } };
      const [plain, unusual] = await Promise.all(['', '?unusual=yes'].map((query) => answerTo(`/connect/userinfo${query}`, init)));
      expect(plain).toMatchObject({ status: 200, body: { name: 'Alice Adams' } });
      expect(plain).toEqual(unusual);
      await endpoints.revoke(token, 'hybrid');
      const [direct, other] = await introspected({ token }, credentialsOf('hybrid'));
      expect([direct, (direct as Json).body]).toEqual([other, { active: false }]);
    }
  });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['the secret in the form', { client_id: 'web', client_secret: 'web-secret' }, {}],
    ['a wrong secret', {}, { authorization: basic('web', 'wrong') }],
    ['an unknown client', {}, { authorization: basic('nobody', 'secret') }],
    ['no credentials', {}, {}],
    ['two mechanisms', { client_id: 'web', client_secret: 'web-secret' }, { authorization: basic('web', 'web-secret') }],
    ['the id again', { client_id: 'web' }, { authorization: basic('web', 'web-secret') }],
    ['another id', { client_id: 'orders' }, { authorization: basic('web', 'web-secret') }],
    ['an empty secret', { client_id: 'web', client_secret: '' }, {}],
    ['an assertion beside it', { client_assertion: 'x' }, { authorization: basic('web', 'web-secret') }],
    ['what is not Basic', {}, { authorization: 'Bearer web' }],
    ['what is not base64', {}, { authorization: 'Basic !!!' }],
  ])('with %s', async (_what, fields, headers) => {
    const [direct, other] = await introspected({ token: tokens.access_token, ...fields }, headers);
    expect(direct).toEqual(other);
  });

  test('of an expired token, and of one of a user who may no longer sign in', async () => {
    const person = await service.idp.directory.accounts.findByOid((await endpoints.userinfo(tokens.access_token)).json.sub);
    passTime(3601);
    const [direct, other] = await introspected({ token: tokens.access_token }, credentialsOf('web'));
    expect(direct).toMatchObject({ body: { active: false } });
    expect(direct).toEqual(other);
    expect(person).toBeDefined();
  });

  test('a body in two pieces, one too long and one without a length', async () => {
    const text = new URLSearchParams({ token: tokens.access_token }).toString();
    const pieces = (...parts: string[]) =>
      new ReadableStream({
        async start(controller) {
          for (const part of parts) {
            controller.enqueue(Buffer.from(part));
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          controller.close();
        },
      });
    const init = { method: 'POST', headers: { 'content-type': plainType, ...credentialsOf('web') } };
    const inPieces = { ...init, body: pieces(text.slice(0, 10), text.slice(10)), duplex: 'half' } as RequestInit;
    expect(await answerTo('/connect/introspect', inPieces)).toMatchObject({ status: 200, body: { active: true } });
    const tooLong = { ...init, body: `${text}&x=${'x'.repeat(100_000)}` };
    expect(await answerTo('/connect/introspect', tooLong)).toMatchObject({ status: 400 });
  });
});

describe('4.7 a plain request to userinfo is answered like any other', () => {
  test.each(['access_token', 'refresh_token', 'id_token'])('with the %s', async (name) => {
    const init = { headers: { authorization: `Bearer ${tokens[name]}` } };
    const [direct, other] = await Promise.all(['', '?unusual=yes'].map((query) => answerTo(`/connect/userinfo${query}`, init)));
    expect(direct).toEqual(other);
  });

  test('for a pairwise client, for a token without openid, after its end', async () => {
    const { tokens: pairwise } = await obtainTokens(service.issuer, {
      client: 'pairwise',
      secret: 'pairwise-secret',
      scope: 'openid profile',
    });
    const { access_token: own } = await endpoints.clientCredentials();
    const same = async (token: string) => {
      const init = { headers: { authorization: `Bearer ${token}` } };
      const [direct, other] = await Promise.all(['', '?unusual=yes'].map((query) => answerTo(`/connect/userinfo${query}`, init)));
      expect(direct).toEqual(other);
    };
    await same(pairwise.access_token);
    await same(own);
    passTime(3601);
    await same(pairwise.access_token);
  });
});

/** Sends only these headers, because `fetch` adds `Cache-Control` to a conditional request. */
const statusOf = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });

describe('4.6 a plain revocation is answered like any other', () => {
  const revoke = (token: string, type: string, caller = 'web') =>
    answerTo('/connect/revocation', {
      method: 'POST',
      headers: { 'content-type': type, ...credentialsOf(caller) },
      body: new URLSearchParams({ token }).toString(),
    });

  test.each(['access_token', 'refresh_token'])('of the %s: it and its family are dead', async (name) => {
    for (const type of formTypes) {
      const { tokens: bought } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
      expect(await revoke(bought[name], type)).toEqual({ status: 200, headers: expect.any(Array), body: '' });
      expect(await endpoints.introspect(bought.access_token)).toMatchObject({ text: '{"active":false}' });
      expect(await endpoints.refresh(bought.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    }
    const { tokens: bought } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    const { tokens: others } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    expect(await revoke(bought[name], plainType)).toEqual(await revoke(others[name], unusualType));
  });

  test('of a client’s own token, an unknown one, somebody else’s, a spent one', async () => {
    const own = await endpoints.clientCredentials();
    const other = await endpoints.clientCredentials();
    expect(await revoke(own.access_token, plainType, 'service')).toEqual(await revoke(other.access_token, unusualType, 'service'));
    expect((await endpoints.introspect(own.access_token, 'service')).text).toBe('{"active":false}');
    expect(await revoke('unknown', plainType)).toEqual(await revoke('unknown', unusualType));
    const { tokens: bought } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    expect(await revoke(bought.access_token, plainType, 'jwt')).toEqual(await revoke(bought.access_token, unusualType, 'jwt'));
    expect((await endpoints.introspect(bought.access_token)).json.active).toBe(true);
    const { json: next } = await endpoints.refresh(bought.refresh_token);
    await revoke(bought.refresh_token, plainType);
    expect((await endpoints.introspect(next.access_token)).text).toBe('{"active":false}');
  });
});

test('tokens of a grant that a host made with `provider.Grant`: answered like any other, and ended with the sign-ins of the user', async () => {
  const other = await startIdp();
  const [account] = await other.idp.directory.accounts.candidates('alice@acme.test');
  const { user, tid } = { user: account?.person.user, tid: account?.tenant.id ?? '' };
  const { provider } = other.idp;
  const client = await provider.Client.find('web');
  const grant = new provider.Grant({ clientId: 'web', accountId: user?.id ?? '' });
  grant.addOIDCScope('openid profile offline_access');
  const grantId = await grant.save();
  const members = { accountId: user?.id, client, grantId, gty: 'of_the_host', scope: 'openid profile offline_access' } as never;
  const accessToken = await new provider.AccessToken(members).save();
  const refreshTokens = [await new provider.RefreshToken(members).save(), await new provider.RefreshToken(members).save()];
  const headers = { authorization: basic('web', 'web-secret') };
  const both = <T>(ask: (type: string, index: number) => Promise<T>) => Promise.all(formTypes.map(ask));

  const infos = await both((type) =>
    fetch(`${other.issuer}/connect/userinfo${type === plainType ? '' : '?unusual'}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    }).then((response) => response.json()),
  );
  expect(infos[0]).toEqual(infos[1]);
  expect(infos[0]).toMatchObject({ sub: user?.id, tid });
  const introspections = await both((type) =>
    postForm(`${other.issuer}/connect/introspect`, { token: accessToken }, { ...headers, 'content-type': type }),
  );
  expect(introspections[0]?.json).toEqual(introspections[1]?.json);
  expect(introspections[0]?.json).toMatchObject({ active: true, sub: user?.id });
  const refreshed = await both((type, index) =>
    postForm(
      `${other.issuer}/connect/token`,
      { grant_type: 'refresh_token', refresh_token: refreshTokens[index] ?? '' },
      { ...headers, 'content-type': type },
    ),
  );
  expect(refreshed.map(({ status, json }) => [status, decodeJwt(json.id_token).sub])).toEqual([
    [200, user?.id],
    [200, user?.id],
  ]);

  await other.idp.tenant(tid).users.signOutEverywhere(user?.id ?? '');
  while (await provider.Grant.find(grantId)) await sleep(5);
  await other.close();
});

test('who listens to oidc-provider, or configures it, is not passed by', async () => {
  const heard: string[] = [];
  const other = await startIdp({
    onProvider: (provider) => void provider.on('client_credentials.saved', () => heard.push('client_credentials.saved')),
  });
  try {
    await endpointsOf(other.issuer).clientCredentials();
    expect(heard).toEqual(['client_credentials.saved']);
  } finally {
    await other.close();
  }
});

test('extraTokenClaims of a configuration reach JWT access tokens and introspection, and say nothing in the place of the protocol', async () => {
  const extra = { department: 'sales', sub: 'somebody else', iss: 'https://evil.test', aud: ['all'], scope: 'everything', exp: 1 };
  const other = await startIdp({ configure: (given) => ({ ...given, extraTokenClaims: () => ({ ...extra }) }) });
  try {
    const { tokens } = await obtainTokens(other.issuer, { client: 'jwt', secret: 'jwt-secret', scope: 'openid orders.read' });
    const introspected = (await endpointsOf(other.issuer).introspect(tokens.access_token, 'jwt')).json;
    for (const claims of [decodeJwt(tokens.access_token) as Record<string, unknown>, introspected]) {
      expect(claims).toMatchObject({ department: 'sales', iss: other.issuer, aud: ['orders'], scope: 'openid orders.read' });
      expect([claims.sub, claims.exp]).not.toEqual(expect.arrayContaining([extra.sub, extra.exp]));
    }
    await other.idp.directory.clients.update('service', { accessTokenType: 'jwt' });
    const own = await endpointsOf(other.issuer).clientCredentials();
    expect(decodeJwt(own.access_token)).toMatchObject({ department: 'sales', sub: 'service' });
  } finally {
    await other.close();
  }
});

test.each(['/.well-known/openid-configuration', '/.well-known/openid-configuration/jwks'])(
  '4.9 %s is written once: the same answer again, and 304 for who has it',
  async (path) => {
    const first = await fetch(service.issuer + path);
    const text = await first.text();
    const again = await fetch(service.issuer + path, { headers: { origin: 'https://app.example.com' } });
    expect(await again.text()).toBe(text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    const etag = again.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    expect(await statusOf(service.issuer + path, { 'if-none-match': etag })).toBe(304);
    const head = await fetch(service.issuer + path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))]);
  },
);

test.each<[string, string, Record<string, string>, object]>([
  ['a refresh token nobody gave', '/connect/token', { grant_type: 'refresh_token', refresh_token: 'unknown' }, { error: 'invalid_grant' }],
  ['a code alone', '/connect/token', { grant_type: 'authorization_code', code: 'unknown' }, missing('redirect_uri')],
  ['a token nobody gave', '/connect/introspect', { token: 'x.y.z' }, { active: false }],
  ['a pushed request', '/connect/par', { client_id: 'web' }, missing('response_type')],
])('a body that came before it was asked for is there after the stores were asked: %s', async (_, path, fields, expected) => {
  const waiting = await startIdp({
    directory: jitteryDirectory(memoryDirectory(), () => 0.9),
    host: (idp) => {
      const answer = idp.callback();
      return (req, res) => void setTimeout(() => answer(req, res), 20);
    },
  });
  try {
    const { json } = await postForm(waiting.issuer + path, fields, { authorization: basic('web', 'web-secret') });
    expect(json).toMatchObject(expected);
  } finally {
    await waiting.close();
  }
});

function missing(parameter: string): object {
  return { error_description: `missing required parameter '${parameter}'` };
}
