/**
 * M18: documents of MongoDB whose `_id` is no text are left out and named. The start, lists and the sweep of the rows behind them succeed.
 */
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { ObjectId } from 'mongodb';
import { createIdentityProvider } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { adminScopes, adminSeed } from '../support/administration/admin.js';
import { optionsOfNodes } from '../support/administration/admin-node.js';
import { basic, postForm } from '../support/client/agent.js';
import { withMongo } from '../support/stores/mongo.js';
import { until } from '../support/time/until.js';

const ids = [7, true, { toString: 5 }, new ObjectId()];
/** Number of documents: more than a page, so that a page has only ids that are no texts. */
const MANY = 1_100;

withMongo('MONGODB_URL', (mongo) => {
  test('M18: ids of other types', async () => {
    const prefix = mongo.prefix();
    const rows = (name: string) => mongo.db.collection<{ _id: unknown }>(`${prefix}${name}`);
    const now = new Date();
    const written = { createdAt: now, updatedAt: now, version: 1, pendingEvents: [] };
    const odd = Array.from({ length: MANY }, (_, index) => ({ _id: 1000 + index, name: `Odd ${index}`, ...written }));
    await rows('permissions').insertMany([...odd, ...ids.map((id) => ({ _id: id, name: String(typeof id), ...written }))] as never);
    await rows('permissions').insertOne({ ...written, _id: 'behind', name: 5 } as never);
    const stores = { artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: mongoDirectory({ db: mongo.db, prefix }) };
    const idp = await createIdentityProvider({ ...optionsOfNodes, ...stores, seed: adminSeed } as never);
    try {
      const server = await idp.listen(0, '127.0.0.1');
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const grant = { grant_type: 'client_credentials', scope: adminScopes.join(' ') };
      const { json } = await postForm(`${origin}/connect/token`, grant, { authorization: basic('root', 'root-secret') });
      const ask = async (path: string) => {
        const answer = await fetch(`${origin}/idp/api/v1${path}`, { headers: { authorization: `Bearer ${json.access_token}` } });
        return { status: answer.status, json: (await answer.json()) as { items: { id: string; name: string }[]; unreadable?: object[] } };
      };
      const tid = (await ask('/tenants')).json.items.find(({ name }) => name === 'Acme')?.id;
      for (const id of ids) await rows('subsidiaries').insertOne({ ...written, _id: id, tid, name: 'Odd', nameKey: 'odd' } as never);
      for (const query of ['', '&name=odd', '&sort=-createdAt']) {
        const list = await ask(`/tenants/${tid}/subsidiaries?limit=200${query}`);
        expect([query, list.status]).toEqual([query, 200]);
        expect(list.json.unreadable).toHaveLength(ids.length);
        expect(list.json.unreadable).toEqual(
          expect.arrayContaining([
            { id: '7', path: '/id' },
            { id: 'true', path: '/id' },
          ]),
        );
      }
      expect((await ask('/permissions?limit=200')).status).toBe(200);
      const health = () => idp.health().then(({ problems }) => problems.map((problem) => (problem as { id?: string }).id));
      expect(await until(health, (found) => found.includes('behind'))).toContain('behind');
    } finally {
      await idp.close();
    }
  }, 60_000);
});
