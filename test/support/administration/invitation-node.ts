/**
 * A node that accepts an invitation, and is killed on the way. `invitations/killed.test.ts` starts the node. The node ends with its parent
 * process.
 */
import { createIdentityProvider, type DirectoryStore } from 'tenant-idp';
import type { Person } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';
import { testKeys } from '../service/keys.js';
import { cheapPasswords } from '../service/seed.js';
import { type Place, storesAt } from '../stores/places.js';

export interface InvitationNodeSettings {
  readonly place: Place;
  readonly id: string;
  readonly password: string;
  /** Number of the write of the acceptance after which the node is killed. If there are fewer writes, the node is not killed. */
  readonly killAfter: number;
}

export const encryption = ['what the nodes of the tests encrypt with'];

const { place, id, password, killAfter } = JSON.parse(process.argv[2] ?? '{}') as InvitationNodeSettings;
let isArmed = false;
let writes = 0;

/** Counts a write of the acceptance. Other writes of the queue and the dispatcher do not count. */
function written<T>(collection: string, value: T, isInsert = false): T {
  const { user } = (value ?? {}) as Partial<Person>;
  const counts = {
    deliveries: isInsert,
    credentials: true,
    persons: user?.invitation?.id === undefined && user?.accepted?.id === id,
    invitations: true,
  };
  if (isArmed && counts[collection as keyof typeof counts]) {
    writes += 1;
    if (writes === killAfter) process.kill(process.pid, 'SIGKILL');
  }
  return value;
}

const deadly = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) => ({
    remove: async (rowId, version) => written(name, await rows.remove(rowId, version)),
    insert: async (row) => written(name, await rows.insert(row), true),
    update: async (rowId, change) => written(name, await rows.update(rowId, change)),
  }));

if (process.send && id !== undefined) {
  process.on('disconnect', () => process.exit());
  const idp = await createIdentityProvider({
    issuer: 'http://localhost:3000',
    directory: deadly(storesAt(place).directory),
    keys: { signing: testKeys, encryption },
    subjectSalt: 'salt of the test tenant identities',
    passwords: cheapPasswords,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  isArmed = true;
  const outcome = await idp.directory.acceptance.accept({ id, serial: 1 }, password).then(
    () => 'accepted',
    (error: Error) => String(error),
  );
  process.send({ outcome, writes }, undefined, {}, () => process.exit());
}
