/**
 * A node that serves the admin API, and is killed after one of its writes. {@link startAdminNode} starts the node. The node ends with its
 * parent process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createIdentityProvider, type DirectoryStore, type IdentityProviderOptions } from 'tenant-idp';
import { withCollections } from '../../store/with-collections.js';
import { testKeys } from '../service/keys.js';
import { cheapPasswords } from '../service/seed.js';
import { type Place, storesAt } from '../stores/places.js';

interface Settings {
  readonly place: Place;
  readonly seed: IdentityProviderOptions['seed'];
}

/** Options of this node, and of the nodes that continue after this node. */
export const optionsOfNodes = {
  issuer: 'http://127.0.0.1:3000',
  keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
  subjectSalt: 'salt of the test tenant identities',
  passwords: cheapPasswords,
  mail: { send: async () => {} },
  limits: { adminRequestsPerMinute: 100_000 },
  logger: { debug() {}, info() {}, warn() {}, error() {} },
} satisfies IdentityProviderOptions;

export interface AdminNode {
  /** Origin at which the node answers. */
  readonly origin: string;
  /** Kills the node after this many writes of the next request. The first write announces the rest. */
  arm(writes: number): Promise<void>;
  /** Whether the node killed itself. Resolves after the node has ended. */
  readonly gone: Promise<boolean>;
  kill(): void;
}

export async function startAdminNode(settings: Settings): Promise<AdminNode> {
  const node: ChildProcess = fork(new URL(import.meta.url), [JSON.stringify(settings)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(node, 'exit').then(([, signal]) => signal === 'SIGKILL');
  const told = () => Promise.race([once(node, 'message'), gone.then(() => Promise.reject(new Error('the node ended')))]);
  const [{ origin }] = (await told()) as [{ origin: string }];
  return {
    origin,
    gone,
    async arm(writes) {
      const isArmed = told();
      node.send({ writes });
      await isArmed;
    },
    kill: () => void node.kill('SIGKILL'),
  };
}

/** Collections whose writes count. Writes of events and caches do not count. */
const counted = ['deliveries', 'invitations', 'persons', 'removals', 'tenants', 'groups', 'subsidiaries', 'credentials', 'clients'];

/** Collections that a request writes first, to announce its work. */
const first = ['deliveries', 'removals'];

let left = Number.POSITIVE_INFINITY;
let isBegun = false;
function written<T>(collection: string, value: T): T {
  isBegun ||= Number.isFinite(left) && first.includes(collection);
  if (!isBegun || !counted.includes(collection)) return value;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  return value;
}

const deadly = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) => ({
    insert: async (row) => written(name, await rows.insert(row)),
    put: async (row) => written(name, await rows.put(row)),
    update: async (id, change) => written(name, await rows.update(id, change)),
    remove: async (id, version) => written(name, await rows.remove(id, version)),
  }));

if (process.send && process.argv[1] === new URL(import.meta.url).pathname) {
  process.on('disconnect', () => process.exit());
  const { place, seed } = JSON.parse(process.argv[2] ?? '') as Settings;
  const { artifacts, directory } = storesAt(place);
  const idp = await createIdentityProvider({
    ...optionsOfNodes,
    ...(seed && { seed }),
    artifacts,
    directory: deadly(directory),
  });
  const server = await idp.listen(0, '127.0.0.1');
  process.on('message', ({ writes }: { writes: number }) => {
    left = writes;
    process.send?.({ isArmed: true });
  });
  process.send({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
