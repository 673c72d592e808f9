/** One of several processes that serve one issuer over shared stores. `nodes.ts` starts the node, which ends when its parent ends. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { type ArtifactStore, createDrain, createIdentityProvider } from 'tenant-idp';
import { redisArtifacts, redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';
import { callLoopback } from '../client/receivers/logout-receiver.js';
import { type Connected, connect, databaseUrl, type Stores } from '../stores/places.js';
import { testKeys } from './keys.js';
import type { FromNode, NodeSettings, ToNode } from './nodes.js';
import { cheapPasswords } from './seed.js';

const tell = (message: FromNode) => process.send?.(message);
process.on('disconnect', () => process.exit());
process.on('message', ({ busyFor }: ToNode) => {
  for (const until = performance.now() + busyFor; performance.now() < until; ) {}
});

const { issuer, artifacts, directory, space, seed, options } = JSON.parse(process.argv[2] ?? '') as NodeSettings;

/** One connection for each database. */
const connections = new Map<string, Connected>();
function durableAt(url: string): Stores {
  const connected = connections.get(url) ?? connect(databaseUrl(url, space));
  connections.set(url, connected);
  return connected.stores('idp_');
}

function artifactsAt(urls: string): ArtifactStore {
  if (!urls.startsWith('redis')) return durableAt(urls).artifacts;
  const client = urls.includes(',') ? new Cluster(urls.split(','), redisClusterOptions) : new Redis(urls, redisOptions);
  client.on('error', () => {}); // ioredis would print the error, which the store reports
  return redisArtifacts({ client, prefix: `${space}:` });
}

const log = (...data: unknown[]) => tell({ logged: data.map((part) => (typeof part === 'string' ? part : inspect(part))).join(' ') });

const idp = await createIdentityProvider({
  issuer,
  artifacts: artifactsAt(artifacts),
  ...(directory === undefined ? {} : { directory: durableAt(directory).directory }),
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
