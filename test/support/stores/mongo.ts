import { afterAll } from '@jest/globals';
import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { mongoOptions } from 'tenant-idp/adapters/mongo';
import { withServer } from '../../servers/when.js';
import { databaseUrl } from './places.js';

/** Database for one test file, dropped at the end of the file. Its stores have prefixes, because making a database takes long. */
export interface TestMongo {
  readonly url: string;
  readonly database: string;
  /** URL of the server, with the name of the database. */
  readonly urlOfDatabase: string;
  /** Database of one client for the whole file. */
  readonly db: Db;
  /** Connects another client, as another node would. `at` replaces the server's `host:port`. */
  connect(options?: MongoClientOptions, at?: string): Promise<Db>;
  /** Returns a prefix that no store uses yet. */
  prefix(): string;
}

/** Options that make connections before many calls need them at the same time, because machines that run tests make them slowly. */
const pool: MongoClientOptions = { ...mongoOptions, minPoolSize: 8, maxPoolSize: 8, maxConnecting: 8 };

/** Registers a suite over a MongoDB server or one that is compatible with it; see `withServer`. */
export const withMongo = (variable: 'MONGODB_URL', suite: (mongo: TestMongo) => void): void =>
  withServer(variable, (url) => suite(mongoAt(url)));

function mongoAt(url: string): TestMongo {
  const client = new MongoClient(url, pool);
  const clients = [client];
  const database = `idp_test_${process.pid}_${Date.now().toString(36)}`;
  let prefixes = 0;
  afterAll(async () => {
    await client.db(database).dropDatabase();
    await Promise.all(clients.map((one) => one.close()));
  });
  return {
    url,
    database,
    urlOfDatabase: databaseUrl(url, database),
    db: client.db(database),
    async connect(options = {}, at = new URL(url).host) {
      const other = new MongoClient(url.replace(new URL(url).host, at), { ...pool, ...options });
      clients.push(other);
      return (await other.connect()).db(database);
    },
    prefix() {
      prefixes += 1;
      return `p${prefixes}_`;
    },
  };
}
