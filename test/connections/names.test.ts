/**
 * Issue 14: ids of connections and of clients with `trustedLoginHint` share one name space, also when both are written at the same time, on
 * two nodes.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpError } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import type { ArtifactStore, DirectoryStore } from 'tenant-idp/store';
import { withCollections } from '../store/with-collections.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../support/administration/admin.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { withMongo } from '../support/stores/mongo.js';
import { until } from '../support/time/until.js';

const ROUNDS = process.env.PROVE ? 100 : 2;

type Kind = 'connection' | 'client';
const kinds: Readonly<Record<string, Kind>> = { 'connections.connections': 'connection', clients: 'client' };

/** Two concurrent writes: each waits until the other write arrives at the store, or is refused. */
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
/** Writes in the race that the store has not finished, even if their callers have an answer. */
const underway = new Set<Promise<unknown>>();

/** Returns a store in which a write of a client and a write of a connection wait for each other in a race. A waiting write may time out. */
const racing = (store: DirectoryStore): DirectoryStore =>
  withCollections(store, (rows, name) => {
    const kind = kinds[name];
    if (kind === undefined) return {};
    const raced = <Written>(write: () => Promise<Written>): Promise<Written> => {
      const writing = (race?.arrived(kind) ?? Promise.resolve()).then(write);
      const ended = writing.catch(() => {}).finally(() => underway.delete(ended));
      underway.add(ended);
      return writing;
    };
    return {
      insert: (row) => raced(() => rows.insert(row)),
      update: (id, change) => raced(() => rows.update(id, change)),
    };
  });

/** Result of a write. `unknown` is 503 `store_unavailable`: the record may exist. */
type Outcome = 'made' | 'refused' | 'unknown';
const outcomes: Readonly<Record<string, Outcome>> = {
  201: 'made',
  409: 'refused',
  503: 'unknown',
  conflict: 'refused',
  invalid_record: 'refused',
  store_unavailable: 'unknown',
};
const outcomeOf = (said: number | string): Outcome => {
  const outcome = outcomes[said];
  if (outcome === undefined) throw new Error(`A write in the race ended with ${said}.`);
  return outcome;
};

const suite = (stores: () => Parameters<typeof startInstances>[1]): void => {
  let nodes: Instances;
  let root: AdminClient;
  let leases: Pick<ArtifactStore, 'lease'>;
  beforeAll(async () => {
    const make = stores();
    const remembered = (node: number) => {
      const made = make(node);
      leases = made.artifacts as ArtifactStore;
      return made;
    };
    nodes = await startInstances(2, remembered, { seed: adminSeed, limits: { adminRequestsPerMinute: 100_000 } });
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
  /** Makes both writes at the same time, the client first in odd rounds. @param slow delays the write until its caller has the timeout */
  async function raced(round: number, trusted: (id: string) => Promise<unknown>, slow: boolean) {
    const id = `name-${round}`;
    const begun = new Race();
    race = begun;
    const first: Kind = round % 2 === 1 ? 'client' : 'connection';
    let told: () => void = () => {};
    const isTold = slow
      ? new Promise<void>((resolve) => {
          told = resolve;
        })
      : undefined;
    const ended = async (kind: Kind, said: number | string): Promise<Outcome> => {
      const outcome = outcomeOf(said);
      if (outcome === 'refused') await isTold;
      else told();
      await begun.arrived(kind);
      return outcome;
    };
    const tries = [
      async () => ended('connection', (await root.post('/connections', connection(id))).status),
      async () =>
        ended(
          'client',
          await trusted(id).then(
            () => 201,
            (error: IdpError) => error.code,
          ),
        ),
    ];
    if (first === 'client') tries.reverse();
    const said = await Promise.all(tries.map((attempt) => attempt()));
    race = undefined;
    if (first === 'client') said.reverse();
    while (underway.size > 0) await Promise.all(underway);
    const isThere = async () => [(await root(`/connections/${id}`)).status === 200, (await clients().get(id))?.trustedLoginHint === true];
    return { id, said, isThere };
  }

  const ways: readonly (readonly [string, number, (id: string) => Promise<unknown>])[] = [
    ['made', 0, async (id) => clients().create({ id, ...client })],
    ['changed to be believed', ROUNDS, async (id) => clients().update(id, { trustedLoginHint: true })],
  ];

  test.each(ways)('of a connection that is made and a client that is %s at once, exactly one has the id', async (_, from, trusted) => {
    for (let round = from; round < from + ROUNDS; round += 1) {
      if (from > 0) await clients().create({ id: `name-${round}`, ...client, trustedLoginHint: false });
      const { said, isThere } = await raced(round, trusted, false);
      // After a 503 either result is right, and the caches may show the stored records later.
      await until(isThere, (found) => {
        const count = found.filter(Boolean).length;
        const fits = said.every((outcome, index) => outcome === 'unknown' || found[index] === (outcome === 'made'));
        return fits && (count === 1 || (count === 0 && said.includes('unknown')));
      });
    }
  });

  test.each(ways)(
    'a connection that is made and a client that is %s, of which the store makes one too late: it has the id',
    async (_, from, trusted) => {
      for (let round = from + 1000; round < from + 1002; round += 1) {
        if (from > 0) await clients().create({ id: `name-${round}`, ...client, trustedLoginHint: false });
        // The node that writes connections has the former client in its cache.
        await nodes.idps[0]?.directory.clients.get(`name-${round}`);
        const { id, said, isThere } = await raced(round, trusted, true);
        expect([...said].sort()).toEqual(['refused', 'unknown']);
        const expected = said.map((outcome) => outcome !== 'refused');
        // The leases of the name have expired.
        for (const kind of ['connection', 'client']) await leases.lease(`idp ${id}`, kind, 0);
        if (said[0] === 'refused') expect((await root.post('/connections', connection(id))).status).toBe(409);
        else await expect(trusted(id)).rejects.toMatchObject({ code: 'invalid_record' });
        await until(isThere, (found) => String(found) === String(expected));
      }
    },
  );

  test('a name that was given up is free', async () => {
    await clients().create({ id: 'given-up', ...client });
    expect((await root.post('/connections', connection('given-up'))).status).toBe(409);
    await clients().remove('given-up');
    // The other node sees the removal within about a second.
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
