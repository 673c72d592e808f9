/** A node that makes persons, hears of them, and is killed on the way. Started by `adversarial/events-killed.test.ts`; ends when that process does. */
import { MongoClient } from 'mongodb';
import { createIdentityProvider, type DirectoryStore, type IdpEvent } from 'tenant-idp';
import { mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import type { Collection, Row } from '../../lib/store/directory-store.js';
import { testKeys } from './keys.js';

/** Where an event is when its node is killed. */
export type KillPoint = 'written' | 'numbered' | 'recorded' | 'told';

export interface EventNodeSettings {
  readonly url: string;
  readonly database: string;
  /** The person to make, and where its event is when the node ends. */
  readonly personId: string;
  readonly killAt: KillPoint;
}
/** What the node says to the process that started it. */
export type FromEventNode = { readonly heard: IdpEvent } | { readonly ready: true };
/** The word to begin. */
export type ToEventNode = 'create';

const tell = (message: FromEventNode) => new Promise<void>((resolve) => process.send?.(message, undefined, {}, () => resolve()));
process.on('disconnect', () => process.exit());

const { url, database, personId, killAt } = JSON.parse(process.argv[2] ?? '') as EventNodeSettings;
let isArmed = false;

function passes(point: KillPoint): void {
  if (isArmed && killAt === point) process.kill(process.pid, 'SIGKILL');
}

/** Ends the process between two steps of the outbox, each of which is one write. */
function deadly(store: DirectoryStore): DirectoryStore {
  const collection = <R extends Row>(name: string): Collection<R> => {
    const rows = store.collection<R>(name);
    return {
      get: (id) => rows.get(id),
      find: (where, page) => rows.find(where, page),
      put: (row) => rows.put(row),
      remove: (id) => rows.remove(id),
      async insert(row) {
        const inserted = await rows.insert(row);
        if (name === 'persons') passes('written');
        if (name === 'sequences') passes('numbered');
        if (name === 'events') passes('recorded');
        return inserted;
      },
      async update(id, change) {
        if (name === 'persons') passes('told');
        const updated = await rows.update(id, change);
        if (name === 'sequences') passes('numbered');
        return updated;
      },
    };
  };
  return {
    name: 'deadly',
    ephemeral: false,
    open: (specs) => store.open(specs),
    collection,
    health: () => store.health(),
    close: () => store.close(),
  };
}

const client = new MongoClient(url, mongoOptions);
const idp = await createIdentityProvider({
  issuer: 'http://localhost:3000',
  directory: deadly(mongoDirectory({ db: client.db(database) })),
  seed: { tenants: [{ name: 'Acme' }] },
  keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});
// At once: what was left behind is told as soon as the event loop is free.
idp.events.on('PersonCreated', (event) => tell({ heard: event }));
const [acme] = await idp.directory.tenants.find();
process.on('message', async () => {
  isArmed = true;
  await idp.directory.forTenant(acme?.id ?? '').persons.create({ id: personId, givenName: 'Eve', familyName: 'Evans' });
});
await tell({ ready: true });
