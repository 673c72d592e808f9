import type { Cluster, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { ConfigError, type ConfigProblem } from '../../lib/errors.js';

const retryDelay = (attempt: number): number => Math.min(attempt * 50, 500) + Math.random() * 50;

const connectionOptions = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  disconnectTimeout: 200,
  maxLoadingRetryTime: 500,
  keepAlive: 10_000,
} as const satisfies RedisOptions;

/**
 * Options of ioredis for a single server or a server behind Sentinel, to spread into your own options. With these options, a call fails within 1.5 seconds
 * if the server is down or hangs. No command waits in a queue or is sent twice. The client always reconnects.
 */
export const redisOptions = {
  ...connectionOptions,
  enableOfflineQueue: false,
  sentinelCommandTimeout: 1000,
  retryStrategy: retryDelay,
  // The primary became a replica, so the client has to ask Sentinel or the name server for the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} as const satisfies RedisOptions;

/** Options of ioredis for a Cluster, with the same effects as `redisOptions`. */
export const redisClusterOptions = {
  enableOfflineQueue: false,
  clusterRetryStrategy: retryDelay,
  // Otherwise ioredis would send commands again that were sent before a connection broke.
  retryDelayOnFailover: 0,
  maxRedirections: 5,
  slotsRefreshInterval: 5000,
  scaleReads: 'master',
  redisOptions: connectionOptions,
} as const satisfies ClusterOptions;

/** The expected and the received value of an option. */
type Rule = readonly [path: string, isRight: boolean, expected: string, received: unknown];

/**
 * Refuses clients that would break a promise of the store: an answer within the deadline, and no command executed twice.
 * @throws ConfigError `invalid_options`
 */
export function checkOptions(client: Redis | Cluster, prefix: string): void {
  const problems = [...prefixRules(prefix), ...(client.isCluster ? clusterRules(client as Cluster) : redisRules(client as Redis))].flatMap(
    ([path, isRight, expected, received]): ConfigProblem[] => (isRight ? [] : [{ path, expected, received: String(received) }]),
  );
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}

const prefixRules = (prefix: string): Rule[] => [
  ['prefix', /^[^{}\s]{0,64}$/.test(prefix), 'at most 64 characters without braces and spaces', prefix],
];

const redisRules = ({ options }: Redis): Rule[] => [
  ['client.options.enableOfflineQueue', options.enableOfflineQueue === false, 'false, as in redisOptions', options.enableOfflineQueue],
  ...commonRules('client.options', options),
  ...connectionRules('client.options', options),
];

const clusterRules = ({ options }: Cluster): Rule[] => [
  [
    'client.options.enableOfflineQueue',
    options.enableOfflineQueue === false,
    'false, as in redisClusterOptions',
    options.enableOfflineQueue,
  ],
  ['client.options.retryDelayOnFailover', options.retryDelayOnFailover === 0, '0, as in redisClusterOptions', options.retryDelayOnFailover],
  ['client.options.scaleReads', options.scaleReads === 'master', "'master', as in redisClusterOptions", options.scaleReads],
  ...commonRules('client.options', options),
  ...connectionRules('client.options.redisOptions', options.redisOptions ?? {}),
];

/**
 * Returns the rules for every client. Auto-pipelining is refused, because a command would wait for the time-outs of two batches. In a Cluster, a command
 * would also fail when slots move (ioredis issue 2075).
 */
const commonRules = (
  path: string,
  { keyPrefix, enableAutoPipelining }: Pick<RedisOptions, 'keyPrefix' | 'enableAutoPipelining'>,
): Rule[] => [
  [`${path}.keyPrefix`, !keyPrefix, 'nothing: use the prefix of redisArtifacts', keyPrefix],
  [`${path}.enableAutoPipelining`, !enableAutoPipelining, 'false, because the store batches commands itself', enableAutoPipelining],
];

/**
 * Returns the rules for connections. Timers of ioredis drop healthy connections. The timer fires before an answer is read that arrived while this node
 * was busy.
 */
const connectionRules = (path: string, { autoResendUnfulfilledCommands, commandTimeout, socketTimeout }: RedisOptions): Rule[] => [
  [
    `${path}.autoResendUnfulfilledCommands`,
    autoResendUnfulfilledCommands === false,
    'false, as in redisOptions',
    autoResendUnfulfilledCommands,
  ],
  [`${path}.commandTimeout`, commandTimeout === undefined, 'nothing, because the store ends slow calls itself', commandTimeout],
  [`${path}.socketTimeout`, socketTimeout === undefined, 'nothing, because the store ends hanging connections itself', socketTimeout],
];
