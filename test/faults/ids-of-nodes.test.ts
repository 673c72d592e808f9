/** T3-ERASE-SUB, T3-SUB-CLIENT, T3-CHAIN-CROWD2: two nodes request an id or a name at the same time, and at most one request gets it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import { createLeases } from '../../adapters/memory/leases.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { withServer } from '../servers/when.js';
import { codeOf, type TestDirectory, testDirectory } from '../support/service/test-directory.js';
import { type DumpedStore, dumpedMongoDirectory } from '../support/stores/dumps.js';
import { jitteryDirectory, seededRandom } from '../support/stores/jittery-directory.js';

const rounds = process.env.PROVE ? 100 : 8;
const person = { givenName: 'Given', familyName: 'Family' };

function races(storeOf: () => DumpedStore<DirectoryStore>): void {
  let kept: DumpedStore<DirectoryStore>;
  let nodes: readonly TestDirectory[];
  let tid: string;
  beforeAll(async () => {
    kept = storeOf();
    const leases = createLeases();
    const lease = (work: string, holder = 'node', ms = 1000) => leases.lease(work, holder, ms);
    nodes = await Promise.all([1, 2].map((round) => testDirectory({ store: jitteryDirectory(kept.store, seededRandom(round)), lease })));
    ({ id: tid } = await nodes[0]!.directory.tenants.create({ name: 'Acme' }));
  });
  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    await kept.end();
  });
  const everywhere = (write: (directory: TestDirectory['directory'], at: number) => Promise<unknown>) =>
    Promise.all(nodes.map(({ directory }, at) => codeOf(write(directory, at))));
  const user = (id: string) => ({ ...person, user: { id, userName: randomUUID() } });
  const metadata = { grant_types: ['client_credentials'] };

  test('an id of a user, a client and an API resource', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = randomUUID();
      const codes = (
        await Promise.all([
          everywhere(({ forTenant }) => forTenant(tid).persons.create(user(id))),
          everywhere(({ clients }) => clients.create({ id, name: 'Client', metadata })),
          everywhere(({ apiResources }) => apiResources.create({ id, name: 'API', scopes: [] })),
        ])
      ).flat();
      const refused = codes.filter((code) => code === 'conflict').length;
      expect([round, refused === codes.length || refused === codes.length - 1, new Set(codes).size <= 2]).toEqual([round, true, true]);
    }
  });

  test('the id of a user who is removed while others want it', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = randomUUID();
      const { id: personId } = await nodes[0]!.directory.forTenant(tid).persons.create(user(id));
      const [removals, codes] = await Promise.all([
        everywhere(({ forTenant }) => forTenant(tid).persons.remove(personId)),
        everywhere(({ forTenant }) => forTenant(tid).persons.create(user(id))),
      ]);
      expect([round, removals.includes(undefined), codes]).toEqual([round, true, ['conflict', 'conflict']]);
      expect(await everywhere(({ forTenant }) => forTenant(tid).persons.create(user(id)))).toEqual(['conflict', 'conflict']);
      expect(await kept.store.collection('persons').find({ byUser: [id] })).toEqual([]);
    }
  });

  test('a name of a tenant', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const name = `Round ${round}`;
      const before = await Promise.all(nodes.map(({ directory }) => directory.tenants.create({ name: randomUUID() })));
      const codes = (
        await Promise.all([
          everywhere(({ tenants }) => tenants.create({ name })),
          everywhere(({ tenants }, at) => tenants.update(before[at]!.id, { name: name.toUpperCase() })),
        ])
      ).flat();
      expect([round, codes.filter((code) => code !== 'tenant_name_taken')]).toEqual([round, [undefined]]);
    }
  });
}

describe('in memory', () => races(() => ({ store: memoryDirectory(), dump: async () => [], end: async () => {} })));
withServer('MONGODB_URL', (url) => describe('in MongoDB', () => races(() => dumpedMongoDirectory(url))));
