/**
 * T3-CLIENT-TRUSTED: a client with `trustedLoginHint` signs in every user. Only callers that hold the privileges of all users in the admin
 * API may create or change this client.
 */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { recordForms } from 'tenant-idp/extension';
import { withCollections } from '../../store/with-collections.js';
import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken } from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';

const VAULT = 'idp.vault:read';
const own = ['idp.clients:read', 'idp.clients:write'];
/** Runs once before the next write to a client, after the caller's privileges were compared with the former client. */
let beforeWrite: (() => Promise<unknown>) | undefined;
const directory = withCollections(memoryDirectory(), ({ update }, name) =>
  name === 'clients'
    ? {
        async update(id, change) {
          const write = beforeWrite;
          beforeWrite = undefined;
          await write?.();
          return update(id, change);
        },
      }
    : {},
);
const service = useIdp({
  directory,
  seed: {
    ...adminSeed,
    permissions: [...adminSeed.permissions, { id: VAULT, name: 'Vault' }],
    clients: [
      ...adminSeed.clients,
      adminClient('clerk', ['*'], own),
      { id: 'seeded', name: 'Seeded', secret: 'seeded-secret', trustedLoginHint: true },
    ],
  } as never,
  limits: { adminRequestsPerMinute: 100_000 },
});
/** Client that administers all tenants, with only the scopes of clients. */
let clerk: AdminClient;
/** Client that holds every scope that a group of the seed gives. */
let root: AdminClient;
beforeAll(async () => {
  clerk = administer(service.issuer, await adminToken(service.issuer, 'clerk', own.join(' ')));
  root = administer(service.issuer, await adminToken(service.issuer, 'root', adminScopes.join(' ')));
});
const clients = () => service.idp.directory.clients;
let count = 0;
let id = '';
/** Creates a client with `trustedLoginHint`, by host code. */
beforeEach(async () => {
  count += 1;
  id = `hinting-${count}`;
  await clients().create({ id, name: 'Hints', trustedLoginHint: true });
});
const refusal = { status: 403, json: { code: 'grant_exceeds_own' } };

describe('a caller of all tenants that lacks a scope which a group gives', () => {
  test('makes no such client, and makes none of another', async () => {
    expect(await clerk.post('/clients', { id: `new-${count}`, name: 'New', trustedLoginHint: true })).toMatchObject(refusal);
    expect(await clients().get(`new-${count}`)).toBeUndefined();
    expect((await clerk.post('/clients', { id: `plain-${count}`, name: 'Plain' })).status).toBe(201);
    expect(await clerk.patch(`/clients/plain-${count}`, { trustedLoginHint: true })).toMatchObject(refusal);
    expect((await clerk.patch(`/clients/plain-${count}`, { name: 'Plainer', trustedLoginHint: false })).status).toBe(200);
  });

  const changes: Readonly<Record<string, unknown>> = {
    name: 'Other',
    metadata: { redirect_uris: ['https://evil.test/callback'] },
    trustedLoginHint: false,
    status: 'disabled',
    adminTenants: ['*'],
    allowedScopes: ['openid'],
    corsOrigins: ['https://evil.test'],
    lifetimes: { accessToken: 60 },
    email: 'first',
    introspects: 'all',
    idTokenClaims: 'scopes',
    accessTokenType: 'jwt',
    requirePkce: false,
    allowPlainPkce: true,
    requireConsent: true,
    allowedTenants: [],
    impersonation: 'allow',
    postRegistrationUri: 'https://evil.test/',
    styles: { accentColor: '#123456' },
    fapi: '2.0',
  };
  test('changes no member of such a client', async () => {
    expect(Object.keys(changes).toSorted()).toEqual(
      Object.keys(recordForms.client.properties)
        .filter((name) => !['id', 'secret'].includes(name))
        .toSorted(),
    );
    const before = await clients().get(id);
    for (const [name, value] of Object.entries(changes))
      expect({ name, answer: await clerk.patch(`/clients/${id}`, { [name]: value }) }).toMatchObject({ name, answer: refusal });
    expect(await clients().get(id)).toEqual(before);
  });

  test('gets no secret of such a client, also where it became one a moment ago', async () => {
    expect(await clerk.post(`/clients/${id}/secrets`)).toMatchObject(refusal);
    const plain = `plain-secret-${count}`;
    await clients().create({ id: plain, name: 'Plain' });
    const { privileges } = service.idp.directory;
    beforeWrite = () => clients().update(plain, { trustedLoginHint: true });
    expect(await clerk.post(`/clients/${plain}/secrets`)).toMatchObject(refusal);
    expect(beforeWrite).toBeUndefined();
    expect((await clients().get(plain))?.secrets).toHaveLength(1);
    expect(
      await privileges.mayTrustHints({
        ofAllTenants: true,
        administers: () => true,
        holds: (scope) => own.includes(scope),
        permissionIds: own,
      }),
    ).toBe(false);
  });

  test('may remove such a client, because that takes access away', async () => {
    expect((await clerk.remove(`/clients/${id}`)).status).toBe(204);
  });
});

describe('a caller of all tenants that holds each scope which a group gives', () => {
  test('makes and changes such clients', async () => {
    expect((await root.post('/clients', { id: `root-${count}`, name: 'New', trustedLoginHint: true })).status).toBe(201);
    expect((await root.patch(`/clients/${id}`, { name: 'Other' })).status).toBe(200);
    expect((await root.post(`/clients/${id}/secrets`)).status).toBe(200);
    expect((await root.patch('/clients/seeded', { name: 'Other' })).status).toBe(200);
  });

  test('does not, once a group of any tenant gives a scope that it lacks; a permission that is no scope of the admin API does not count', async () => {
    const [tenant] = await service.idp.directory.tenants.find();
    const { groups } = service.idp.tenant(tenant?.id ?? '');
    const vault = await groups.create({ name: `Vault ${count}`, permissionIds: [VAULT] });
    expect(await root.patch(`/clients/${id}`, { name: 'Once more' })).toMatchObject(refusal);
    await groups.update(vault.id, { permissionIds: ['orders.view'] });
    expect((await root.patch(`/clients/${id}`, { name: 'Once more' })).status).toBe(200);
  });
});

test('a caller of one tenant never makes such a client, whatever it holds', async () => {
  const { privileges } = service.idp.directory;
  expect(
    await privileges.mayTrustHints({ ofAllTenants: false, administers: () => true, holds: () => true, permissionIds: adminScopes }),
  ).toBe(false);
});
