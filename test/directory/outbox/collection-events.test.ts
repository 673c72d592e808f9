import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { eventNames } from '../../../lib/events.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { codeOf, type TestDirectory, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

const told = async (t: TestDirectory): Promise<string[]> =>
  (await t.dispatched()).map(({ type, subject, tid }) => `${type} ${subject} ${tid ?? 'instance'}`);
const actor = 'client:hr-sync';

/** All changes of an administrator to a record of a collection, with their events. */
const collections = {
  async Subsidiary({ directory }: TestDirectory, tid: string) {
    const { subsidiaries } = directory.as({ actor }).forTenant(tid);
    const { id } = await subsidiaries.create({ name: 'North' });
    for (const name of ['South', 'South']) await subsidiaries.update(id, { name });
    await subsidiaries.remove(id);
    return { id, of: tid, kept: () => subsidiaries.find(), again: () => subsidiaries.create({ id, name: 'North' }) };
  },
  async Group({ directory }: TestDirectory, tid: string) {
    const { groups } = directory.as({ actor }).forTenant(tid);
    const { id } = await groups.create({ name: 'Sales' });
    for (const name of ['Buyers', 'Buyers']) await groups.update(id, { name });
    await groups.remove(id);
    return { id, of: tid, kept: () => groups.find(), again: () => groups.create({ id, name: 'Sales' }) };
  },
  async Permission({ directory }: TestDirectory) {
    const { permissions } = directory.as({ actor });
    await permissions.create({ id: 'orders.read', name: 'Orders' });
    for (const name of ['All orders', 'All orders']) await permissions.update('orders.read', { name });
    await permissions.remove('orders.read');
    const again = () => permissions.create({ id: 'orders.read', name: 'Orders' });
    return { id: 'orders.read', of: 'instance', kept: () => permissions.find(), again };
  },
  async Client({ directory }: TestDirectory) {
    const { clients } = directory.as({ actor });
    const input = { id: 'crm', name: 'CRM', metadata: { grant_types: ['client_credentials'] } };
    await clients.create(input);
    for (const name of ['Sales', 'Sales']) await clients.update('crm', { name });
    await clients.rotateSecret('crm');
    await clients.remove('crm');
    return { id: 'crm', of: 'instance', kept: () => clients.find(), again: () => clients.create(input) };
  },
  async ApiResource({ directory }: TestDirectory) {
    const { apiResources } = directory.as({ actor });
    const input = { id: 'orders', name: 'Orders', scopes: ['orders.read'] };
    await apiResources.create(input);
    for (const name of ['All orders', 'All orders']) await apiResources.update('orders', { name });
    await apiResources.rotateSecret('orders');
    await apiResources.remove('orders');
    return { id: 'orders', of: 'instance', kept: () => apiResources.find(), again: () => apiResources.create(input) };
  },
};

describe('design §8: every collection that administrators write carries its events in the document', () => {
  test.each(Object.entries(collections))('%s: one event for each change, none for what changes nothing', async (kind, drive) => {
    await using t = await testDirectory();
    const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
    const { id, of } = await drive(t, tid);
    const verbs = ['Created', 'Updated', ...(kind === 'Client' || kind === 'ApiResource' ? ['SecretAdded'] : []), 'Removed'];
    expect((await told(t)).filter((line) => line.startsWith(kind))).toEqual(verbs.map((verb) => `${kind}${verb} ${id} ${of}`));
    const own = (await t.dispatched()).filter(({ type }) => type.startsWith(kind));
    expect(own.map((event) => event.actor)).toEqual(verbs.map(() => actor));
    expect(verbs.every((verb) => (eventNames as readonly string[]).includes(`${kind}${verb}`))).toBe(true);
  });

  test.each(Object.entries(collections))(
    '%s: what is removed is not there, though its events wait; its id and names are free',
    async (kind, drive) => {
      const store = memoryDirectory();
      let mine = false;
      await using t = await testDirectory({ store, lease: async (work) => work !== 'events' || mine });
      const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
      const { id, kept, again } = await drive(t, tid);
      const rows = store.collection<Row & { outbox?: string; pendingEvents?: readonly unknown[] }>(
        { Subsidiary: 'subsidiaries', Group: 'groups', Permission: 'permissions', Client: 'clients', ApiResource: 'apiResources' }[kind]!,
      );
      const left = await rows.get(id);
      expect(Object.keys(left ?? {}).sort()).toEqual(['id', 'outbox', 'pendingEvents', 'removedAt', 'version']);
      expect(await kept()).toEqual([]);
      await again();
      expect(await kept()).toHaveLength(1);
      expect(await codeOf(again())).toBe('conflict');
      mine = true;
      const kinds = (await told(t)).filter((line) => line.startsWith(`${kind}C`) || line.startsWith(`${kind}R`));
      expect(kinds.map((line) => line.split(' ')[0])).toEqual([`${kind}Created`, `${kind}Removed`, `${kind}Created`]);
      expect(await kept()).toHaveLength(1);
    },
  );

  test('what is left of a removed record goes with its last event', async () => {
    await using t = await testDirectory();
    await collections.Client(t);
    await t.dispatched();
    await until(async () => (await t.store.collection('clients').find({})).length === 0);
  });

  test('tenants: created, updated, disabled and enabled again; disabling twice is one change', async () => {
    await using t = await testDirectory();
    const { tenants } = t.directory;
    const { id } = await tenants.create({ name: 'Acme' });
    await tenants.update(id, { locale: 'nb' });
    for (let times = 0; times < 2; times += 1) await tenants.disable(id);
    await tenants.enable(id);
    expect((await told(t)).map((line) => line.split(' ')[0])).toEqual(['TenantCreated', ...Array(3).fill('TenantUpdated')]);
  });

  test('a permission that goes is taken out of its groups, a group that goes out of its users, each with an event', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { tid, userId } = await tenantWithUser(directory, 'Acme', 'alice');
    await directory.permissions.create({ id: 'orders.read', name: 'Orders' });
    const { groups, users } = directory.forTenant(tid);
    const { id } = await groups.create({ name: 'Sales', permissionIds: ['orders.read'] });
    await users.setGroups(userId, { ids: [id] });
    const before = (await told(t)).length;
    await directory.permissions.remove('orders.read');
    await groups.remove(id);
    expect((await told(t)).slice(before).sort()).toEqual(
      [
        `GroupUpdated ${id} ${tid}`,
        `GroupRemoved ${id} ${tid}`,
        'PermissionRemoved orders.read instance',
        `UserGroupsChanged ${userId} ${tid}`,
      ].sort(),
    );
  });
});
