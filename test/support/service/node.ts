/** One of several processes that serve one issuer over stores they share. Started by `nodes.ts`; ends when that process does. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { type ArtifactStore, createDrain, createIdentityProvider, type DirectoryStore } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { redisArtifacts, redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';
import { callLoopback } from '../client/receivers/logout-receiver.js';
import { testKeys } from './keys.js';
import type { FromNode, NodeSettings, ToNode } from './nodes.js';
import { cheapPasswords } from './seed.js';

const tell = (message: FromNode) => process.send?.(message);
process.on('disconnect', () => process.exit());
process.on('message', ({ busyFor }: ToNode) => {
  for (const until = performance.now() + busyFor; performance.now() < until; ) {}
});

const { issuer, artifacts, directory, space, seed, options } = JSON.parse(process.argv[2] ?? '') as NodeSettings;

/** One client for each server, its connections there before many requests need them at once. */
const mongoClients = new Map<string, MongoClient>();
const databaseAt = (url: string) => {
  const client = mongoClients.get(url) ?? new MongoClient(url, { ...mongoOptions, minPoolSize: 8, maxPoolSize: 8, maxConnecting: 8 });
  mongoClients.set(url, client);
  return client.db(space);
};

function artifactsAt(urls: string): ArtifactStore {
  if (urls.startsWith('mongodb')) return mongoArtifacts({ db: databaseAt(urls) });
  const client = urls.includes(',') ? new Cluster(urls.split(','), redisClusterOptions) : new Redis(urls, redisOptions);
  client.on('error', () => {}); // ioredis would print it; the store tells it
  return redisArtifacts({ client, prefix: `${space}:` });
}

const directoryAt = (url: string): DirectoryStore => mongoDirectory({ db: databaseAt(url) });

const log = (...data: unknown[]) => tell({ logged: data.map((part) => (typeof part === 'string' ? part : inspect(part))).join(' ') });

const idp = await createIdentityProvider({
  issuer,
  artifacts: artifactsAt(artifacts),
  ...(directory === undefined ? {} : { directory: directoryAt(directory) }),
  seed,
  keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
  cookies: { keys: ['what the nodes of the tests sign cookies with'] },
  subjectSalt: 'salt of the test tenant identities',
  passwords: cheapPasswords,
  outgoing: callLoopback,
  logger: { debug: () => {}, info: () => {}, warn: log, error: log },
  ...options,
});
const server = createServer(idp.callback());
server.keepAliveTimeout = 0; // the front keeps its connections
const drain = createDrain(server);
process.once('SIGTERM', async () => {
  await drain();
  await idp.close();
  process.exit();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
tell({ port: (server.address() as AddressInfo).port });
