import { describe, expect, test } from '@jest/globals';
import { codeOf, testDirectory } from '../support/test-directory.js';

const web = { id: 'web', name: 'Web', metadata: { redirect_uris: ['https://app.example.com/cb'] } };

describe('clients (design §3)', () => {
  test('a client needs an id and a name; the rest has safe defaults', async () => {
    await using t = await testDirectory();
    const { client } = await t.directory.clients.create({ id: 'web', name: 'Web' });
    expect(client).toMatchObject({
      allowPlainPkce: false, requireConsent: false, accessTokenType: 'reference', idTokenClaims: 'minimal',
      email: 'all', adminTenants: [], trustedLoginHint: false, status: 'active',
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
    const { secret: third, client } = await clients.rotateSecret('web');
    expect([await live(first), await live(second), await live(third)]).toEqual([false, true, true]);
    expect((await clients.rotateSecret('web', third)).client.version).toBe(client.version);
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

  test.each([
    [{ ...web, secrets: [] }, '/secrets'],
    [{ ...web, id: 'a b' }, '/id'],
    [{ ...web, lifetimes: { accessToken: 0 } }, '/lifetimes/accessToken'],
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
