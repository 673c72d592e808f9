/** Two nodes over shared stores, one of which can keep its cached rows: Redis with a durable directory, or one durable server. */
import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import type { ArtifactStore, DirectoryStore, IdentityProvider } from 'tenant-idp';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../../servers/when.js';
import { type Instances, startInstances } from '../service/instances.js';
import { type TestDurable, withDurable } from './durable.js';
import { heldFeed } from './held-feed.js';
import { connected, ownPrefix, redisClient } from './redis-clients.js';

/** The node that changes something, and the node whose change feed can be held. */
export const [here, there] = [0, 1] as const;

export interface SharedNodes {
  readonly nodes: () => Instances;
  /** The directory of the node {@link there}. */
  readonly other: () => ReturnType<typeof heldFeed>;
  readonly idpAt: (node: number) => IdentityProvider;
}

interface NodeStores {
  readonly artifacts: () => ArtifactStore;
  readonly directory: () => DirectoryStore;
}

function sharing(stores: () => Promise<NodeStores>, suite: (shared: SharedNodes) => void): void {
  let nodes: Instances;
  let other: ReturnType<typeof heldFeed>;
  beforeAll(async () => {
    const { artifacts, directory } = await stores();
    other = heldFeed(directory());
    nodes = await startInstances(2, (node) => ({ artifacts: artifacts(), directory: node === there ? other.directory : directory() }), {
      limits: { signInFailuresPerAddress: 100_000 },
    });
  });
  afterEach(() => other?.goOn());
  afterAll(() => nodes?.close());
  suite({ nodes: () => nodes, other: () => other, idpAt: (node) => nodes.idps[node] as IdentityProvider });
}

/**
 * Registers a suite over each set of stores: sessions in Redis with the directory in a durable server, and both in one durable server.
 * With `npm run prove`, registers the suite over each durable server. The test file has to name the variables REDIS_URL, MONGODB_URL and
 * POSTGRES_URL.
 */
export function withSharedNodes(
  variables: readonly ['REDIS_URL', 'MONGODB_URL', 'POSTGRES_URL'],
  suite: (shared: SharedNodes) => void,
): void {
  const [ofRedis, mongo, postgres] = variables;
  withDurable([mongo, postgres], (durable: TestDurable) =>
    withServer(ofRedis, (redis) =>
      describe('with sessions in Redis', () => {
        const client = redisClient(redis);
        afterAll(() => client.disconnect());
        sharing(async () => {
          await connected(client);
          const [place, prefix] = [durable.place(), ownPrefix()];
          return { artifacts: () => redisArtifacts({ client, prefix }), directory: () => durable.at(place).directory };
        }, suite);
      }),
    ),
  );
  withDurable([postgres, mongo], (durable) =>
    describe('with sessions in the same server', () =>
      sharing(async () => {
        const place = durable.place();
        return { artifacts: () => durable.at(place).artifacts, directory: () => durable.at(place).directory };
      }, suite)),
  );
}
