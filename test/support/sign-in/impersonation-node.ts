/**
 * A node on which a user impersonates or sets up a factor, and which is killed on the way. {@link startImpersonationNode} starts the node.
 * The node ends with its parent process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type ArtifactStore, createIdentityProvider, type DirectoryStore } from 'tenant-idp';
import { withCollections } from '../../store/with-collections.js';
import { testKeys } from '../service/keys.js';
import { cheapPasswords } from '../service/seed.js';
import { type Place, storesAt } from '../stores/places.js';

interface Settings {
  readonly place: Place;
  readonly port: number;
  /** Permission of the option `impersonation`. */
  readonly permission: string;
}

/** Options of this node, and of the other nodes. */
export const optionsOfNodes = ({ port, permission }: Pick<Settings, 'port' | 'permission'>) => ({
  issuer: `http://127.0.0.1:${port}`,
  impersonation: { permission },
  keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
  cookies: { keys: ['what the nodes of the tests sign cookies with'] },
  subjectSalt: 'salt of the test tenant identities',
  passwords: cheapPasswords,
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});

export interface ImpersonationNode {
  /**
   * Kills the node after this many writes. Without `collection`, commits and new rows of impersonations and factors count. A collection
   * counts only its new rows, and `<collection> removed` only its removed rows.
   */
  arm(writes: number, collection?: string): Promise<void>;
  kill(): Promise<void>;
}

export async function startImpersonationNode(settings: Settings): Promise<ImpersonationNode> {
  const node: ChildProcess = fork(new URL(import.meta.url), [JSON.stringify(settings)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(node, 'exit');
  const told = () => Promise.race([once(node, 'message'), gone.then(() => Promise.reject(new Error('the node ended')))]);
  await told();
  return {
    async arm(writes, collection) {
      const isArmed = told();
      node.send({ writes, collection });
      await isArmed;
    },
    async kill() {
      node.kill('SIGKILL');
      await gone;
    },
  };
}

let left = Number.POSITIVE_INFINITY;
let only: string | undefined;
function written<T>(value: T, name = ''): T {
  left -= (only ?? name.replace(/ removed$/, '')) === name ? 1 : 0;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  return value;
}

const deadly = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) =>
    ['impersonation.records', 'factors.enrolled'].includes(name)
      ? {
          insert: async (row) => written(await rows.insert(row), name),
          // The remainder of a removed row belongs to no tenant.
          async update(id, change) {
            const row = await rows.update(id, change);
            return row && (row as { tid?: string }).tid === '' ? written(row, `${name} removed`) : row;
          },
        }
      : {},
  );

const deadlyArtifacts = (store: ArtifactStore): ArtifactStore => ({
  ...store,
  commit: async (writes) => written(await store.commit(writes)),
});

if (process.send && process.argv[1] === new URL(import.meta.url).pathname) {
  process.on('disconnect', () => process.exit());
  const settings = JSON.parse(process.argv[2] ?? '') as Settings;
  const { place, port } = settings;
  const { artifacts, directory } = storesAt(place);
  const idp = await createIdentityProvider({
    ...optionsOfNodes(settings),
    artifacts: deadlyArtifacts(artifacts),
    directory: deadly(directory),
  });
  await idp.listen(port, '127.0.0.1');
  process.on('message', ({ writes, collection }: { writes: number; collection?: string }) => {
    [left, only] = [writes, collection];
    process.send?.({ isArmed: true });
  });
  process.send({ isListening: true });
}
