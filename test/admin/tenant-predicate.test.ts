/** H1: the comparison of foreign with absent ids fails if a read or a write of the store does not check the tenant. */
import { expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Collection, DirectoryStore, Row, Unsaved } from 'tenant-idp/store';
import { boundMethods } from '../store/with-collections.js';
import { administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { leaksOf, makeRecords } from '../support/administration/admin-matrix.js';
import { startIdp } from '../support/service/idp.js';

type Owned = Row & { readonly tid?: string };
type Method = 'get' | 'find' | 'update' | 'remove';

/** Fault of a store: `method` takes rows of other tenants for rows of the tenant `tid`, as if the tenants were not compared. */
interface Broken {
  method?: Method;
  tid?: string;
  /** Name of the only broken collection. @default all */
  collection?: string | undefined;
}

/** Returns a store whose rows seem to belong to the tenant of the request. */
function withoutPredicate(store: DirectoryStore, broken: Broken): DirectoryStore {
  const collection = <R extends Row>(name: string): Collection<R> => {
    const rows = store.collection<Owned>(name);
    const isBroken = (method: Method): boolean => broken.method === method && (broken.collection ?? name) === name;
    const seeming = <Seen extends Owned>(row: Seen, method: Method): Seen =>
      isBroken(method) && row.tid ? { ...row, tid: broken.tid } : row;
    return {
      ...boundMethods(rows),
      async get(id: string) {
        const row = await rows.get(id);
        return row && seeming(row, 'get');
      },
      find: async (...query: Parameters<typeof rows.find>) => (await rows.find(...query)).map((row) => seeming(row, 'find')),
      // A removal with an event is an update that keeps only the event of the row.
      async update(id: string, change: (row: Owned) => Unsaved<Owned>) {
        let written: Method | undefined;
        const row = await rows.update(id, (current) => {
          written = undefined;
          const seen = current.tid && broken.tid ? { ...current, tid: broken.tid } : current;
          const next = change(seen);
          written = next === seen ? undefined : 'removedAt' in next ? 'remove' : 'update';
          if (!written || !isBroken(written)) return change(current);
          return { ...next, ...(next.tid !== undefined && current.tid !== undefined && { tid: current.tid }) };
        });
        return row && written ? seeming(row, written) : row;
      },
    } as unknown as Collection<R>;
  };
  return { ...store, collection };
}

/** Collections whose rows belong to a tenant. */
const owned = ['persons', 'groups', 'subsidiaries', 'invitations', 'credentials'];

/** Collections and resources whose records are read by id in one look-up. An invitation does not exist without its person. */
const readById = [
  ['persons', 'persons'],
  ['groups', 'groups'],
  ['subsidiaries', 'subsidiaries'],
  ['events.webhooks', 'webhooks'],
  ['connections.connections', 'connections'],
].map(([collection, resource]) => ['get', collection, resource] as const);

const all = [undefined, 'get', 'find', 'update', 'remove'].map((method) => [method as Method | undefined, undefined, ''] as const);

test.each([...all, ...readById])('H1: without the predicate of %p of %p', async (method, collection, resource) => {
  const broken: Broken = { collection };
  const store = memoryDirectory();
  const service = await startIdp({
    seed: adminSeed,
    limits: { adminRequestsPerMinute: 100_000 },
    directory: withoutPredicate(store, broken),
  });
  /** Returns the stored rows of a tenant, without pending events. */
  const kept = async (of: string): Promise<string> => {
    const rows = await Promise.all(owned.map((name) => store.collection<Owned>(name).find({})));
    const own = rows.flat().filter((row) => row.tid === of);
    return JSON.stringify(own.map((row) => ({ ...row, version: 0, pendingEvents: [], outbox: 'yes' })));
  };
  try {
    const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    const client = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    const tid = await tenantIds(root);
    const [own, foreign] = [await makeRecords(root, tid.Acme ?? ''), await makeRecords(root, tid.Globex ?? '')];
    const before = await kept(foreign.tid);
    if (method) Object.assign(broken, { method, tid: own.tid });
    const isTried = (path: string) => path.startsWith(`/tenants/{tid}/${resource}`);
    const { leaks } = await leaksOf({ issuer: service.issuer, client, own, foreign, isTried });
    if (collection) return expect([...new Set(leaks.map(({ field }) => field))]).toEqual(['id']);
    // Operations read a record before they write it, so the writes are also tried without the operations.
    const { groups, subsidiaries } = service.idp.tenant(own.tid);
    const taken = { name: 'Taken' };
    await Promise.allSettled([groups.update(foreign.group, taken), subsidiaries.update(foreign.subsidiary, taken)]);
    await Promise.allSettled([groups.remove(foreign.group), subsidiaries.remove(foreign.subsidiary)]);
    expect({ isSeen: leaks.length > 0 || (await kept(foreign.tid)) !== before }).toEqual({ isSeen: method !== undefined });
  } finally {
    await service.close();
  }
});
