/**
 * A node that creates persons or emits events of a user, receives the events, and is killed on the way. `event-nodes.ts` starts the node,
 * which ends with its parent process.
 */
import { createIdentityProvider, type DirectoryStore, type IdpEvent } from 'tenant-idp';
import type { Extension } from 'tenant-idp/extension';
import { withCollections } from '../../store/with-collections.js';
import { freePort } from '../service/free-port.js';
import { testKeys } from '../service/keys.js';
import { type Place, storesAt } from '../stores/places.js';

/** State of an event when its node is killed. */
export type KillPoint = 'written' | 'recorded' | 'told' | 'delivered' | 'positioned' | 'never';

export interface EventNodeSettings {
  readonly place: Place;
  /** Id of the person to create. For an event that changes no record: the title in the data of the event. */
  readonly personId: string;
  /** Whether the node emits an event of a user that changes no record, instead of creating a person. */
  readonly raises?: boolean;
  readonly killAt: KillPoint;
}
/** Message of the node to the process that started it. */
export type FromEventNode = { readonly heard: IdpEvent } | { readonly ready: true; readonly issuer: string };
/** Message that starts the node, with the number of persons to create. */
export type ToEventNode = { readonly create: number };

const tell = (message: FromEventNode) => new Promise<void>((resolve) => process.send?.(message, undefined, {}, () => resolve()));
process.on('disconnect', () => process.exit());

const { place, personId, killAt, raises = false } = JSON.parse(process.argv[2] ?? '') as EventNodeSettings;
let isArmed = false;

/** Sequence of the event of the person that this node creates. */
let ownSequence: string | undefined;

function passes(point: KillPoint): void {
  if (isArmed && killAt === point) process.kill(process.pid, 'SIGKILL');
}
const isOwn = (row: unknown): boolean => JSON.stringify(row).includes(personId);

/** Collection in which the events wait. */
const source = raises ? 'accountEvents' : 'persons';

/** Ends the process between two steps of the outbox, each of which is one write. */
const deadly = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) => ({
    async insert(row) {
      const inserted = await rows.insert(row);
      if (!isOwn(row)) return inserted;
      if (name === source) passes('written');
      if (name === 'events') {
        ownSequence = row.id;
        passes('recorded');
      }
      return inserted;
    },
    // This node also does the jobs that an earlier node left, and these jobs do not kill this node.
    async update(id, change) {
      if (name === 'persons' && id === personId) passes('told');
      if (name !== 'events.positions') return rows.update(id, change);
      let isPast = false;
      const updated = await rows.update(id, (row) => {
        const next = change(row);
        isPast = ownSequence !== undefined && String((next as { readonly after?: string }).after) >= ownSequence;
        if (isPast) passes('delivered');
        return next;
      });
      if (isPast) passes('positioned');
      return updated;
    },
    async remove(id, version) {
      if (name === source && raises) passes('told');
      return rows.remove(id, version);
    },
  }));

/** An administrator. The module of `adminClient` is not used, because this module runs only in tests. */
const root = {
  id: 'root',
  name: 'Root',
  secret: 'root-secret',
  metadata: { grant_types: ['client_credentials'] },
  allowedScopes: ['idp.webhooks:write'],
  adminTenants: ['*'],
};
const port = await freePort();
const issuer = `http://127.0.0.1:${port}`;
const alice = { givenName: 'Alice', familyName: 'Adams', user: { userName: 'alice', status: 'active' as const } };
let raise: ((title: string) => Promise<void>) | undefined;
const notes: Extension = {
  name: 'notes',
  events: ['NoteTaken' as never],
  async start({ directory, work }) {
    directory.events.on('NoteTaken' as never, (event) => tell({ heard: event }));
    raise = async (title) => {
      const [account] = await directory.accounts.candidates('alice');
      if (!account) throw new Error('alice is gone');
      await work.emit('NoteTaken' as never, account, { AggregateId: account.person.user.id, Title: title } as never);
    };
  },
};
const idp = await createIdentityProvider({
  extensions: raises ? [notes] : [],
  issuer,
  directory: deadly(storesAt(place).directory),
  seed: { tenants: [{ name: 'Acme', ...(raises && { persons: [alice] }) }], clients: [root] },
  keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});
// The listener is registered immediately, because events of an earlier node are dispatched as soon as the event loop is free.
if (!raises) idp.events.on('PersonCreated', (event) => tell({ heard: event }));
await idp.listen(port, '127.0.0.1');
const acme = (await idp.directory.tenants.find()).find(({ name }) => name === 'Acme');
process.on('message', async ({ create }: ToEventNode) => {
  isArmed = true;
  if (raises) return raise?.(personId);
  const { persons } = idp.directory.forTenant(acme?.id ?? '');
  const one = { givenName: 'Eve', familyName: 'Evans' };
  await persons.create({ id: personId, ...one });
  for (let made = 1; made < create; made += 1) await persons.create(one);
});
await tell({ ready: true, issuer });
