/**
 * Service specification 4.2, `request` with some of the parameters: parameters beside the object count if the object lacks them
 * (OpenID Connect Core §6.1), unless the object counts alone (RFC 9101).
 */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { Agent, type Answer, createPkce, obtainTokens } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

let endpoints: Endpoints;
let client: SigningClient;
let byUrl: SigningClient;
let alice: Agent;
/** Signed names and all parameters of the last request that was accepted. */
let accepted: { trusted: readonly string[]; params: Record<string, unknown> } | undefined;

const host = useDocumentHost();
const service = useIdp(() => ({
  outgoing: { allowHosts: [host.address] },
  onProvider: (provider) =>
    provider.on('authorization.accepted', (ctx: KoaContextWithOIDC) => {
      const { trusted = [], params } = ctx.oidc as unknown as { trusted?: string[]; params: Record<string, unknown> };
      accepted = { trusted, params: { ...params } };
    }),
}));
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  client = await createSigningClient('signing');
  byUrl = await createSigningClient('by-url', { metadata: { request_uris: [`${host.url}/request#v1`] } });
  for (const { record } of [client, byUrl]) await service.idp.directory.clients.create(record);
  ({ agent: alice } = await obtainTokens(service.issuer));
});
beforeEach(() => {
  accepted = undefined;
});

const { verifier, challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
/** Parameters of a complete request in a URL. */
const plain = { response_type: 'code', redirect_uri: redirectUri, scope: 'openid', state: 'beside', nonce: 'beside', ...pkce };
const nothing = Object.fromEntries(['client_id', 'response_type', 'redirect_uri', 'scope', 'exp'].map((name) => [name, undefined]));

/** Returns a request object with only these members, `iss` and `aud`. Its type does not say which rules apply. */
const sign = (members: Record<string, unknown> = {}, typ: string | undefined = 'JWT', by = client) =>
  by.sign(service.issuer, { ...nothing, ...members }, { typ });
const get = (query: Record<string, string>, agent = alice): Promise<Answer> =>
  agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, ...query })}`);
const respond = async (query: Record<string, string>) => membersOf(await get(query));

describe('OpenID Connect Core §6.1: what the object lacks', () => {
  test.each(['JWT', undefined])('4.2 is what stands beside it, client_id and exp included, when its typ is %s', async (typ) => {
    const request = await sign({ state: 'signed', cart: '1' }, typ);
    const response = await respond({ ...plain, request, cart: '2', basket: '3', display: 'page' });
    expect(response).toEqual({
      code: expect.any(String),
      state: 'signed',
      scope: 'openid',
      iss: service.issuer,
      session_state: expect.any(String),
      cart: '1',
      basket: '3',
      display: 'page',
    });
    expect(accepted?.params).toMatchObject({ client_id: client.id, nonce: 'beside', redirect_uri: redirectUri });
    const fields = { grant_type: 'authorization_code', code: response.code ?? '', redirect_uri: redirectUri, code_verifier: verifier };
    expect(await endpoints.token(fields, client.id)).toMatchObject({ status: 200 });
  });

  test('4.2 never takes the place of what it has, be that empty', async () => {
    const request = await sign({ ...plain, state: '', scope: 'openid profile', nonce: 'signed', login_hint: '', max_age: 300 });
    const response = await respond({ ...plain, request, login_hint: 'mallory', max_age: '0', scope: 'openid', ui_locales: 'nb' });
    expect(response).toMatchObject({ code: expect.any(String), scope: 'openid profile' });
    expect(response).not.toHaveProperty('state');
    expect(accepted?.params).toMatchObject({ nonce: 'signed', max_age: '300', ui_locales: 'nb' });
    expect(accepted?.params.login_hint).toBeUndefined();
  });

  test('4.2 has to agree with it about response_type and client_id', async () => {
    const request = await sign({ response_type: 'code', client_id: client.id });
    expect(await respond({ ...plain, request })).toHaveProperty('code');
    expect(membersOf(await get({ ...plain, request, response_type: 'id_token' }))).toMatchObject({ error: 'invalid_request_object' });
    expect(await respond({ ...plain, request: await sign({ client_id: 'web' }) })).toMatchObject({ error: 'invalid_request_object' });
  });

  test('4.2 is held to every rule of a plain request', async () => {
    const request = await sign();
    for (const [beside, error] of [
      [{ scope: 'openid email' }, 'invalid_scope'],
      [{ scope: '' }, 'invalid_request'],
      [{ acr_values: 'impersonate' }, 'unmet_authentication_requirements'],
      [{ response_type: 'id_token' }, 'invalid_request'],
      [{ state: 'x'.repeat(5000) }, 'invalid_request'],
      [{ registration: '{}' }, 'registration_not_supported'],
    ] as const)
      expect(await respond({ ...plain, ...beside, request })).toMatchObject({
        error: expect.stringMatching(`^(${error}|unauthorized_client)$`),
      });
    const foreign = await get({ ...plain, request, redirect_uri: 'http://evil.example/' });
    expect([foreign.status, foreign.location]).toEqual([400, undefined]);
    const names = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${from + index}`, 'v']));
    expect(await respond({ ...plain, ...names(0, 50), request: await sign(names(50, 50)) })).toMatchObject({ p0: 'v', p99: 'v' });
    expect(await respond({ ...plain, ...names(0, 51), request: await sign(names(51, 50)) })).toMatchObject({ error: 'invalid_request' });
  });

  test('4.2 code_challenge and its method are of one side, and plain is for who may', async () => {
    const { code_challenge: _, code_challenge_method: __, ...bare } = plain;
    const other = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    expect(await respond({ ...plain, ...other, request: await sign(pkce) })).toHaveProperty('code');
    expect(accepted?.params).toMatchObject(pkce);
    for (const [inside, beside] of [
      [{ code_challenge: challenge }, { code_challenge_method: 'S256' }],
      [{ code_challenge_method: 'S256' }, { code_challenge: challenge }],
      [{ code_challenge: verifier }, { code_challenge_method: 'plain' }],
      [{}, { code_challenge: verifier, code_challenge_method: 'plain' }],
    ] as const)
      expect(await respond({ ...bare, ...beside, request: await sign(inside) })).toMatchObject({ error: 'invalid_request' });
    // A member without a value is absent.
    expect(await respond({ ...bare, ...pkce, request: await sign({ code_challenge: '' }) })).toHaveProperty('code');
    await service.idp.directory.clients.update(client.id, { allowPlainPkce: true });
    const beside = { code_challenge: verifier, code_challenge_method: 'plain' };
    expect(await respond({ ...bare, ...beside, request: await sign() })).toHaveProperty('code');
    expect(accepted?.params).toMatchObject(pkce);
    await service.idp.directory.clients.update(client.id, { allowPlainPkce: false });
    // Beside the object, the method is ignored as the challenge is.
    expect(await respond({ ...bare, ...beside, request: await sign(pkce) })).toHaveProperty('code');
  });

  test('4.2 never counts as signed', async () => {
    await respond({ ...plain, request: await sign({ state: 'signed', max_age: 300 }) });
    expect([...(accepted?.trusted ?? [])].sort()).toEqual(['max_age', 'state']);
  });

  test('4.2 goes through the pages with it', async () => {
    const agent = new Agent();
    const page = await agent.follow(await get({ ...plain, basket: '1', request: await sign({ state: 'signed' }) }, agent));
    expect(isSignInPage(page)).toBe(true);
    const password = await agent.submit(page, { identifier: 'alice@acme.test' });
    expect(membersOf(await agent.follow(await agent.submit(password, { password: 'alice' })))).toMatchObject({
      code: expect.any(String),
      state: 'signed',
      basket: '1',
    });
  });

  test('4.2 counts beside a request_uri, whose fragment need not be the hash of what is there', async () => {
    const object = await sign({ state: 'signed' }, 'JWT', byUrl);
    host.answerBy((_, response) => void response.writeHead(200, { 'content-type': 'application/jwt' }).end(object));
    const [uri = ''] = byUrl.record.metadata.request_uris as string[];
    const response = await respond({ ...plain, client_id: byUrl.id, request_uri: uri, basket: '1' });
    expect(response).toMatchObject({ code: expect.any(String), state: 'signed', basket: '1' });
  });

  test('4.2 a client assertion is no request object, where client_id need not be in it either', async () => {
    expect(await respond({ ...plain, request: await sign({ sub: client.id, jti: 'x' }) })).toMatchObject({
      error: 'invalid_request_object',
    });
  });
});

