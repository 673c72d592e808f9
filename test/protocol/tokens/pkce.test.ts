import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { Agent, authorizeUrl, basic, createPkce, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { responseOf } from '../../support/client/steps.js';
import { unusualType } from '../../support/requests/both-doors.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
let alice: Agent;
let signing: SigningClient;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  const fields = { metadata: { redirect_uris: [redirectUri] }, allowedScopes: ['openid'] };
  await service.idp.directory.clients.create({ ...fields, id: 'plain', name: 'Cannot hash', secret: 'plain-secret', allowPlainPkce: true });
  await service.idp.directory.clients.create({ ...fields, id: 'free', name: 'Without PKCE', secret: 'free-secret', requirePkce: false });
  await service.idp.directory.clients.create({ ...fields, id: 'strict', name: 'Insists', secret: 'strict-secret', requirePkce: true });
  const native = { metadata: { redirect_uris: ['com.example:/cb'], application_type: 'native' }, allowedScopes: ['openid'] };
  await service.idp.directory.clients.create({ ...native, id: 'native', name: 'Native', secret: 'native-secret' });
  signing = await createSigningClient('signs');
  await service.idp.directory.clients.create(signing.record);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const { verifier } = createPkce();
const plain = (challenge = verifier) => ({ code_challenge: challenge, code_challenge_method: 'plain' });
const authorize = async (client: string, parameters: Record<string, string | undefined>) =>
  responseOf(await alice.get(authorizeUrl(service.issuer, { client_id: client, state: 's', ...parameters })));
const redeem = (client: string, code: string | null, codeVerifier?: string, type = 'application/x-www-form-urlencoded') =>
  postForm(
    `${service.issuer}/connect/token`,
    {
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: redirectUri,
      ...(codeVerifier === undefined ? {} : { code_verifier: codeVerifier }),
    },
    { authorization: basic(client, `${client}-secret`), 'content-type': type },
  );
const refused = { error: 'invalid_request', state: 's' };

describe('4.2 code_challenge: base64url of the SHA-256 hash of the verifier, or plain text for plain', () => {
  test('a client library whose client may use plain', async () => {
    const party = await discover(service.issuer, { client: 'plain' });
    const url = openid.buildAuthorizationUrl(party, { redirect_uri: redirectUri, scope: 'openid', state: 's', ...plain() });
    const { location = '' } = await signIn(new Agent(), url.href);
    const checks = { pkceCodeVerifier: verifier, expectedState: 's' };
    expect(await openid.authorizationCodeGrant(party, new URL(location), checks)).toMatchObject({ token_type: 'bearer' });
  });

  test.each(['application/x-www-form-urlencoded', unusualType])(
    'the verifier is compared, however the token endpoint is asked: %s',
    async (type) => {
      for (const challenge of [verifier, '~.-_'.repeat(11), 'a'.repeat(128)]) {
        const code = async () => (await authorize('plain', plain(challenge))).get('code');
        expect(await redeem('plain', await code(), challenge, type)).toMatchObject({ status: 200 });
        for (const wrong of [createPkce().verifier, undefined, 'short'])
          expect(await redeem('plain', await code(), wrong, type)).toMatchObject({ status: 400 });
      }
    },
  );

  test('with S256 the challenge is no verifier, not for a client that may use plain either', async () => {
    const { challenge, verifier: right } = createPkce();
    const code = async () => (await authorize('plain', { code_challenge: challenge, code_challenge_method: 'S256' })).get('code');
    expect(await redeem('plain', await code(), challenge)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await redeem('plain', await code(), right)).toMatchObject({ status: 200 });
  });

  test('a client that may not use plain gets invalid_request', async () => {
    for (const client of ['web', 'free']) {
      const response = await authorize(client, plain());
      expect(Object.fromEntries(response)).toMatchObject({ ...refused, error_description: expect.stringContaining('plain') });
      expect(response.get('code')).toBeNull();
    }
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['42 characters', plain('a'.repeat(42))],
    ['129 characters', plain('a'.repeat(129))],
    ['a character that no verifier has', plain(`${'a'.repeat(43)}/`)],
    ['no challenge', { code_challenge_method: 'plain' }],
    ['another method', { ...plain(), code_challenge_method: 'PLAIN' }],
    ['no method, which is required with a challenge', { code_challenge: verifier }],
  ])('with %s it is invalid_request', async (_, parameters) => {
    expect(Object.fromEntries(await authorize('plain', parameters))).toMatchObject(refused);
  });
});

describe('4.2 flow rules 3 and 4: the challenge of the verifier is computed again, and compared', () => {
  const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
  const redeemed = async (challenge: string, codeVerifier: string | undefined, type: string) =>
    redeem('free', (await authorize('free', { code_challenge: challenge, code_challenge_method: 'S256' })).get('code'), codeVerifier, type);

  test.each(['application/x-www-form-urlencoded', unusualType])('a verifier is 43 to 128 letters, digits and -._~: %s', async (type) => {
    for (const right of ['a'.repeat(43), 'a'.repeat(128), 'AZaz09-._~'.repeat(5)])
      expect(await redeemed(hashOf(right), right, type)).toMatchObject({ status: 200 });
    const wrong = ['a'.repeat(42), 'a'.repeat(129), '+', '/', '=', ' ', '%', 'æ', '\n'];
    for (const end of wrong) {
      const odd = end.length > 1 ? end : `${'a'.repeat(43)}${end}`;
      const { status, json } = await redeemed(hashOf(odd), odd, type);
      expect({ odd, status, error: json.error }).toEqual({ odd, status: 400, error: expect.stringMatching(/^invalid_(request|grant)$/) });
    }
  });

  test.each(['application/x-www-form-urlencoded', unusualType])('none, another, and the challenge itself get nothing: %s', async (type) => {
    const { challenge } = createPkce();
    for (const wrong of [undefined, '', createPkce().verifier, challenge])
      expect(await redeemed(challenge, wrong, type)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });
});

describe('4.3 plain in a pushed request', () => {
  const pushed = (client: string, challenge = verifier) =>
    endpoints.par({ client_id: client, response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...plain(challenge) }, client);
  const codeOf = async (requestUri: string) =>
    responseOf(
      await alice.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'plain', request_uri: requestUri })}`),
    ).get('code');

  test('as often as it is pushed, each with its own challenge', async () => {
    for (let push = 0; push < 3; push += 1) {
      const own = createPkce().verifier;
      const { json } = await pushed('plain', own);
      expect(await redeem('plain', await codeOf(json.request_uri), own)).toMatchObject({ status: 200 });
    }
    const { json } = await pushed('plain');
    expect(await redeem('plain', await codeOf(json.request_uri), createPkce().verifier)).toMatchObject({ status: 400 });
  });

  test('by a client that may not, it is refused at once; by one that may no longer, when it is used', async () => {
    expect(await pushed('web')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    const { json } = await pushed('plain');
    await service.idp.directory.clients.update('plain', { allowPlainPkce: false });
    expect(await codeOf(json.request_uri)).toBeNull();
    await service.idp.directory.clients.update('plain', { allowPlainPkce: true });
  });
});

describe('4.2 a client that is not configured for PKCE is served with and without it', () => {
  const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', state: 's' };
  const s256 = () => ({ code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
  const wanting = { error: 'invalid_request', error_description: expect.stringContaining('PKCE') };
  const cases: [string, Record<string, string>][] = [
    ['nothing', {}],
    ['an empty nonce', { nonce: '' }],
    ['a nonce', { nonce: 'n' }],
    ['nothing, without openid', { scope: 'orders.read' }],
    ['a challenge', s256()],
    ['a challenge without openid', { ...s256(), scope: 'orders.read' }],
    ['both', { nonce: 'n', ...s256() }],
  ];
  const served = (response: URLSearchParams) => expect(Object.fromEntries(response)).toMatchObject({ code: expect.any(String) });

  test.each(cases)('by GET and by POST, with %s', async (_, parameters) => {
    const query = new URLSearchParams({ ...request, ...parameters });
    served(responseOf(await alice.get(`${service.issuer}/connect/authorize?${query}`)));
    const posted = await alice.post(`${service.issuer}/connect/authorize`, { ...request, ...parameters });
    served(responseOf(await alice.follow(posted)));
  });

  test.each(cases)('pushed, each time, with %s', async (_, parameters) => {
    // The second push and later pushes may be answered without oidc-provider.
    for (let push = 0; push < 3; push += 1) {
      const { json } = await endpoints.par({ ...request, ...parameters });
      const query = new URLSearchParams({ client_id: 'web', request_uri: json.request_uri });
      served(responseOf(await alice.get(`${service.issuer}/connect/authorize?${query}`)));
    }
  });

  test('pushed without a challenge after many that were served, it is refused as soon as the record says so', async () => {
    for (let push = 0; push < 3; push += 1) expect((await endpoints.par(request)).status).toBe(201);
    await service.idp.directory.clients.update('web', { requirePkce: true });
    expect(await endpoints.par({ ...request, nonce: 'n' })).toMatchObject({ status: 400, json: wanting });
    expect((await endpoints.par({ ...request, ...s256() })).status).toBe(201);
    await service.idp.directory.clients.update('web', { requirePkce: null });
    expect((await endpoints.par(request)).status).toBe(201);
  });

  test('the challenge of a request object counts; one beside an object that has to hold all does not', async () => {
    const get = async (members: Record<string, unknown>, beside: Record<string, string> = {}) => {
      const object = await signing.sign(service.issuer, { state: 's', ...members });
      const query = new URLSearchParams({ client_id: 'signs', scope: 'openid', response_type: 'code', ...beside, request: object });
      return responseOf(await alice.get(`${service.issuer}/connect/authorize?${query}`));
    };
    served(await get({}));
    await service.idp.directory.clients.update('signs', { requirePkce: true });
    served(await get(s256()));
    for (const response of [await get({ nonce: 'n' }), await get({}, s256())]) expect(Object.fromEntries(response)).toMatchObject(wanting);
    const object = await signing.sign(service.issuer, { state: 's' });
    expect(await endpoints.par({ request: object, ...s256() }, 'signs')).toMatchObject({ status: 400, json: wanting });
    await service.idp.directory.clients.update('signs', { requirePkce: null });
  });

  test('for a client that requires PKCE, a response without a code needs none', async () => {
    const types = ['id_token', 'code id_token', 'code token'];
    const metadata = { redirect_uris: ['https://rp.test/cb'], response_types: types, grant_types: ['authorization_code', 'implicit'] };
    await service.idp.directory.clients.create({
      id: 'hybrid',
      name: 'Hybrid',
      secret: 'x'.repeat(32),
      metadata,
      allowedScopes: ['openid'],
      requirePkce: true,
    });
    const ask = async (type: string, nonce?: string) => {
      const parameters = { client_id: 'hybrid', redirect_uri: 'https://rp.test/cb', response_type: type, nonce };
      const { location = '' } = await alice.get(authorizeUrl(service.issuer, parameters));
      return Object.fromEntries(new URLSearchParams(new URL(location).hash.slice(1)));
    };
    expect(await ask('id_token', 'n')).toHaveProperty('id_token');
    for (const type of ['code id_token', 'code token']) expect(await ask(type, 'n')).toMatchObject(wanting);
    await service.idp.directory.clients.update('hybrid', { requirePkce: null });
    expect(await ask('code id_token', 'n')).toHaveProperty('code');
    expect(await ask('code token')).toHaveProperty('code');
  });

  test.each([
    ['strict', 'requirePkce'],
    ['spa', 'token_endpoint_auth_method'],
    ['native', 'application_type'],
  ])('%s is refused without a challenge, and told the parameter and the setting: %s', async (client, setting) => {
    const redirect_uri = client === 'native' ? 'com.example:/cb' : redirectUri;
    const { location = '' } = await alice.get(authorizeUrl(service.issuer, { client_id: client, redirect_uri, nonce: 'n' }));
    const answer = Object.fromEntries(new URL(location).searchParams);
    expect(answer).toMatchObject(wanting);
    for (const word of ['code_challenge', 'code_challenge_method=S256', setting]) expect(answer.error_description).toContain(word);
  });

  test('once for each client, the log says at info what to switch on: for neither PKCE nor a nonce, while the record says nothing', async () => {
    const linesOf = (client: string) => service.lines.filter(({ fields, message }) => fields.client === client && message.includes('PKCE'));
    for (const id of ['quiet', 'bare', 'decided']) {
      const metadata = { redirect_uris: [redirectUri] };
      const decided = id === 'decided' ? { requirePkce: false } : {};
      await service.idp.directory.clients.create({ id, name: id, secret: `${id}-secret`, metadata, allowedScopes: ['openid'], ...decided });
    }
    for (let round = 0; round < 3; round += 1) {
      await authorize('quiet', s256());
      await authorize('quiet', { nonce: 'n' });
      await authorize('bare', {});
      await authorize('decided', {});
      await endpoints.par({ ...request, client_id: 'bare' }, 'bare');
    }
    expect([linesOf('quiet'), linesOf('decided')]).toEqual([[], []]);
    expect(linesOf('bare')).toEqual([{ level: 'info', fields: { client: 'bare' }, message: expect.stringContaining('requirePkce: true') }]);
  });

  test.each(['application/x-www-form-urlencoded', unusualType])(
    'a code of no challenge is redeemed without a verifier, never with one: %s',
    async (type) => {
      const code = async (parameters: Record<string, string>) => (await authorize('web', parameters)).get('code');
      expect(await redeem('web', await code({}), verifier, type)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
      expect(await redeem('web', await code({}), undefined, type)).toMatchObject({ status: 200 });
      const { verifier: right, challenge } = createPkce();
      const held = { code_challenge: challenge, code_challenge_method: 'S256' };
      expect(await redeem('web', await code(held), undefined, type)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
      expect(await redeem('web', await code(held), right, type)).toMatchObject({ status: 200 });
    },
  );

  test('a client library that takes the challenge out of its request on the way gets no tokens', async () => {
    const party = await discover(service.issuer, { client: 'web' });
    const url = openid.buildAuthorizationUrl(party, { redirect_uri: redirectUri, scope: 'openid', state: 's', ...s256() });
    for (const name of ['code_challenge', 'code_challenge_method']) url.searchParams.delete(name);
    const { location = '' } = await signIn(new Agent(), url.href);
    const checks = { pkceCodeVerifier: verifier, expectedState: 's' };
    await expect(openid.authorizationCodeGrant(party, new URL(location), checks)).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});

describe('FAPI: PKCE is required whatever the record says', () => {
  const request = { client_id: 'lax', response_type: 'code', redirect_uri: 'https://rp.test/cb', scope: 'openid', nonce: 'n', state: 's' };
  const lax = {
    id: 'lax',
    name: 'Lax',
    secret: 'lax-secret',
    metadata: { redirect_uris: ['https://rp.test/cb'] },
    allowedScopes: ['openid'],
    requirePkce: false,
  };
  const wanting = { error: 'invalid_request', error_description: expect.stringMatching(/code_challenge.*PKCE.*fapi/) };

  // Profile 2.0 refuses this client. `clients/fapi-2` covers the rules of profile 2.0.
  test.each<['1.0 Final', boolean]>([['1.0 Final', false]])('FAPI %s: pushed, and in the URL: %s', async (profile, isRequiredInUrl) => {
    const own = await startIdp({
      features: { fapi: { enabled: true, profile } },
      seed: { ...testSeed, clients: [...testSeed.clients, lax] },
    });
    try {
      const pushed = endpointsOf(own.issuer).par({ ...request, response_mode: 'jwt' }, 'lax');
      expect(await pushed).toMatchObject({ status: 400, json: wanting });
      for (const way of ['get', 'post'] as const) {
        const [agent, url] = [new Agent(), `${own.issuer}/connect/authorize`];
        const fields = { ...request, response_mode: 'jwt', prompt: 'none' };
        const answer = await (way === 'get'
          ? agent.get(`${url}?${new URLSearchParams(fields)}`)
          : agent.follow(await agent.post(url, fields)));
        const jwt = new URL(answer.location ?? '').searchParams.get('response') ?? '';
        expect(JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())).toMatchObject(
          isRequiredInUrl ? wanting : { error: 'login_required' },
        );
      }
    } finally {
      await own.close();
    }
  });
});

describe('4.2 code_challenge is required for a client configured for PKCE', () => {
  test('a confidential client may be configured to go without', async () => {
    expect(Object.fromEntries(await authorize('strict', {}))).toMatchObject(refused);
    const code = (await authorize('free', {})).get('code');
    expect(await redeem('free', code)).toMatchObject({ status: 200 });
  });

  test('a verifier where there was no challenge is refused, and a challenge that came is held to', async () => {
    const without = (await authorize('free', {})).get('code');
    expect(await redeem('free', without, verifier)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const { challenge } = createPkce();
    const withOne = (await authorize('free', { code_challenge: challenge, code_challenge_method: 'S256' })).get('code');
    expect(await redeem('free', withOne)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('a public client cannot be configured to go without', async () => {
    expect(Object.fromEntries(await authorize('spa', {}))).toMatchObject(refused);
    await expect(service.idp.directory.clients.update('spa', { requirePkce: false })).rejects.toMatchObject({
      code: 'invalid_record',
      details: { path: '/requirePkce' },
    });
    await expect(
      service.idp.directory.clients.update('free', { metadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' } }),
    ).rejects.toMatchObject({ code: 'invalid_record' });
  });
});
