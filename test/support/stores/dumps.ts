/** Stores whose whole content tests can read, as an attacker with a copy of the store would. */
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { collections } from '../../../lib/store/records/collections.js';
import { redisClient } from './redis-clients.js';

export interface DumpedStore<Store> {
  readonly store: Store;
  /** Returns the whole content, each piece unchanged: keys, names, values, documents. */
  dump(): Promise<unknown[]>;
  /** Removes the whole content from the server, and disconnects. */
  end(): Promise<void>;
}

const nothing = async () => {};

export function dumpedMemoryArtifacts(): DumpedStore<ArtifactStore> {
  const memory = memoryArtifacts();
  const kept: unknown[] = [];
  const store: ArtifactStore = {
    ...memory,
    commit(writes) {
      kept.push(...writes);
      return memory.commit(writes);
    },
    hit(counter, ...rest) {
      kept.push(counter);
      return memory.hit(counter, ...rest);
    },
    lease(name, holder, ttl) {
      kept.push(name, holder);
      return memory.lease(name, holder, ttl);
    },
  };
  return { store, dump: async () => [...kept], end: nothing };
}

export function dumpedMemoryDirectory(): DumpedStore<DirectoryStore> {
  const store = memoryDirectory();
  return {
    store,
    dump: async () => (await Promise.all(Object.values(collections).map(({ name }) => store.collection(name).find({})))).flat(),
    end: nothing,
  };
}

export function dumpedRedisArtifacts(url: string): DumpedStore<ArtifactStore> {
  const client = redisClient(url);
  const prefix = `dump-${randomUUID()}:`;
  const keys = async () => {
    const found: string[] = [];
    for await (const some of client.scanStream({ match: `${prefix}*`, count: 1000 })) found.push(...(some as string[]));
    return [...new Set(found)];
  };
  const contentOf = async (key: string): Promise<unknown> => {
    const type = await client.type(key);
    if (type === 'string') return client.get(key);
    if (type === 'hash') return client.hgetall(key);
    if (type === 'zset') return client.zrange(key, '0', '-1');
    if (type === 'set') return client.smembers(key);
    if (type === 'list') return client.lrange(key, 0, -1);
    if (type === 'none') return [];
    throw new Error(`A ${type} is not looked into.`);
  };
  return {
    store: redisArtifacts({ client, prefix }),
    async dump() {
      return Promise.all((await keys()).map(async (key) => ({ [key.slice(prefix.length)]: await contentOf(key) })));
    },
    async end() {
      for (const key of await keys()) await client.del(key);
      client.disconnect();
    },
  };
}

function dumpedMongo<Store>(url: string, make: (options: { db: ReturnType<MongoClient['db']> }) => Store): DumpedStore<Store> {
  const client = new MongoClient(url, mongoOptions);
  const db = client.db(`dump_${randomUUID().replaceAll('-', '')}`);
  return {
    store: make({ db }),
    async dump() {
      const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      const rowsOf = async (name: string) => (await db.collection(name).find().toArray()).map((row) => ({ [name]: row }));
      return (await Promise.all(names.map(rowsOf))).flat();
    },
    async end() {
      await db.dropDatabase();
      await client.close();
    },
  };
}
export const dumpedMongoArtifacts = (url: string): DumpedStore<ArtifactStore> => dumpedMongo(url, mongoArtifacts);
export const dumpedMongoDirectory = (url: string): DumpedStore<DirectoryStore> => dumpedMongo(url, mongoDirectory);

/** Length of the shortest examined string. Shorter strings are public words: scopes, names of clients, `pwd`. */
const SHORTEST = 8;

/** Returns each string, and all its parts between separators. Strings in JSON texts and in binary values are included. */
export function stringsOf(pieces: readonly unknown[]): string[] {
  const strings = new Set<string>();
  const add = (text: string): void => {
    if (text.length < SHORTEST || strings.has(text)) return;
    strings.add(text);
    for (const part of text.split(/[^\w+/=.-]+|[.]/)) if (part !== text) add(part);
    for (const part of text.split(/[^A-Za-z0-9_-]+/)) if (part !== text) add(part);
    if (/^[[{"]/.test(text)) {
      try {
        walk(JSON.parse(text));
      } catch {
        // The text is not JSON.
      }
    }
  };
  const walk = (value: unknown): void => {
    if (typeof value === 'string') add(value);
    else if (Buffer.isBuffer(value) || (value as { _bsontype?: string } | null)?._bsontype === 'Binary') {
      const bytes = Buffer.isBuffer(value) ? value : Buffer.from((value as { buffer: Uint8Array }).buffer);
      for (const encoding of ['utf8', 'base64url', 'hex'] as const) add(bytes.toString(encoding));
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        add(name);
        walk(member);
      }
    }
  };
  for (const piece of pieces) walk(piece);
  return [...strings];
}
