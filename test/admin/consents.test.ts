/** Consents of a user in the admin API: the list, and the withdrawal. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, adminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { recordedEvents } from '../support/administration/recorded-events.js';
import { isActive } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { allowedTokens, silentError } from '../support/sign-in/consents.js';

const store = memoryDirectory();
const scopes = ['idp.consents:read', 'idp.consents:write'];
const service = useIdp({
  directory: store,
  seed: {
    ...adminSeed,
    clients: [
      ...adminSeed.clients,
      adminClient('desk', ['Acme'], scopes),
      adminClient('reader', ['Acme'], ['idp.consents:read']),
      adminClient('abroad', ['Globex'], scopes),
    ],
  },
});
let path: string;
let oid: string;
let desk: AdminClient;
const as = async (client: string, scope = scopes.join(' ')) => administer(service.issuer, await adminToken(service.issuer, client, scope));
beforeAll(async () => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  oid = account?.person.user.id ?? '';
  path = `/tenants/${account?.tenant.id}/users/${oid}/consents`;
  desk = await as('desk');
});

describe('service specification 4.12: consents', () => {
  test('are listed with their scopes, claims and times', async () => {
    await service.idp.directory.consents.allow(oid, 'third-party', ['openid', 'email'], ['phone_number']);
    const { status, json } = await desk(path);
    expect(status).toBe(200);
    expect(json).toEqual({
      items: [
        {
          clientId: 'third-party',
          scopes: ['openid', 'email'],
          claims: ['phone_number'],
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      ],
    });
  });

  test('a withdrawal ends the tokens of the client, and is 404 afterwards', async () => {
    const { agent, tokens } = await allowedTokens(service.issuer);
    expect(await isActive(service.issuer, tokens.refresh_token, 'third-party')).toBe(true);
    expect((await desk.remove(`${path}/third-party`)).status).toBe(204);
    expect(await isActive(service.issuer, tokens.refresh_token, 'third-party')).toBe(false);
    expect(await isActive(service.issuer, tokens.access_token, 'third-party')).toBe(false);
    expect(await silentError(service.issuer, agent, 'web')).toBeUndefined();
    expect((await desk(path)).json).toEqual({ items: [] });
    expect((await desk.remove(`${path}/third-party`)).json.code).toBe('not_found');
    expect(await recordedEvents(store, 'ConsentWithdrawn')).toEqual([
      expect.objectContaining({ actor: 'client:desk', requestId: expect.any(String), data: { AggregateId: oid, ClientId: 'third-party' } }),
    ]);
  });

  test('a client without a consent, and an unknown client, are 404', async () => {
    const { tokens } = await allowedTokens(service.issuer, { client: 'web', scope: 'openid offline_access' });
    for (const client of ['web', 'nowhere', 'a%2Fb', '%00', '__proto__'])
      expect([client, (await desk.remove(`${path}/${client}`)).status]).toEqual([client, 404]);
    expect(await isActive(service.issuer, tokens.refresh_token)).toBe(true);
  });

  test('take their scopes, and the tenant of the caller', async () => {
    await service.idp.directory.consents.allow(oid, 'third-party', ['openid']);
    const reader = await as('reader', 'idp.consents:read');
    expect((await reader(path)).status).toBe(200);
    expect((await reader.remove(`${path}/third-party`)).json.code).toBe('insufficient_scope');
    const abroad = await as('abroad');
    const { Globex } = await tenantIds(await as('root', 'idp.tenants:read'));
    for (const of of [path, path.replace(/\/tenants\/[^/]+/, `/tenants/${Globex}`)]) {
      expect((await abroad(of)).json.code).toBe('not_found');
      expect((await abroad.remove(`${of}/third-party`)).json.code).toBe('not_found');
    }
    expect(await service.idp.directory.consents.find(oid)).toHaveLength(1);
  });

  test('a damaged one is named, and can be withdrawn', async () => {
    const [consent] = await store.collection('consents').find({ byUser: [oid] });
    await store.collection('consents').put({ ...consent, scopes: 'openid' } as never);
    expect((await desk(path)).json).toEqual({ items: [], unreadable: [{ id: consent?.id, path: '/scopes' }] });
    expect((await desk.remove(`${path}/third-party`)).status).toBe(204);
    expect((await desk(path)).json).toEqual({ items: [] });
  });
});
