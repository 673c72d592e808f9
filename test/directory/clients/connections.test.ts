/** R9-UNDO: a connection whose write timed out removes only itself. */
import { beforeAll, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { UnavailableError } from '../../../lib/errors.js';
import { withCollections } from '../../store/with-collections.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';

const ID = 'provider';
const artifacts = memoryArtifacts();
/** Another node's row with the id, inserted before the next insert of a connection. That insert times out. */
let rival: object | undefined;
const directory = withCollections(memoryDirectory(), (rows, name) => ({
  async insert(row) {
    if (name !== 'connections.connections' || rival === undefined) return rows.insert(row);
    await rows.insert({ ...row, ...rival });
    rival = undefined;
    // The lease of the name has expired, and another kind has it.
    await artifacts.lease(`idp ${ID}`, 'connection', 0);
    await artifacts.lease(`idp ${ID}`, 'client', 60_000);
    throw new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('no answer') });
  },
}));
const service = useIdp({ artifacts, directory, seed: adminSeed });
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

test('R9-UNDO: the connection of another request stays', async () => {
  const createdAt = new Date(0).toISOString();
  rival = { name: 'The rival', createdAt };
  const connection = { id: ID, name: 'Ours', issuer: 'https://provider.example', clientId: 'x', clientSecret: 'a secret' };
  expect((await root.post('/connections', connection)).status).toBe(503);
  const { status, json } = await root(`/connections/${ID}`);
  expect([rival, status, json.name]).toEqual([undefined, 200, 'The rival']);
});
