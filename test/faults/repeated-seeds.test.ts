/** Threat M10: a service that restarts over live data restores nothing that was removed or revoked. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { basic, postForm } from '../support/client/agent.js';
import { testKeys } from '../support/service/keys.js';
import { testSeed } from '../support/service/seed.js';
import { silentLogger } from '../support/service/test-directory.js';

const service = { id: 'nightly', name: 'Nightly', secret: 'nightly-secret', allowedScopes: ['orders.read', 'orders.write'] };
/** Seed without passwords: nobody signs in here, and hashes take time. */
const withoutPasswords = JSON.parse(JSON.stringify(testSeed).replaceAll(/"devPassword":"\w+"/g, '"status":"active"')) as typeof testSeed;
const seed = {
  ...withoutPasswords,
  clients: [
    ...testSeed.clients,
    { ...service, metadata: { grant_types: ['client_credentials'] } },
    { id: 'retired', name: 'Retired', secret: 'retired-secret', metadata: { redirect_uris: ['http://127.0.0.1:9/retired'] } },
  ],
  apiResources: [...testSeed.apiResources, { id: 'writing', name: 'Writing', secret: 'writing-secret', scopes: ['orders.write'] }],
};

describe('M10: the seed against live data', () => {
  let directory: DirectoryStore;
  let idp: IdentityProvider;
  let listener: RequestListener;
  let server: Server;
  let issuer: string;
  const artifacts = memoryArtifacts();
  /** Creates a service. The ids of a seed follow from the issuer, so every start has the same ids. */
  const create = (more: object = {}) =>
    createIdentityProvider({
      ...{ issuer, artifacts, directory, keys: { signing: testKeys }, logger: silentLogger },
      subjectSalt: 'salt of the test tenant identities',
      seed: { ...seed, ...more },
    });
  const start = async (more: object = {}) => {
    idp = await create(more);
    listener = idp.callback();
  };
  beforeEach(async () => {
    directory = memoryDirectory();
    server = createServer((req, res) => listener(req, res)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await start();
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await idp.close();
  });

  const accountOf = async (userName: string) => (await idp.directory.accounts.candidates(userName))[0]!;
  const authenticates = async (secret: string, id = 'nightly') => {
    const { status } = await postForm(
      `${issuer}/connect/token`,
      { grant_type: 'client_credentials' },
      { authorization: basic(id, secret) },
    );
    return status === 200;
  };

  /** Removes and revokes as an administrator does. The result returns which of it is restored. */
  async function takeAway(): Promise<() => Promise<Record<string, unknown>>> {
    const { clients, apiResources, permissions, forTenant } = idp.directory;
    const alice = await accountOf('alice@acme.test');
    const child = await accountOf('alice@globex.test');
    const carol = await accountOf('carol@acme.test');
    const acme = alice.tenant.id;

    const { secret } = await clients.rotateSecret('nightly');
    await clients.rotateSecret('nightly', secret);
    await clients.rotateSecret('nightly');
    await clients.update('nightly', { allowedScopes: ['orders.read'] });
    await clients.remove('retired');
    const [resource] = await apiResources.find();
    await apiResources.update(resource!.id, { scopes: resource!.scopes.slice(1) });
    await forTenant(child.tenant.id).linking.unlink(child.person.user.id, alice.person.user.id);
    await forTenant(acme).users.setGroups(alice.person.user.id, { ids: [] });
    await forTenant(acme).persons.remove(carol.person.id);
    await permissions.remove('orders.approve');

    return async () => ({
      'rotated secret': await authenticates('nightly-secret'),
      scope: (await idp.directory.clients.require('nightly')).allowedScopes.includes('orders.write'),
      client: (await idp.directory.clients.get('retired')) !== undefined,
      'API scope': (await idp.directory.apiResources.require(resource!.id)).scopes.includes(resource!.scopes[0]!),
      link: (await accountOf('alice@globex.test')).person.user.parentUserId !== undefined,
      membership: (await accountOf('alice@acme.test')).person.user.groupIds.length > 0,
      'erased person': (await idp.directory.accounts.candidates('carol@acme.test')).length > 0,
      permission: (await idp.directory.permissions.get('orders.approve')) !== undefined,
      'permission of a group': (await idp.directory.forTenant(acme).groups.find()).some(({ permissionIds }) =>
        permissionIds.includes('orders.approve'),
      ),
    });
  }

  const nothing = {
    'rotated secret': false,
    scope: false,
    client: false,
    'API scope': false,
    link: false,
    membership: false,
    'erased person': false,
    permission: false,
    'permission of a group': false,
  };

  test('M10: nothing that was taken away is back after a restart, in either mode', async () => {
    expect(await authenticates('nightly-secret')).toBe(true);
    const isBack = await takeAway();
    expect(await isBack()).toEqual(nothing);
    for (const mode of ['update', 'create', 'update']) {
      await idp.close();
      await start({ mode });
      expect(await isBack()).toEqual(nothing);
    }
  });

  test('M10: nor when the seed has changed meanwhile, and several nodes start at once', async () => {
    const isBack = await takeAway();
    await idp.close();
    const tenants = seed.tenants.map((tenant) => ({ ...tenant, organisationNumber: '910000009' }));
    const clients = seed.clients.map((client) => ({ ...client, name: `${client.name} 2` }));
    const others = await Promise.all([create({ tenants, clients }), create({ tenants, clients }), start({ tenants, clients })]);
    expect(await isBack()).toEqual(nothing);
    expect(await idp.directory.clients.require('nightly')).toMatchObject({ name: 'Nightly 2' });
    for (const other of others) await other?.close();
  });

  test('M10: nor in a database of a release that kept no account of seeds', async () => {
    const isBack = await takeAway();
    await idp.close();
    for (const { id } of await directory.collection('seeds').find({})) await directory.collection('seeds').remove(id);
    for (let restart = 0; restart < 2; restart += 1) {
      await start();
      expect(await isBack()).toEqual(nothing);
      await idp.close();
    }
    // New entries of the seed are created afterwards.
    await start({ permissions: [...seed.permissions, { id: 'orders.archive', name: 'Archive orders' }] });
    expect(await isBack()).toEqual(nothing);
    expect(await idp.directory.permissions.get('orders.archive')).toBeDefined();
  });

  test('M10: a release that is rolled back, or a node of it that starts late, undoes no rotation', async () => {
    const newer = seed.clients.map((client) => (client.id === 'nightly' ? { ...client, secret: 'nightly-secret-2' } : client));
    await idp.close();
    await start({ clients: newer });
    expect(await authenticates('nightly-secret-2')).toBe(true);
    await idp.directory.clients.rotateSecret('nightly', 'nightly-secret-3');
    for (const clients of [seed.clients, newer, seed.clients]) {
      await idp.close();
      await start({ clients });
    }
    expect(await authenticates('nightly-secret')).toBe(false);
    expect((await idp.directory.clients.require('nightly')).secrets).toHaveLength(2);
    expect(await authenticates('nightly-secret-3')).toBe(true);
  });

  test('M10: nothing of an erased person is left in the account of seeds', async () => {
    const carol = await accountOf('carol@acme.test');
    const seeds = directory.collection<{ id: string; version: number; recordId: string; values: unknown[]; items: unknown[] }>('seeds');
    const ofCarol = async () =>
      (await Promise.all([carol.person.id, carol.person.user.id].map((id) => seeds.find({ byRecord: [id] })))).flat();
    const entries = await ofCarol();
    expect(entries).toHaveLength(2);
    await idp.directory.forTenant(carol.tenant.id).persons.remove(carol.person.id);
    expect(await ofCarol()).toEqual([]);
    for (const { id } of entries) {
      expect(await seeds.get(id)).toMatchObject({ recordId: '', values: [], items: [] });
      expect(await seeds.get(id)).not.toHaveProperty('recordCreatedAt');
    }
  });
});
