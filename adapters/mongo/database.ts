import type { Collection, CollectionOptions, Db, Document } from 'mongodb';
import { ConfigError } from '../../lib/errors.js';
import { checkClient } from './client-options.js';
import { inTime } from './deadline.js';

export interface MongoOptions {
  /** Database of a `MongoClient`. The host closes the client. */
  readonly db: Db;
  /** Prefix of the names of all collections. @default `idp_` */
  readonly prefix?: string;
}

export interface Database {
  collection<D extends Document>(name: string): Collection<D>;
  /** @throws IdpError `store_unfit` for a client with unfit options; Error if the server cannot be reached. */
  check(): Promise<void>;
  /** Rejects if the server cannot be reached. */
  ping(): Promise<void>;
  /** Returns the server's time, in milliseconds since the epoch. */
  time(): Promise<number>;
}

/** Overrides the concerns of the client: conditions are checked on the primary, and acknowledged writes survive a failover. */
const options: CollectionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'local' },
  writeConcern: { w: 'majority', journal: true },
  promoteLongs: true,
  promoteValues: true,
  useBigInt64: false,
  raw: false,
};

/** @throws ConfigError */
export function createDatabase({ db, prefix = 'idp_' }: MongoOptions): Database {
  if (typeof db?.collection !== 'function') {
    throw new ConfigError('invalid_options', [{ path: 'db', expected: "a Db of the driver 'mongodb': new MongoClient(url).db()" }]);
  }
  if (!/^\w[\w.-]{0,63}$|^$/.test(prefix) || prefix.startsWith('system.')) {
    throw new ConfigError('invalid_options', [
      { path: 'prefix', expected: "at most 64 letters, digits, '_', '-' and '.', the first a letter, digit or '_'", received: prefix },
    ]);
  }
  return {
    collection: <D extends Document>(name: string) => db.collection<D>(prefix + name, options),
    check: () => checkClient(db),
    time: () => inTime(async (bounds) => ((await db.command({ hello: 1 }, bounds)).localTime as Date).getTime()),
    ping: () => inTime(async (bounds) => void (await db.command({ ping: 1 }, bounds))),
  };
}

/** Returns whether the error is a duplicate. The server does not report which index caused the duplicate. */
export const isDuplicate = (error: unknown): boolean => (error as { code?: unknown } | undefined)?.code === 11_000;
