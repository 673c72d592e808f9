/** Suites over servers that have both stores: PostgreSQL and MongoDB. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import type { Row } from 'tenant-idp/store';
import { withServer } from '../../servers/when.js';
import { connect, databaseUrl, dropDatabase, makeDatabase, type Place, type Stores } from './places.js';

/** Database for one test file, which is dropped at the end of the file. Each service in the database has its own prefix. */
export interface TestDurable {
  /** Returns a place that no service uses yet. */
  place(): Place;
  /** Returns stores over one connection for the whole file. */
  at(place: Place): Stores;
  /** Returns all rows of a collection, as the store has them. */
  rows(place: Place, collection: string): Promise<readonly Row[]>;
}

const servers = { POSTGRES_URL: 'PostgreSQL', MONGODB_URL: 'MongoDB' } as const;

/**
 * Registers a suite over the first of these servers whose URL is set. With `npm run prove`, registers the suite over each of these servers.
 * The test file has to name the variables.
 * @see withServer
 */
export function withDurable(variables: readonly (keyof typeof servers)[], suite: (durable: TestDurable) => void): void {
  const [first = 'POSTGRES_URL'] = variables;
  const chosen = process.env.PROVE ? variables : [variables.find((variable) => process.env[variable]) ?? first];
  for (const variable of chosen) withServer(variable, (url) => describe(`on ${servers[variable]}`, () => suite(durableAt(url))));
}

let databases = 0;

function durableAt(server: string): TestDurable {
  databases += 1;
  const name = `idp_durable_${process.pid}_${databases}_${Date.now().toString(36)}`;
  const url = databaseUrl(server, name);
  const connected = connect(url);
  beforeAll(() => makeDatabase(server, name));
  afterAll(async () => {
    await connected.close();
    await dropDatabase(server, name);
  });
  let places = 0;
  return {
    place() {
      places += 1;
      return { url, prefix: `p${places}_` };
    },
    at: ({ prefix }) => connected.stores(prefix),
    async rows({ prefix }, collection) {
      const { directory } = connected.stores(prefix);
      await directory.open([{ name: collection, indexes: {} }]);
      return directory.collection(collection).find({});
    },
  };
}
