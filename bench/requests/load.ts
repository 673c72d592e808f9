import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.js';
import type { Row, Script } from './row.js';

const CONNECTIONS = 16;
/** Passes for which a connection is supplied before each slice. A slice has fewer passes. */
const SUPPLY = 40;
/** Milliseconds of a check whether a participant still works. */
const LOOK_MS = 20;
/** Maximum milliseconds of a check that an idle participant works. */
const IDLE_MS = 2;
const MOST_LOOKS = 250;

/** A server that is measured. */
export interface Participant {
  readonly issuer: string;
  /** Issuer for rows of JWT access tokens, if they need their own configuration. */
  readonly jwtIssuer?: string | undefined;
  /** Returns the CPU time that the process has used, in microseconds. */
  cpuTime(): Promise<number>;
}

/** Result of one participant in one slice of time. */
export interface Slice {
  readonly perSecond: number;
  /** Microseconds of CPU time. */
  readonly cpuPerRequest: number;
}

/** Slice of requests over connections. */
export interface LoadSlice extends Slice {
  /** Milliseconds of each pass. */
  readonly latencies: readonly number[];
}

/** Connections to one participant, ready to run one row. */
export interface Load {
  /** Runs the script of every connection repeatedly. @param duration milliseconds. */
  run(duration: number): Promise<LoadSlice>;
  close(): void;
}

export async function prepareLoad({ cpuTime, ...participant }: Participant, row: Row): Promise<Load> {
  const issuer = (row.ofJwts ? participant.jwtIssuer : undefined) ?? participant.issuer;
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(issuer));
  const scripts: Script[] = [];
  for (const connection of connections) scripts.push(await row.prepare(connection));
  return {
    async run(duration) {
      await Promise.all(scripts.map((script) => script.supply?.(SUPPLY)));
      if (row.settles) await settled(cpuTime);
      const cpuBefore = await cpuTime();
      const latencies: number[] = [];
      const begin = performance.now();
      await Promise.all(
        scripts.map(async (script) => {
          let left = script.supply ? SUPPLY : Number.POSITIVE_INFINITY;
          for (let last = performance.now(); left > 0 && last - begin < duration; left -= 1) {
            await script();
            const now = performance.now();
            latencies.push(now - last);
            last = now;
          }
        }),
      );
      const elapsed = performance.now() - begin;
      const requests = latencies.length;
      if (row.settles) await settled(cpuTime);
      return { perSecond: (requests / elapsed) * 1000, cpuPerRequest: ((await cpuTime()) - cpuBefore) / requests, latencies };
    },
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

/** Resolves after a participant has finished its deferred work. */
async function settled(cpuTime: Participant['cpuTime']): Promise<void> {
  let before = await cpuTime();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    await pause(LOOK_MS);
    const after = await cpuTime();
    if (after - before <= IDLE_MS * 1000) return;
    before = after;
  }
}
