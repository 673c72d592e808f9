import { describe, expect, test } from '@jest/globals';
import { findClient, isPairwise, judgeMetadata, recordOf } from '../../../lib/oidc/upstream/client.js';
import { createHookedProvider } from '../../../lib/oidc/upstream/provider.js';
import { bare, clientKeys, configuration, expectInOrder, hooked, hooks, issuer, records, type Untyped } from './pinned.js';

const implicit = { responseTypes: ['code', 'id_token token'] } as const;

const client = { client_id: 'i', grant_types: ['implicit'], token_endpoint_auth_method: 'none' };

describe('Client', () => {
  test('subjectType is assigned, so an accessor of the prototype answers instead', async () => {
    expectInOrder('models/client.js', 'constructor(metadata', 'Object.assign(this, mapKeys(schema');
    const [one, other] = [await hooked.Client.find('public'), await hooked.Client.find('sector')];
    expect([one.subjectType, other.subjectType]).toEqual(['pairwise', 'pairwise']);
    expect(Object.hasOwn(one, 'subjectType')).toBe(false);
    expect([isPairwise(one), isPairwise(other)]).toEqual([false, true]);
    expect((await bare.Client.find('public')).subjectType).toBe('public');
  });

  test('includeSid and compareClientSecret are methods of the prototype, called where a sid and a secret matter', async () => {
    for (const name of ['includeSid', 'compareClientSecret']) expect(bare.Client.prototype).toHaveProperty(name, expect.any(Function));
    expectInOrder('helpers/process_response_types.js', 'ctx.oidc.client.includeSid()');
    expectInOrder('shared/client_auth.js', 'await ctx.oidc.client.compareClientSecret(clientSecret)');
    const client = await hooked.Client.find('public');
    expect(client.includeSid()).toBe(true);
    expect([client.compareClientSecret('right'), client.compareClientSecret('s')]).toEqual([true, false]);
  });

  test('find is a static of its own that everybody calls on the class; ours builds once for each record', async () => {
    expect(Object.getOwnPropertyDescriptor(bare.Client, 'find')).toMatchObject({ writable: true, value: expect.any(Function) });
    expectInOrder('shared/client_auth.js', 'await provider.Client.find(clientId)');
    expectInOrder('actions/authorization/client.js', 'Client.find(');
    expect(await hooked.Client.find('public')).toBe(await hooked.Client.find('public'));
    expect(recordOf(await hooked.Client.find('public'))).toBe(records.get('public'));
    expect(await hooked.Client.find('nobody')).toBeUndefined();
  });

  test('a client that was built is at hand without a promise; to everybody else find is the promise that it was', async () => {
    const built = await hooked.Client.find('public');
    expect(findClient(hooked, 'public')).toBe(built);
    expect(findClient(hooked, 'nobody')).toBeUndefined();
    expect(hooked.Client.find('public')).toBeInstanceOf(Promise);
    expect(await findClient(bare, 'public')).toMatchObject({ clientId: 'public' });
  });
});

test('the end of a session is told by Client.prototype.backchannelLogout, which is ours and calls nobody', async () => {
  expectInOrder('actions/end_session.js', 'client.backchannelLogout(accountId, sid)', 'await Promise.all(back)', 'await session.destroy()');
  const client = await hooked.Client.find('public');
  client.backchannelLogoutUri = 'https://rp.example/logout';
  expect(String(client.backchannelLogout)).not.toContain('fetch');
  expect(await client.backchannelLogout('account', 'sid')).toBeUndefined();
});

test('an assertion is checked by one function, which reads these parts of the context, and records the use of the assertion last', () => {
  expectInOrder(
    'shared/client_auth.js',
    "await jwtClientAuth(ctx, ctx.oidc.client.asymmetricKeyStore, (alg) => !alg.startsWith('HS'))",
    'await next()',
  );
  expectInOrder(
    'shared/jwt_client_auth.js',
    'instance(ctx.oidc.provider).configuration',
    'ctx.oidc.clientJwtAuthExpectedAudience()',
    'JWT.decode(ctx.oidc.params.client_assertion)',
    'payload.iss !== ctx.oidc.client.clientId',
    'await JWT.verify(ctx.oidc.params.client_assertion, keystore',
    'await assertJwtClientAuthClaimsAndHeader(',
    'const unique = await ctx.oidc.provider.ReplayDetection.unique(',
    'client assertion tokens must only be used once',
  );
});

