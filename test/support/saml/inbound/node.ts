/**
 * One of several nodes that receive messages of service providers and share a Redis. {@link startSamlNode} starts the node, which ends when
 * the process of its caller ends.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { createIdentityProvider } from 'tenant-idp';
import { redisArtifacts, redisOptions } from 'tenant-idp/adapters/redis';
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import { fromEverywhere } from '../../client/addresses.js';
import { testKeys } from '../../service/keys.js';
import { cheapPasswords, testSeed } from '../../service/seed.js';
import { type Registered, withServiceProviders } from './front-door.js';

interface Settings {
  readonly redis: string;
  readonly prefix: string;
  readonly issuer: string;
  readonly keys: SamlOptions['keys'];
  readonly registered: readonly Registered[];
}

export interface SamlNode {
  /** Origin at which the node answers. Requests have the issuer's `Host`. */
  readonly origin: string;
  kill(): void;
}

export async function startSamlNode(settings: Settings): Promise<SamlNode> {
  const node: ChildProcess = fork(new URL(import.meta.url), [JSON.stringify(settings)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(node, 'exit').then(() => Promise.reject(new Error('the node ended')));
  ended.catch(() => {});
  const [{ origin }] = (await Promise.race([once(node, 'message'), ended])) as [{ origin: string }];
  return { origin, kill: () => void node.kill('SIGKILL') };
}

if (process.send && process.argv[1] === new URL(import.meta.url).pathname) {
  process.on('disconnect', () => process.exit());
  const { redis, prefix, issuer, keys, registered } = JSON.parse(process.argv[2] ?? '') as Settings;
  const idp = await createIdentityProvider({
    issuer,
    artifacts: redisArtifacts({ client: new Redis(redis, redisOptions), prefix }),
    seed: testSeed,
    keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
    cookies: { keys: ['what the nodes of the tests sign cookies with'] },
    subjectSalt: 'salt of the test tenant identities',
    passwords: cheapPasswords,
    // Forms of one network count as invalid until they are verified. The limit would refuse many concurrent forms.
    trustProxy: fromEverywhere(),
    logger: { debug() {}, info() {}, warn() {}, error: console.error },
    extensions: [withServiceProviders(saml(keys ? { keys } : {}), () => registered)],
  });
  const server = await idp.listen(0, '127.0.0.1');
  process.send({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
