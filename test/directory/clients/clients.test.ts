import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { findClientProblems, ownMetadataNames } from '../../../lib/directory/clients/client-metadata.js';
import type { ApiResource, Client } from '../../../lib/store/records/records.js';
import { codeOf, testDirectory } from '../../support/service/test-directory.js';

const web = { id: 'web', name: 'Web', metadata: { redirect_uris: ['https://app.example.com/cb'] } };

describe('clients (design §3)', () => {
  test('a client needs an id and a name; the rest has safe defaults', async () => {
    await using t = await testDirectory();
    const { client } = await t.directory.clients.create({ id: 'web', name: 'Web' });
    expect(client).toMatchObject({
      allowPlainPkce: false, requireConsent: false, accessTokenType: 'reference', idTokenClaims: 'minimal',
      adminTenants: [], trustedLoginHint: false, status: 'active',
    }); // biome-ignore format: a list
    expect(client).not.toHaveProperty('requirePkce');
  });

  test('J5 its secret is shown once, kept hashed, and right or wrong', async () => {
    await using t = await testDirectory();
    const { clients } = t.directory;
    const { secret = '' } = await clients.create(web);
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(JSON.stringify(await t.store.collection('clients').find({}))).not.toContain(secret);
    expect((await clients.checkSecret('web', secret))?.id).toBe('web');
    for (const wrong of ['', secret.slice(1), `${secret}x`]) expect(await clients.checkSecret('web', wrong)).toBeUndefined();
    expect(await clients.checkSecret('none', secret)).toBeUndefined();
  });

  test('security §3 two secrets live at once, the third ends the first', async () => {
    await using t = await testDirectory();
    const { clients } = t.directory;
    const first = (await clients.create(web)).secret!;
    const { secret: second } = await clients.rotateSecret('web');
    const live = async (secret: string) => (await clients.checkSecret('web', secret)) !== undefined;
    expect([await live(first), await live(second)]).toEqual([true, true]);
    const { secret: third } = await clients.rotateSecret('web');
    expect([await live(first), await live(second), await live(third)]).toEqual([false, true, true]);
    await t.dispatched();
    const version = (await t.store.collection('clients').get('web'))?.version;
    expect((await clients.rotateSecret('web', third)).client.version).toBe(version);
    expect(await codeOf(clients.rotateSecret('none'))).toBe('not_found');
  });

  test('one that needs no secret gets none', async () => {
    await using t = await testDirectory();
    for (const method of ['none', 'private_key_jwt']) {
      const metadata = { token_endpoint_auth_method: method };
      const { client, secret } = await t.directory.clients.create({ id: method, name: 'x', metadata });
      expect([client.secrets, secret]).toEqual([[], undefined]);
    }
  });

  test('RFC 9700 §2.1.1, RFC 8252 §6 a public or native client cannot turn PKCE off, now or later', async () => {
    await using t = await testDirectory();
    const { clients } = t.directory;
    const metadata = { token_endpoint_auth_method: 'none' };
    const refused = { code: 'invalid_record', details: { path: '/requirePkce' } };
    await expect(clients.create({ id: 'spa', name: 'SPA', metadata, requirePkce: false })).rejects.toMatchObject(refused);
    await clients.create({ ...web, requirePkce: false });
    await expect(clients.update('web', { metadata })).rejects.toMatchObject(refused);
    expect((await clients.require('web')).metadata).toEqual(web.metadata);
    const native = { ...web.metadata, application_type: 'native' };
    await expect(clients.update('web', { metadata: native })).rejects.toMatchObject(refused);
    await clients.update('web', { metadata: native, requirePkce: null });
    expect(await clients.require('web')).not.toHaveProperty('requirePkce');
  });

  test.each<[string, Record<string, unknown>, object]>([
    ['redirectUris', { redirectUris: [] }, { didYouMean: 'redirect_uris' }],
    ['clientSecret', { clientSecret: 'hunter2' }, { expected: expect.stringMatching(/the field secret is hashed/) }],
    ['TokenEndpointAuthMethod', { TokenEndpointAuthMethod: 'none' }, { didYouMean: 'token_endpoint_auth_method' }],
    ['scope', { scope: ['openid', 'email'] }, { expected: 'one string, with a space between scopes' }],
    ['redirect_uris', { redirect_uris: 'https://a.test/' }, { expected: 'a list' }],
    ['redirect_uri', { redirect_uri: 'https://a.test/' }, { didYouMean: 'redirect_uris' }],
    ['grant_type', { grant_type: 'refresh_token' }, { didYouMean: 'grant_types' }],
    ['something', { something: 1 }, { expected: 'the name of client metadata' }],
    ['constructor', { constructor: 1 }, { expected: 'the name of client metadata' }],
    ['client_secret', { client_secret: 'hunter2' }, { expected: expect.stringContaining('hashed') }],
    ['client_id', { client_id: 'other' }, {}],
    ['redirect_uris/1', { redirect_uris: ['https://a.test/', 'https://a.test/#x'] }, { expected: 'a URI without fragment' }],
    ['redirect_uris/0', { redirect_uris: ['javascript:alert(1)'] }, {}],
    ['redirect_uris/0', { redirect_uris: ['com.example:/cb'] }, { expected: expect.stringContaining('native') }],
    ['redirect_uris/0', { redirect_uris: ['data:text/html,x'], application_type: 'native' }, {}],
    ['redirect_uris/0', { redirect_uris: ['http://a.test/'], application_type: 'native' }, {}],
    ['redirect_uris/0', { redirect_uris: ['https://localhost/'], application_type: 'native' }, {}],
    [
      'redirect_uris/0',
      { redirect_uris: ['http://a.test/'], response_types: ['id_token'] },
      { expected: expect.stringContaining('https') },
    ],
    ['post_logout_redirect_uris/0', { post_logout_redirect_uris: ['https://a.test/#'] }, {}],
    ['redirect_uris', { response_types: ['code'] }, { expected: 'at least one URI, because response_types requires one' }],
  ])('RFC 7591 §2 metadata is checked when it is written: %s', async (path, metadata, details) => {
    await using t = await testDirectory();
    const { clients } = t.directory;
    const refused = { code: 'invalid_record', details: { path: `/metadata/${path}`, ...details } };
    await expect(clients.create({ id: 'new', name: 'New', metadata })).rejects.toMatchObject(refused);
    await clients.create(web);
    await expect(clients.update('web', { metadata })).rejects.toMatchObject(refused);
    expect(await clients.get('new')).toBeUndefined();
    expect((await clients.require('web')).metadata).toEqual(web.metadata);
  });

  test.each([
    { redirect_uris: ['http://a.test/cb', 'https://a.test/cb?x=1'] },
    { redirect_uris: ['com.example:/cb', 'http://127.0.0.1/cb', 'https://a.test/cb'], application_type: 'native' },
    { redirect_uris: ['http://localhost:3001/cb'], response_types: ['id_token'] },
    { redirect_uris: ['https://a.test/'], token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=a' },
  ])('RFC 7591 §2 metadata that is right is taken: %j', async (metadata) => {
    await using t = await testDirectory();
    expect((await t.directory.clients.create({ ...web, metadata })).client.metadata).toEqual(metadata);
  });

  test.each([true, false])(
    'each registered name in another spelling is refused with the name that is expected: names of the host %s',
    (ownMetadata) => {
      const spellings = [
        (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        (name: string) => name.replaceAll('_', '-'),
        (name: string) => name.toUpperCase(),
      ];
      const added = 'backchannel_token_delivery_mode';
      const rules = { ownMetadata, addedMetadata: new Map([[added, () => undefined]]) };
      for (const name of [...ownMetadataNames, added])
        for (const spelled of spellings.map((spell) => spell(name)).filter((each) => each !== name)) {
          const path = `/metadata/${spelled}`;
          const found = findClientProblems({ metadata: { [spelled]: 'x' } }, rules).find((problem) => problem.path === path);
          const plain = findClientProblems({ metadata: { [name]: 'x' } }, rules).find(({ path: at }) => at === `/metadata/${name}`);
          const isRefused = plain?.expected.startsWith('nothing, because') === true;
          expect([spelled, isRefused ? found?.expected : found?.didYouMean]).toEqual([spelled, isRefused ? plain?.expected : name]);
        }
    },
  );

  test('RFC 7591 §2 all that is wrong is told at once, and an older record can be changed otherwise', async () => {
    await using t = await testDirectory();
    const metadata = { redirectUris: [], client_secret: 'x', redirect_uris: ['a', 'b'] };
    const refused = await t.directory.clients.create({ ...web, metadata }).catch((error) => error.details.problems);
    const pointers = refused.map(({ path }: { path: string }) => path);
    expect(pointers).toEqual(['redirectUris', 'client_secret', 'redirect_uris/0', 'redirect_uris/1'].map((name) => `/metadata/${name}`));
    await t.directory.clients.create(web);
    await t.store.collection<Client>('clients').update('web', (row) => ({ ...row, metadata: { ...row.metadata, from_before: 1 } }));
    expect((await t.directory.clients.update('web', { name: 'Renamed' })).name).toBe('Renamed');
  });

  test('RFC 7591 §2 scopes are those that exist: others are refused with the one that was meant, and with all else that is wrong', async () => {
    await using t = await testDirectory();
    const { clients, apiResources } = t.directory;
    await apiResources.create({ id: 'orders', name: 'Orders', scopes: ['orders.read'] });
    await apiResources.create({ id: 'bills', name: 'Bills', scopes: ['bills.read'], status: 'disabled' });
    const all = ['openid', 'offline_access', 'email', 'orders.read', 'bills.read'];
    const allowedScopes = ['openid', 'orders.raed', 'something.else', 'offline_acces'];
    const problems = [
      { path: '/allowedScopes/1', didYouMean: 'orders.read' },
      { path: '/allowedScopes/2', expected: 'a scope of a claim set or of an API resource' },
      { path: '/allowedScopes/3', didYouMean: 'offline_access' },
    ];
    const ofMetadata = { path: '/metadata/redirectUris' };
    await expect(clients.create({ id: 'new', name: 'New', metadata: { redirectUris: [] }, allowedScopes })).rejects.toMatchObject({
      code: 'invalid_record',
      details: { ...ofMetadata, problems: [ofMetadata, ...problems] },
    });
    expect(await clients.get('new')).toBeUndefined();
    await clients.create({ ...web, allowedScopes: all });
    await expect(clients.update('web', { allowedScopes })).rejects.toMatchObject({ details: { ...problems[0], problems } });
    expect((await clients.require('web')).allowedScopes).toEqual(all);
  });

  test('a scope that has gone since may stay with a client, and none gets it anew', async () => {
    await using t = await testDirectory();
    const { clients, apiResources } = t.directory;
    await apiResources.create({ id: 'orders', name: 'Orders', scopes: ['orders.read'] });
    await clients.create({ ...web, allowedScopes: ['openid', 'orders.read'] });
    await apiResources.remove('orders');
    expect((await clients.update('web', { name: 'Renamed' })).name).toBe('Renamed');
    expect((await clients.update('web', { allowedScopes: ['orders.read', 'email'] })).allowedScopes).toEqual(['orders.read', 'email']);
    await clients.update('web', { allowedScopes: ['email'] });
    for (const write of [
      clients.update('web', { allowedScopes: ['orders.read'] }),
      clients.create({ ...web, id: 'b', allowedScopes: ['orders.read'] }),
    ])
      await expect(write).rejects.toMatchObject({ details: { path: '/allowedScopes/0' } });
  });

  test('a scope that another node has made just now exists, and an unreadable API resource stops nothing', async () => {
    const store = memoryDirectory();
    await using one = await testDirectory({ store });
    await using other = await testDirectory({ store });
    await one.directory.apiScopes();
    await other.directory.apiResources.create({ id: 'orders', name: 'Orders', scopes: ['orders.read'] });
    await store.collection<ApiResource>('apiResources').insert({ id: 'bad', name: 'Bad', scopes: null } as never);
    const { client } = await one.directory.clients.create({ ...web, allowedScopes: ['orders.read'] });
    expect(client.allowedScopes).toEqual(['orders.read']);
    await expect(one.directory.clients.update('web', { allowedScopes: ['order.read'] })).rejects.toMatchObject({
      details: { didYouMean: 'orders.read' },
    });
  });

  test('RFC 7591 §2 pages that people are led to are http(s), and an accent reads', async () => {
    await using t = await testDirectory();
    const { clients } = t.directory;
    const names = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'];
    for (const name of names) {
      for (const wrong of ['javascript:alert(1)', 'data:text/html,x', '/terms', 'https://u:p@app.test/', 7])
        await expect(clients.create({ ...web, metadata: { ...web.metadata, [name]: wrong } })).rejects.toMatchObject({
          code: 'invalid_record',
          details: { path: `/metadata/${name}` },
        });
    }
    const metadata = { ...web.metadata, ...Object.fromEntries(names.map((name) => [name, 'https://app.test/x'])) };
    await clients.create({ ...web, metadata });
    await expect(clients.update('web', { styles: { accentColor: '#ffd400' } })).rejects.toMatchObject({
      code: 'invalid_record',
      details: { path: '/styles/accentColor', expected: expect.stringMatching(/1\.43:1, and the nearest that fits is #[0-9a-f]{6}$/) },
    });
  });

  test('with metadata of the host, its names are taken, and slips told', async () => {
    await using t = await testDirectory({ clientRules: { ownMetadata: true } });
    const { clients } = t.directory;
    expect((await clients.create({ ...web, metadata: { 'urn:host:colour': 'red' } })).client.metadata).toEqual({
      'urn:host:colour': 'red',
    });
    await expect(clients.update('web', { metadata: { redirectUris: [] } })).rejects.toMatchObject({
      details: { didYouMean: 'redirect_uris' },
    });
  });

  test.each([
    [{ ...web, secrets: [] }, '/secrets'],
    [{ ...web, id: 'a b' }, '/id'],
    [{ ...web, lifetimes: { accessToken: 0 } }, '/lifetimes/accessToken'],
    [{ ...web, lifetimes: { accessToken: 86_401 } }, '/lifetimes/accessToken'],
    [{ ...web, lifetimes: { idToken: 86_401 } }, '/lifetimes/idToken'],
    [{ ...web, lifetimes: { refreshTokenIdle: 365 * 86_400 + 1 } }, '/lifetimes/refreshTokenIdle'],
    [{ ...web, lifetimes: { refreshTokenAbsolute: 365 * 86_400 + 1 } }, '/lifetimes/refreshTokenAbsolute'],
    [{ ...web, accessTokenType: 'opaque' }, '/accessTokenType'],
    [{ ...web, metadata: { redirect_uris: 'https://rp.example/callback' } }, '/metadata/redirect_uris'],
    [{ ...web, metadata: { redirect_uris: ['https://rp.example/callback', 'callback'] } }, '/metadata/redirect_uris/1'],
    [{ ...web, metadata: { post_logout_redirect_uris: [7] } }, '/metadata/post_logout_redirect_uris/0'],
    [{ ...web, metadata: { grant_types: 'authorization_code' } }, '/metadata/grant_types'],
    [{ ...web, metadata: { response_types: [['code']] } }, '/metadata/response_types/0'],
    [{ ...web, metadata: { ...web.metadata, client_secret_expires_at: 1_900_000_000 } }, '/metadata/client_secret_expires_at'],
  ])('%j is refused at %s', async (input, path) => {
    await using t = await testDirectory();
    const refused = { code: 'invalid_record', details: { path } };
    await expect(t.directory.clients.create(input as typeof web)).rejects.toMatchObject(refused);
  });

  test('changed and removed, its consents with it', async () => {
    await using t = await testDirectory();
    const { clients, consents } = t.directory;
    await clients.create(web);
    expect(await clients.update('web', { allowedScopes: ['openid'], styles: { radius: 4 } })).toMatchObject({ allowedScopes: ['openid'] });
    expect(await clients.update('web', { styles: null })).not.toHaveProperty('styles');
    await consents.allow('alice', 'web', ['openid']);
    await clients.remove('web');
    expect([await clients.get('web'), await consents.find('alice')]).toEqual([undefined, []]);
    expect(await codeOf(clients.require('web'))).toBe('not_found');
  });
});

describe('M9: a secret that a host brings for a client', () => {
  const long = 's'.repeat(32);
  const create = async (production: boolean, secret: string) => {
    const t = await testDirectory(production ? { ownSecretLength: 32 } : {});
    return { t, created: codeOf(t.directory.clients.create({ ...web, secret })) };
  };

  test.each([
    [true, 's'.repeat(31), 'invalid_record'],
    [true, long, undefined],
    [false, 's', undefined],
    [false, '', 'invalid_record'],
    [true, `${long}\u00e6`, 'invalid_record'],
  ])('in production: %s, %j when created comes to %s, and so when rotated', async (production, secret, code) => {
    const { t, created } = await create(production, secret);
    expect(await created).toBe(code);
    if (code) await t.directory.clients.create({ ...web, secret: long });
    expect(await codeOf(t.directory.clients.rotateSecret('web', secret))).toBe(code);
    expect(await codeOf(t.directory.clients.rotateSecret('web'))).toBeUndefined();
    await t[Symbol.asyncDispose]();
  });
});