test('the key store of a client with a jwks_uri is filled by `refresh`, which is asked when it is not fresh', async () => {
  expectInOrder(
    'models/client.js',
    'class ClientKeyStore extends KeyStore',
    'get jwksUri()',
    'fresh()',
    'this.freshUntil > now',
    'add(key)',
    'async refresh()',
    'if (this.fresh()) return',
    'this.freshUntil = ',
    'this.clear()',
  );
  expectInOrder('models/id_token.js', 'await client.asymmetricKeyStore.refresh()', 'client.asymmetricKeyStore.selectForEncrypt');
  const { asymmetricKeyStore: store } = await hooked.Client.find('keys');
  clientKeys.are = [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'there' }];
  expect([store.fresh(), [...store]]).toEqual([false, []]);
  await store.refresh();
  expect([store.fresh(), [...store]]).toEqual([true, clientKeys.are]);
  clientKeys.are = [];
  await store.refresh();
  expect([...store]).toHaveLength(1);
  const { asymmetricKeyStore: without } = await hooked.Client.find('sector');
  expect(without.fresh()).toBe(true);
});

test('what a client signed is verified with its asymmetricKeyStore, which is refreshed; times are checked', () => {
  expectInOrder(
    'helpers/jwt.js',
    'export async function verify(jwt, keystore, options = {})',
    'keystore.selectForVerify(',
    'await keystore.refresh()',
    'assertPayload(payload, options)',
    'return { payload, header: protectedHeader }',
  );
  expectInOrder('helpers/jwt.js', 'ignoreIssued', '!ignoreNotBefore', '!ignoreIssued', '!ignoreExpiration');
  expectInOrder('actions/authorization/process_request_object.js', 'JWT.verify(params.request, client.asymmetricKeyStore, opts)');
});

test('a client with redirect URIs by http is refused with a code; where it may be local, only elsewhere', async () => {
  expectInOrder('helpers/client_schema.js', "'implicit-force-https'", "'implicit-forbid-localhost'");
  const settings = { ...configuration(), ...implicit };
  const build = (mayBeLocal: boolean, ...uris: string[]) => {
    const provider = createHookedProvider(issuer, settings, { ...hooks, clients: { ...hooks.clients, mayBeLocal } });
    return new (provider.Client as Untyped)({ ...client, response_types: ['token'], redirect_uris: uris });
  };
  expect(build(true, 'http://localhost:8080/', 'https://localhost/', 'http://127.0.0.1/')).toMatchObject({ clientId: 'i' });
  expect(() => build(true, 'http://localhost/', 'http://rp.example/')).toThrow('invalid_');
  for (const uri of ['http://localhost/', 'https://localhost/']) expect(() => build(false, uri)).toThrow('invalid_');
});

test('a client is built from metadata by `new`, which throws the first problem, with the one of a key as its cause', () => {
  expectInOrder(
    'models/client.js',
    "throw new InvalidClientMetadata('client JSON Web Key Set is invalid', { cause })",
    'constructor(metadata, ctx',
    'new Client.Schema(metadata, ctx',
    'validateJWKS(this.jwks)',
    '.map(checkJWK)',
  );
  expectInOrder('helpers/client_schema.js', 'invalidate(message, _code)', 'throw new InvalidClientMetadata(message)');
  const metadata = { client_id: 'c', client_secret: 's', redirect_uris: ['https://rp.example/cb'] };
  expect(judgeMetadata(bare, metadata)).toMatchObject({ known: { client_id: 'c', redirect_uris: metadata.redirect_uris } });
  expect(judgeMetadata(bare, { ...metadata, userinfo_signed_response_alg: 'RS256' })).not.toHaveProperty(
    'known.userinfo_signed_response_alg',
  );
  expect(judgeMetadata(bare, { ...metadata, default_max_age: -1 })).toEqual({ problem: 'default_max_age must be a non-negative integer' });
  expect(judgeMetadata(bare, { ...metadata, jwks: { keys: [{ kty: 'oct', k: 'k' }] } })).toEqual({
    problem: 'jwks.keys[0] must not contain symmetric keys',
  });
});
