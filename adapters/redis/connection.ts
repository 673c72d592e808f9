import type { Cluster, Redis } from 'ioredis';
import { slotOfKey } from '../../lib/store/artifact-key.js';
import type { ArtifactKey } from '../../lib/store/artifact-store.js';
import { inTime } from './deadline.js';
import type { Script } from './script.js';

/** The commands of this store. A failed command is not sent again, except a script that the server did not know. */
export interface Connection {
  readonly isCluster: boolean;
  /** Divides keys into groups that one command may name. In a Cluster, a group has the keys of one slot. Otherwise one group has all keys. */
  together(keys: readonly ArtifactKey[]): (readonly ArtifactKey[])[];
  get(key: string): Promise<string | null>;
  mget(keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** @returns null if the key exists. */
  setNew(key: string, text: string, expiresAt: number): Promise<'OK' | null>;
  /** Returns members of a sorted set whose score is greater. */
  membersAfter(key: string, score: number): Promise<readonly string[]>;
  removeMembers(key: string, members: readonly string[]): Promise<unknown>;
  /** @param count number of parameters, from the first, that are keys. */
  run(script: Script, count: number, parameters: readonly string[]): Promise<unknown>;
}

export function createConnection(client: Redis | Cluster): Connection {
  // A client has no stream before it connects. Only the kind of the client shows that the client will have one stream.
  const batch = client.isCluster ? () => {} : batching(client as Redis);
  return {
    isCluster: client.isCluster,
    together(keys) {
      if (keys.length === 0) return [];
      return client.isCluster ? groupBySlot(keys) : [keys];
    },
    get(key) {
      batch();
      return inTime(client.get(key));
    },
    mget(keys) {
      batch();
      return inTime(client.mget(keys as string[]));
    },
    setNew(key, text, expiresAt) {
      batch();
      return inTime(client.set(key, text, 'PXAT', expiresAt, 'NX'));
    },
    membersAfter: (key, score) => inTime(client.zrange(key, `(${score}`, '+inf', 'BYSCORE')),
    removeMembers: (key, members) => inTime(client.zrem(key, ...members)),
    run({ sha, lua }, count, parameters) {
      batch();
      return inTime(client.evalsha(sha, count, parameters as string[])).catch((error: unknown) => {
        if (isUnknownScript(error)) return inTime(client.eval(lua, count, parameters as string[]));
        throw error;
      });
    },
  };
}

/**
 * Sends the commands of one callback of the event loop, and of the promises that the callback settled, in one write. The commands are all commands that
 * follow the replies of one packet. Waiting for the other callbacks of a turn costs more than it saves, because the server is idle during the wait.
 * Auto-pipelining of ioredis has one batch under way at a time. A command may therefore wait for the time-out of the batch before it.
 */
function batching(client: Redis): () => void {
  let corked: Redis['stream'] | undefined;
  const release = () => {
    corked?.uncork();
    corked = undefined;
  };
  return () => {
    if (corked) return;
    corked = client.stream;
    if (!corked) return;
    corked.cork();
    process.nextTick(release);
  };
}

function groupBySlot(keys: readonly ArtifactKey[]): ArtifactKey[][] {
  const slots = new Map<string, ArtifactKey[]>();
  for (const key of keys) {
    const slot = slotOfKey(key);
    const group = slots.get(slot);
    if (group) group.push(key);
    else slots.set(slot, [key]);
  }
  return [...slots.values()];
}

const isUnknownScript = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT');
