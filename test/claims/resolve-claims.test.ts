/** `tenant-idp/testing`: a plugin by itself, on the resolver that answers tokens. */
import { describe, expect, jest, test } from '@jest/globals';
import { defineClaims } from 'tenant-idp';
import { resolveClaims } from 'tenant-idp/testing';
import { permsClaims } from '../../extensions/claims/perms.js';

const declared = { scope: 'hr', type: 'string', description: 'Of the HR system' } as const;

describe('resolveClaims', () => {
  test('gives what the service would: by scope and target, about the person', async () => {
    const plugin = defineClaims({
      name: 'hr',
      load: async ({ person }) => `of ${person.externalId}`,
      claims: {
        cost_center: { ...declared, value: ({ data }) => data },
        manager: { ...declared, in: ['userinfo'], value: ({ user }) => user.userName },
      },
    });
    const request = { person: { externalId: '4711', user: { userName: 'bob' } }, scopes: 'openid hr' };
    expect(await resolveClaims(plugin, request)).toEqual({ cost_center: 'of 4711', manager: 'bob' });
    expect(await resolveClaims(plugin, { ...request, target: 'id_token' })).toEqual({ cost_center: 'of 4711' });
    expect(await resolveClaims(plugin, { ...request, scopes: 'openid' })).toEqual({});
    expect(await resolveClaims(plugin, { ...request, claimMapping: { manager: false } })).toEqual({ cost_center: 'of 4711' });
  });

  test('finds the records that the plugin needs', async () => {
    const plugin = defineClaims({
      name: 'places',
      needs: ['groups', 'subsidiary', 'linkedAccounts'],
      claims: {
        place: {
          ...declared,
          value: ({ groups, subsidiary, linkedAccounts }) => [groups[0]?.name, subsidiary?.name, linkedAccounts.length].join(),
        },
      },
    });
    expect(await resolveClaims(plugin, { scopes: 'hr' })).toEqual({ place: ',,1' });
    const found = { groups: [{ name: 'Sales' }], subsidiary: { name: 'North' }, scopes: 'hr' };
    expect(await resolveClaims(plugin, found)).toEqual({ place: 'Sales,North,1' });
    expect(await resolveClaims(permsClaims, { groups: [{ permissionIds: ['b', 'a'] }], scopes: 'perms' })).toEqual({ perm: ['a', 'b'] });
  });

  test('gives access tokens what is for all of their API resources', async () => {
    const plugin = defineClaims({
      name: 'hr',
      claims: {
        cost_center: { ...declared, in: ['access_token'], apiResources: ['orders', 'stock'], value: () => '17' },
        manager: { ...declared, value: () => 'bob' },
      },
    });
    const of = (...apiResources: string[]) => resolveClaims(plugin, { scopes: 'hr', target: 'access_token', apiResources });
    expect(await of('orders')).toEqual({ cost_center: '17' });
    expect(await of('orders', 'stock')).toEqual({ cost_center: '17' });
    expect(await of('orders', 'invoices')).toEqual({});
    expect(await of()).toEqual({});
    expect(await resolveClaims(plugin, { scopes: 'hr' })).toEqual({ manager: 'bob' });
  });

  test('fails as the service does', async () => {
    const logger = { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() };
    const value = async (): Promise<string> => {
      throw new Error('away');
    };
    const failing = (onError: 'omit' | 'fail') => defineClaims({ name: 'hr', onError, claims: { team: { ...declared, value } } });
    expect(await resolveClaims(failing('omit'), { scopes: 'hr', logger })).toEqual({});
    expect(logger.warn).toHaveBeenCalledTimes(1);
    await expect(resolveClaims(failing('fail'), { scopes: 'hr', logger })).rejects.toMatchObject({ code: 'claims_unavailable' });
    const wrong = { name: 'hr', claims: { sub: { ...declared, value: () => 'me' } } };
    await expect(resolveClaims(wrong, { scopes: 'hr' })).rejects.toMatchObject({ code: 'extension_conflict' });
  });
});
