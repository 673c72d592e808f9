/**
 * M18, H3: records that cannot be read are repaired and removed on MongoDB, also if the node is killed between two writes of the removal.
 */
import { expect } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../../support/administration/admin.js';
import { optionsOfNodes, startAdminNode } from '../../support/administration/admin-node.js';
import type { Json } from '../../support/client/agent.js';
import { testTogether } from '../../support/service/test-together.js';
import { withMongo } from '../../support/stores/mongo.js';
import { until } from '../../support/time/until.js';

withMongo('MONGODB_URL', (mongo) => {
  const asRoot = async (origin: string): Promise<AdminClient> => administer(origin, await adminToken(origin, 'root'));

  interface Damaged {
    readonly collection: string;
    readonly make: (
      admin: AdminClient,
      tenant: string,
    ) => Promise<{ readonly id: string; readonly path: string; readonly credential?: string }>;
    readonly members: object;
    /** The patch that repairs the record. Absent for a record that is only removed. */
    readonly repair?: object;
  }
  const idOf = async (admin: AdminClient, path: string, body: object): Promise<Json> => {
    const { status, json, text } = await admin.post(path, body);
    expect([path, status, status === 201 ? '' : text]).toEqual([path, 201, '']);
    return json;
  };
  const person = { givenName: 'Ola', email: 'ola@globex.test', user: { userName: 'ola@globex.test' } };
  const kinds: Readonly<Record<string, Damaged>> = {
    person: {
      collection: 'persons',
      async make(admin, tenant) {
        const { id, user } = await idOf(admin, `${tenant}/persons`, person);
        return { id, path: `${tenant}/persons/${id}`, credential: user.id };
      },
      members: { givenName: 5, attributes: null },
      repair: { givenName: 'Kari', attributes: { a: 'b' } },
    },
    group: {
      collection: 'groups',
      async make(admin, tenant) {
        const { id } = await idOf(admin, `${tenant}/groups`, { name: 'Broken' });
        return { id, path: `${tenant}/groups/${id}` };
      },
      members: { permissionIds: 'none' },
      repair: { permissionIds: [] },
    },
    subsidiary: {
      collection: 'subsidiaries',
      async make(admin, tenant) {
        const { id } = await idOf(admin, `${tenant}/subsidiaries`, { name: 'Broken' });
        return { id, path: `${tenant}/subsidiaries/${id}` };
      },
      members: { name: ['x'] },
      repair: { name: 'Sound' },
    },
    invitation: {
      collection: 'invitations',
      async make(admin, tenant) {
        const { user } = await idOf(admin, `${tenant}/persons`, person);
        const { id } = await idOf(admin, `${tenant}/invitations`, { userId: user.id, send: false });
        return { id, path: `${tenant}/invitations/${id}` };
      },
      members: { expiresAt: 'soon' },
    },
  };

  async function play({ collection, make, members, repair }: Damaged, killAfter: number): Promise<void> {
    const prefix = mongo.prefix();
    const node = await startAdminNode({ place: { url: mongo.urlOfDatabase, prefix }, seed: adminSeed });
    try {
      const admin = await asRoot(node.origin);
      const { Globex: tid = '' } = await tenantIds(admin);
      const { id, path, credential } = await make(admin, `/tenants/${tid}`);
      const rows = mongo.db.collection<{ _id: string }>(prefix + collection);
      // The dispatcher writes the whole row when it removes events, and would repair the row.
      const break_ = () =>
        until(async () => (await rows.updateOne({ _id: id, outbox: { $exists: false } }, { $set: members })).matchedCount === 1);
      await break_();
      // A write reads past the caches, and clears them.
      if (repair) expect((await admin.patch(path, {})).json.code).toBe('record_unreadable');
      expect((await admin(path)).json.code).toBe('record_unreadable');
      if (repair) {
        expect((await admin.patch(path, repair)).json).toMatchObject(repair);
        await break_();
      }
      await node.arm(killAfter);
      const answer = await admin.remove(path).catch(() => undefined);
      if (answer) {
        expect([killAfter, answer.status]).toEqual([killAfter, 204]);
        node.kill();
      }
      await node.gone;

      const stores = { artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: mongoDirectory({ db: mongo.db, prefix }) };
      const idp = await createIdentityProvider({ ...optionsOfNodes, ...stores });
      const server = await idp.listen(0, '127.0.0.1');
      try {
        const other = await asRoot(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
        const again = await until(
          () => other.remove(path),
          ({ status }) => status !== 503,
        );
        expect([204, 404]).toContain(again.status);
        expect((await other(path)).status).toBe(404);
        if (credential !== undefined) {
          const credentials = mongo.db.collection<{ _id: string }>(`${prefix}credentials`);
          await until(
            () => credentials.countDocuments({ _id: credential }),
            (count) => count === 0,
          );
          // The address and the user name are free.
          await idOf(other, `/tenants/${tid}/persons`, person);
        }
      } finally {
        await idp.close();
      }
    } finally {
      node.kill();
    }
  }

  for (const [name, kind] of Object.entries(kinds))
    testTogether(`M18: an unreadable ${name} is repaired, and removed by a node that is killed after a write and by another`, async () => {
      for (const killAfter of process.env.PROVE ? [1, 2, 3, 4] : [1]) await play(kind, killAfter);
    });
});