/** Parameters beside the object, with a value that would show. */
const evil = { nonce: 'evil', login_hint: 'evil', cart: 'evil', basket: 'evil', ui_locales: 'evil' };
const signed = { ...plain, state: 'signed', nonce: 'signed' };
const inFull = (more: Record<string, unknown> = {}) => ({
  ...signed,
  client_id: client.id,
  exp: epochSeconds() + 60,
  ...more,
});
const expectAlone = (response: Record<string, string>): void => {
  expect(response).toMatchObject({ code: expect.any(String), state: 'signed' });
  expect(Object.values(response)).not.toContain('evil');
  expect(accepted?.params.nonce).toBe('signed');
  for (const name of ['login_hint', 'ui_locales']) expect(accepted?.params[name]).toBeUndefined();
};

describe('RFC 9101: the object alone, with client_id and exp', () => {
  const expectAllNeeded = async (typ: string, issuer = service.issuer, agent = alice): Promise<void> => {
    for (const name of ['client_id', 'exp', 'state', 'redirect_uri', 'scope', 'code_challenge']) {
      const request = await client.sign(issuer, inFull({ [name]: undefined, nbf: epochSeconds() }), { typ });
      const { location } = await agent.get(
        `${issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, ...plain, ...evil, request })}`,
      );
      const response = Object.fromEntries(new URL(location ?? 'none:').searchParams);
      expect(Object.values(response)).not.toContain('evil');
      if (name === 'state') expect(response).not.toHaveProperty('state');
      else expect(response).not.toHaveProperty('code');
    }
  };

  test.each(['oauth-authz-req+jwt', 'application/oauth-authz-req+jwt', 'OAuth-Authz-Req+JWT'])('RFC 9101 §10.8: of typ %s', async (typ) => {
    expectAlone(await respond({ ...plain, ...evil, request: await sign(inFull(), typ) }));
    await expectAllNeeded(typ);
  });

  test('RFC 9101 §10.5: of a client that has to sign its requests', async () => {
    await service.idp.directory.clients.update(client.id, { metadata: { ...client.record.metadata, require_signed_request_object: true } });
    expectAlone(await respond({ ...plain, ...evil, request: await sign(inFull()) }));
    await expectAllNeeded('JWT');
    await service.idp.directory.clients.update(client.id, { metadata: client.record.metadata });
  });

  test('RFC 9126 §3: that was pushed, beside the push and beside its reference', async () => {
    const { json } = await endpoints.par({ client_id: client.id, ...plain, ...evil, request: await sign(inFull()) }, client.id);
    expectAlone(await respond({ ...plain, ...evil, request_uri: json.request_uri }));
    for (const name of ['client_id', 'exp'])
      expect(
        await endpoints.par({ client_id: client.id, ...plain, request: await sign(inFull({ [name]: undefined })) }, client.id),
      ).toMatchObject({
        status: 400,
        json: { error: 'invalid_request_object' },
      });
  });

  test('RFC 9126 §4: that was pushed as a form', async () => {
    const { json } = await endpoints.par({ client_id: client.id, ...signed }, client.id);
    expectAlone(await respond({ ...plain, ...evil, request_uri: json.request_uri }));
  });

  test.each(['1.0 Final'] as const)('FAPI %s; under 2.0 requests are pushed', async (profile) => {
    const other = await startIdp({ features: { fapi: { enabled: true, profile } } });
    await other.idp.directory.clients.create({
      ...client.record,
      metadata: { ...client.record.metadata, token_endpoint_auth_method: 'private_key_jwt' },
    });
    await expectAllNeeded('JWT', other.issuer, new Agent());
    await other.close();
  });

  test('design §5: of references of our own, for a POST', async () => {
    const { location = '' } = await alice.post(`${service.issuer}/connect/authorize`, { client_id: client.id, ...signed });
    expect(location).toContain('request_uri=');
    expectAlone(membersOf(await alice.get(`${location}&${new URLSearchParams(evil)}`)));
  });

  test('design §5: of references of our own, for a sign-in that is begun anew, with what stood beside the object then', async () => {
    const agent = new Agent();
    const begun = await get({ ...plain, cart: '1', request: await sign({ state: 'signed', nonce: 'signed' }) }, agent);
    const { location = '' } = await agent.get(`${begun.location}/restart`);
    expect(location).toContain('request_uri=');
    const page = await agent.follow(await agent.get(`${location}&${new URLSearchParams(evil)}`));
    const password = await agent.submit(page, { identifier: 'alice@acme.test' });
    const response = membersOf(await agent.follow(await agent.submit(password, { password: 'alice' })));
    expectAlone(response);
    expect(response.cart).toBe('1');
  });

  test('RFC 9101 §10.8: the type is the one that was signed', async () => {
    const [, payload, signature] = (await sign(inFull(), 'oauth-authz-req+jwt')).split('.');
    for (const header of [
      { alg: 'ES256', kid: 'own', typ: 'JWT' },
      { alg: 'ES256', kid: 'own' },
    ]) {
      const request = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`;
      expect(await respond({ ...plain, ...evil, request })).toMatchObject({ error: 'invalid_request_object' });
    }
  });

  test('4.2 nothing beside it is in an error either', async () => {
    for (const members of [{ scope: 'openid nonsense' }, { prompt: 'bogus' }, { exp: 1 }]) {
      const { cart, basket } = await respond({
        ...plain,
        request: await sign(inFull(members), 'oauth-authz-req+jwt'),
        ...(members.exp ? {} : evil),
      });
      expect([cart, basket]).toEqual([undefined, undefined]);
    }
  });
});

test('OpenID Connect Registration §2: request_uris are metadata of a client as any other', async () => {
  const { Client } = service.idp.provider as unknown as { Client: new (metadata: object) => { metadata(): object } };
  const metadata = { client_id: 'registered', client_secret: 'x', redirect_uris: ['https://rp.example/cb'] };
  const requestUris = ['https://rp.example/request', 'https://rp.example/request#v2'];
  expect(new Client({ ...metadata, request_uris: requestUris }).metadata()).toMatchObject({ request_uris: requestUris });
  for (const wrong of ['https://rp.example/request', [7], ['/request'], ['ftp://rp.example/x'], ['https://user@rp.example/x']])
    expect(() => new Client({ ...metadata, request_uris: wrong })).toThrow('invalid_client_metadata');
});
