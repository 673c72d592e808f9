/**
 * Ends connections on which an answer is overdue. A server that hangs then gets no commands until it answers a new connection. `socketTimeout` of ioredis
 * would also end healthy connections, because its timer fires before Node.js reads a socket that waited for a busy process.
 */
import type { Cluster, Redis } from 'ioredis';
import { DEADLINE_MS } from './deadline.js';

/** Milliseconds between two checks. */
const TICK_MS = 100;
/** Maximum milliseconds that count between two checks, because the node may have been busy. */
const MAX_STEP_MS = 2 * TICK_MS;

/** Time since which a connection owes an answer, without a byte of the answer. */
interface Owing {
  readonly bytesRead: number;
  readonly milliseconds: number;
}

/** @returns a function that stops the checks. */
export function endSilentConnections(client: Redis | Cluster): () => void {
  const owing = new WeakMap<object, Owing>();
  let lookedAt = performance.now();

  const lookAt = ({ stream, commandQueue, status }: Redis, passed: number): void => {
    if (!stream || status === 'connecting') return;
    const { bytesRead } = stream as { bytesRead?: number };
    const before = owing.get(stream);
    const isSilent = commandQueue.length > 0 && before?.bytesRead === bytesRead;
    const milliseconds = isSilent ? (before?.milliseconds ?? 0) + passed : 0;
    owing.set(stream, { bytesRead: bytesRead ?? 0, milliseconds });
    if (milliseconds >= DEADLINE_MS) stream.destroy(new Error(`Redis did not answer for ${DEADLINE_MS} ms.`));
  };
  const look = (): void => {
    const now = performance.now();
    const passed = Math.min(now - lookedAt, MAX_STEP_MS);
    lookedAt = now;
    for (const connection of 'nodes' in client ? client.nodes() : [client]) lookAt(connection, passed);
  };
  // Node.js reads sockets between a timer and the immediate that the timer sets.
  const timer = setInterval(() => setImmediate(look), TICK_MS).unref();
  return () => clearInterval(timer);
}
