/** Issue 14: ids of connections and of clients with `trustedLoginHint` share one name space, also when both are written at once, on two nodes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import type { DirectoryStore } from 'tenant-idp/store';
import { withCollections } from '../store/with-collections.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../support/administration/admin.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { withMongo } from '../support/stores/mongo.js';
import { until } from '../support/time/until.js';

const ROUNDS = process.env.PROVE ? 100 : 2;

type Kind = 'connection' | 'client';
const kinds: Readonly<Record<string, Kind>> = { 'connections.connections': 'connection', clients: 'client' };

/** Two writes at once: each waits until the other one is about to be made, or is refused. */
class Race {
  readonly #coming = new Set<Kind>(['connection', 'client']);
  #start = () => {};
  readonly #started = new Promise<void>((resolve) => {
    this.#start = resolve;
  });

  arrived(kind: Kind): Promise<void> {
    this.#coming.delete(kind);
    if (this.#coming.size === 0) this.#start();
    return this.#started;
  }
}
let race: Race | undefined;

/** A store whose writes of clients and connections wait for each other in a race. */
const racing = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) => {
    const kind = kinds[name];
    if (kind === undefined) return {};
    return {
      async insert(row) {
        await race?.arrived(kind);
        return rows.insert(row);
      },
      async update(id, change) {
        await race?.arrived(kind);
        return rows.update(id, change);
      },
    };
  });

const suite = (stores: () => Parameters<typeof startInstances>[1]): void => {
  let nodes: Instances;
  let root: AdminClient;
  beforeAll(async () => {
    nodes = await startInstances(2, stores(), { seed: adminSeed, limits: { adminRequestsPerMinute: 100_000 } });
    root = administer(nodes.at(0), await adminToken(nodes.issuer, 'root'));
  });
  afterAll(() => nodes?.close());

  const connection = (id: string) => ({
    id,
    name: 'Provider',
    issuer: 'https://provider.example',
    clientId: 'x',
    clientSecret: 'a secret',
  });
  const client = { name: 'Client', secret: 'a secret of the client', trustedLoginHint: true } as const;
  const clients = () => (nodes.idps[1] as (typeof nodes.idps)[number]).directory.clients;
  /** Both at once, the other one first each second time. */
  async function raced(round: number, trusted: (id: string) => Promise<unknown>) {
    const id = `name-${round}`;
    const begun = new Race();
    race = begun;
    const tries = [
      async () => {
        const { status } = await root.post('/connections', connection(id));
        await begun.arrived('connection');
        return status === 201;
      },
      async () => {
        const isMade = await trusted(id).then(
          () => true,
          () => false,
        );
        await begun.arrived('client');
        return isMade;
      },
    ];
    if (round % 2 === 1) tries.reverse();
    const won = await Promise.all(tries.map((attempt) => attempt()));
    race = undefined;
    if (round % 2 === 1) won.reverse();
    const isThere = [(await root(`/connections/${id}`)).status === 200, (await clients().get(id))?.trustedLoginHint === true];
    return { won, isThere };
  }

  test.each([
    ['made', 0, async (id: string) => clients().create({ id, ...client })],
    ['changed to be believed', ROUNDS, async (id: string) => clients().update(id, { trustedLoginHint: true })],
  ])('of a connection that is made and a client that is %s at once, exactly one has the id', async (_, from, trusted) => {
    for (let round = from; round < from + ROUNDS; round += 1) {
      if (from > 0) await clients().create({ id: `name-${round}`, ...client, trustedLoginHint: false });
      const { won, isThere } = await raced(round, trusted);
      expect([won.filter(Boolean).length, isThere]).toEqual([1, won]);
    }
  });

  test('a name that was given up is free', async () => {
    await clients().create({ id: 'given-up', ...client });
    expect((await root.post('/connections', connection('given-up'))).status).toBe(409);
    await clients().remove('given-up');
    // The other node hears of it within about a second.
    await until(
      () => root.post('/connections', connection('given-up')),
      ({ status }) => status === 201,
    );
    await root.remove('/connections/given-up');
    await clients().create({ id: 'given-up', ...client });
  });
};

describe('in memory', () => {
  suite(() => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    return () => ({ artifacts, directory: racing(directory) });
  });
});

withMongo('MONGODB_URL', (mongo) => {
  describe('on MongoDB', () => {
    suite(() => {
      const prefix = mongo.prefix();
      return () => ({ artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: racing(mongoDirectory({ db: mongo.db, prefix })) });
    });
  });
});
