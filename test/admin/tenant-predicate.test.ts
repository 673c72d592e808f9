/** H1: the comparison of foreign with absent fails where a read or write of the store goes without the predicate of its tenant. */
import { expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Collection, DirectoryStore, Row, Unsaved } from 'tenant-idp/store';
import { boundMethods } from '../store/bound-methods.js';
import { administer, adminSeed, adminToken, tenantIds } from '../support/admin.js';
import { leaksOf, makeRecords } from '../support/admin-matrix.js';
import { startIdp } from '../support/idp.js';

type Owned = Row & { readonly tid?: string };
type Method = 'get' | 'find' | 'update';

/** Which method takes rows for those of which tenant: as without the comparison of a row's tenant with the one that asks. */
interface Broken {
  method?: Method;
  tid?: string;
}

/** A store whose rows seem to be of the tenant that asks. */
function withoutPredicate(store: DirectoryStore, broken: Broken): DirectoryStore {
  const seeming = <R extends Owned>(row: R, method: Method): R => (broken.method === method && row.tid ? { ...row, tid: broken.tid } : row);
  const collection = <R extends Row>(name: string): Collection<R> => {
    const rows = store.collection<Owned>(name);
    return {
      ...boundMethods(rows),
      async get(id: string) {
        const row = await rows.get(id);
        return row && seeming(row, 'get');
      },
      find: async (...query: Parameters<typeof rows.find>) => (await rows.find(...query)).map((row) => seeming(row, 'find')),
      update: (id: string, change: (row: Owned) => Unsaved<Owned>) =>
        rows.update(id, (row) => {
          const seen = seeming(row, 'update');
          const next = change(seen);
          return next === seen ? row : { ...next, ...(row.tid === undefined ? {} : { tid: row.tid }) };
        }),
    } as unknown as Collection<R>;
  };
  return {
    name: store.name,
    ephemeral: store.ephemeral,
    open: (specs) => store.open(specs),
    collection,
    health: () => store.health(),
    close: () => store.close(),
  };
}

test.each([undefined, 'get', 'find'] as const)('H1: without the predicate of %p', async (method) => {
  const broken: Broken = {};
  const service = await startIdp({
    seed: adminSeed,
    limits: { adminRequestsPerMinute: 100_000 },
    directory: withoutPredicate(memoryDirectory(), broken),
  });
  try {
    const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    const client = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    const tid = await tenantIds(root);
    const [own, foreign] = [await makeRecords(root, tid.Acme ?? ''), await makeRecords(root, tid.Globex ?? '')];
    if (method) Object.assign(broken, { method, tid: own.tid });
    const { leaks } = await leaksOf({ issuer: service.issuer, client, own, foreign });
    expect(leaks.length > 0).toBe(method !== undefined);
  } finally {
    await service.close();
  }
});
