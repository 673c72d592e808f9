import type { Cluster, Redis } from 'ioredis';
import { IdpError } from '../../lib/errors.js';
import { inTime } from './deadline.js';

/** Milliseconds in which a server has to start, because it may start together with the service. */
const START_TIMEOUT_MS = 5000;

/** The first version with SET … PXAT and ZADD … GT. */
const oldestVersion = [6, 2] as const;

/**
 * Resolves when commands can be sent.
 * @throws IdpError `store_unavailable`
 */
export async function ready(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') return;
  let cause: unknown;
  const note = (error: unknown) => {
    cause = error;
  };
  client.on('error', note);
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new IdpError('store_unavailable', { store: 'redis', status: client.status }, { cause }));
      const timer = setTimeout(fail, START_TIMEOUT_MS);
      const settled = () => {
        clearTimeout(timer);
        client.off('ready', settled).off('end', settled);
        if (client.status === 'ready') resolve();
        else fail();
      };
      client.on('ready', settled).on('end', settled);
      if (client.status === 'end') settled();
      if (client.status === 'wait') client.connect().catch(note);
    });
  } finally {
    client.off('error', note);
  }
}

/** Returns the server, or each primary of a Cluster that has slots. */
export function primariesOf(client: Redis | Cluster): Redis[] {
  if (!('slots' in client)) return [client];
  const nodes = new Map(client.nodes('master').map((node) => [`${node.options.host}:${node.options.port}`, node]));
  // The pool removes a server whose connection broke, but the slots still name the server.
  return [...new Set(client.slots.map(([primary]) => primary))].map((primary) => {
    const node = primary === undefined ? undefined : nodes.get(primary);
    if (node === undefined) throw new Error(`There is no connection to ${primary}.`);
    return node;
  });
}

/**
 * Refuses a server that would drop records, or that does not know the commands.
 * @throws IdpError `store_unfit`
 */
export async function checkServer(server: Redis): Promise<void> {
  const info = await inTime(server.info()).catch((error: unknown) => {
    // A hosted server may refuse this command.
    if (error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message)) return '';
    throw error;
  });
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];

  const version = field('redis_version');
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? oldestVersion;
  const [oldestMajor, oldestMinor] = oldestVersion;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new IdpError('store_unfit', {
      store: 'redis',
      setting: 'redis_version',
      found: version,
      expected: `${oldestVersion.join('.')} or later`,
    });
  }
  // Checked even while memory is unlimited, because a later maximum would lose sessions, and let codes be used twice.
  const policy = field('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    throw new IdpError('store_unfit', {
      store: 'redis',
      setting: 'maxmemory-policy',
      found: policy,
      expected: 'noeviction',
      change: 'CONFIG SET maxmemory-policy noeviction, or a server of its own',
    });
  }
}
