/** Errors in options, claims, mapping, extensions and seed: all are reported together, before anything is opened or written. */
import { describe, expect, test } from '@jest/globals';
import { type ConfigError, createIdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { inProduction } from '../support/service/idp.js';
import { silentLogger } from '../support/service/test-directory.js';

const refusal = async (options: object): Promise<ConfigError> =>
  createIdentityProvider({ issuer: 'http://localhost:3000', ...options } as IdentityProviderOptions).then(
    () => Promise.reject(new Error('was not refused')),
    (error: unknown) => error as ConfigError,
  );
const pathsOf = ({ problems }: ConfigError) => problems.map(({ path }) => path);

const claim = { scope: 'hr', type: 'string', description: 'Desk', value: () => '1' };

describe('everything wrong at once', () => {
  test('options, claims, mapping, extensions and seed are told together, and nothing was opened', async () => {
    const opened: string[] = [];
    const directory = { ...memoryDirectory(), open: async () => void opened.push('directory') };
    const error = await refusal({
      directory,
      lifetimes: { code: 0 },
      features: { deviceFlow: { enabled: true } },
      claims: [{ name: 'hr', claims: { desk: { ...claim, descripton: 'Desk' } } }],
      claimMapping: { perms: 'org' },
      extensions: [{ name: 'mine', ruotes: () => {} }],
      seed: { tenants: [{ name: '' }] },
    });
    expect(error.code).toBe('invalid_options');
    expect(pathsOf(error)).toEqual([
      'lifetimes.code',
      'features.deviceFlow',
      'extensions[0].ruotes',
      'claims.hr.desk.descripton',
      'claimMapping.perms',
      'seed.tenants[0].name',
    ]);
    expect(opened).toEqual([]);
  });

  test('claim sets, claims and extensions refuse what they do not know, and say what was meant', async () => {
    const { problems } = await refusal({
      claims: [{ name: 'hr', onerror: 'omit', claims: { desk: { ...claim, targets: ['userinfo'] }, team: { ...claim, scop: 'hr' } } }],
      extensions: [{ name: 'mine', disovery: () => ({}), around: { tokens: () => () => {} }, close: true }],
    });
    expect(problems).toMatchObject([
      { path: 'extensions[0].disovery', didYouMean: 'discovery' },
      { path: 'extensions[0].close', expected: 'a function: (context) => …' },
      { path: 'extensions[0].around.tokens', didYouMean: 'token' },
      { path: 'claims.hr.onerror', didYouMean: 'onError' },
      { path: 'claims.hr.desk.targets' },
      { path: 'claims.hr.team.scop', didYouMean: 'scope' },
    ]);
  });

  test('claim sets of an extension are checked like others', async () => {
    const error = await refusal({ extensions: [{ name: 'mine', claims: [{ name: 'hr', claims: { desk: { ...claim, type: 'text' } } }] }] });
    expect(pathsOf(error)).toEqual(['claims.hr.desk.type']);
  });

  test('what two parts claim is a conflict, and told with all else', async () => {
    const conflicts = {
      claims: [{ name: 'hr', claims: { email: claim, sub: claim } }],
      extensions: [{ name: 'mine', pages: () => () => {} }],
    };
    expect(await refusal(conflicts)).toMatchObject({
      code: 'extension_conflict',
      problems: [{ path: 'extensions', received: 'sign-in and mine' }, { path: 'claims.hr.email' }, { path: 'claims.hr.sub' }],
    });
    expect(await refusal({ ...conflicts, oid: 'never' })).toMatchObject({ code: 'invalid_options', problems: { length: 4 } });
  });

  test('an extension of the name of one of the service’s own is refused, with both owners', async () => {
    const impersonation = () => ({ mayGoOn: () => true, ending: () => {} });
    expect(await refusal({ extensions: [{ name: 'mine' }, { name: 'impersonation', impersonation }] })).toMatchObject({
      code: 'extension_conflict',
      problems: [
        { path: 'extensions[1].name', expected: 'one owner of the name impersonation', received: 'the service and extensions[1]' },
      ],
    });
  });

  test.each(['', 'Mine', 'my extension', 'the service', 'my.extension', '1st', '-mine', 'mine:too'])(
    'an extension is not named %p',
    async (name) => {
      const error = await refusal({ extensions: [{ name }] });
      expect([error.code, pathsOf(error)]).toEqual(['invalid_options', ['extensions[0].name']]);
    },
  );

  test('a seed for an empty directory is checked for names that mean nothing, and for what its clients may not be', async () => {
    const error = await refusal({
      oid: 'never',
      seed: {
        tenants: [{ name: 'Acme', persons: [{ givenName: 'A', familyName: 'B', user: { userName: 'a', groups: ['Sales'] } }] }],
        clients: [
          {
            id: 'spa',
            name: 'Spa',
            requirePkce: false,
            metadata: { token_endpoint_auth_method: 'none', redirect_uri: 'x', redirect_uris: ['x'] },
          },
        ],
      },
    });
    expect(pathsOf(error)).toEqual([
      'oid',
      'seed.tenants[0].persons[0].user.groups[0]',
      'seed.clients[0].metadata.redirect_uri',
      'seed.clients[0].requirePkce',
      'seed.clients[0].metadata.redirect_uris[0]',
    ]);
    expect(error.message).toContain("did you mean 'redirect_uris'");
  });

  test('scopes of the clients of a seed are those of all claims and of its API resources', async () => {
    const client = { id: 'web', name: 'Web', secret: 'web-secret' };
    const hr = { name: 'hr', scopes: ['hr.more'], claims: { desk: { ...claim, type: 'string' as const } } };
    const allowedScopes = ['openid', 'offline_access', 'address', 'hr', 'hr.more', 'mapped', 'orders.read'];
    const seed = {
      clients: [{ ...client, allowedScopes }],
      apiResources: [{ id: 'orders', name: 'Orders', secret: 'orders-secret', scopes: ['orders.read'] }],
    };
    const options = { issuer: 'http://localhost:3000', logger: silentLogger, claims: [hr], claimMapping: { desk: 'mapped' } };
    const idp = await createIdentityProvider({ ...options, seed });
    expect((await idp.directory.clients.require('web')).allowedScopes).toEqual(allowedScopes);
    await idp.close();
    const wrong = { ...seed, clients: [{ ...client, allowedScopes: ['openid', 'hr.moer', 'order.read'] }] };
    const error = await refusal({ ...options, oid: 'never', seed: wrong, claims: [{ ...hr, colour: 1 }] });
    expect(pathsOf(error)).toEqual(['oid', 'claims.hr.colour', 'seed.clients[0].allowedScopes[1]', 'seed.clients[0].allowedScopes[2]']);
    expect(error.message).toContain("did you mean 'orders.read'");
  });

  test('in production what is insecure is told as well', () =>
    inProduction(async () => {
      const error = await refusal({ claimMapping: { perms: 'org' } });
      expect(error.code).toBe('invalid_options');
      expect(pathsOf(error)).toEqual(expect.arrayContaining(['claimMapping.perms', 'issuer', 'artifacts', 'cookies.keys']));
    }));
});
