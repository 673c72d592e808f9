import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.js';
import type { Row, Script } from './row.js';

const CONNECTIONS = 16;
/** Passes that a connection is supplied for before each slice: more than a slice has. */
const SUPPLY = 40;
/** Milliseconds of a look at whether a participant still works. */
const LOOK_MS = 20;
/** Of those, the most that one works that has nothing to do. */
const IDLE_MS = 2;
const MOST_LOOKS = 250;

/** A server under measurement. */
export interface Participant {
  readonly issuer: string;
  /** Serves rows of JWT access tokens, where that takes a configuration of its own. */
  readonly jwtIssuer?: string | undefined;
  /** CPU time that its process has used so far, in microseconds. */
  cpuTime(): Promise<number>;
}

/** What one participant did in one slice of time. */
export interface Slice {
  readonly perSecond: number;
  /** Microseconds of CPU time. */
  readonly cpuPerRequest: number;
}

/** The connections to one participant, ready to run one row. */
export interface Load {
  /** Every connection runs its script again and again. @param duration milliseconds. */
  run(duration: number): Promise<Slice>;
  close(): void;
}

export async function prepareLoad({ cpuTime, ...participant }: Participant, row: Row): Promise<Load> {
  const issuer = (row.ofJwts ? participant.jwtIssuer : undefined) ?? participant.issuer;
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection(issuer));
  const scripts: Script[] = [];
  for (const connection of connections) scripts.push(await row.prepare(connection, issuer));
  return {
    async run(duration) {
      await Promise.all(scripts.map((script) => script.supply?.(SUPPLY)));
      if (row.settles) await settled(cpuTime);
      const cpuBefore = await cpuTime();
      const begin = performance.now();
      const counts = await Promise.all(
        scripts.map(async (script) => {
          const most = script.supply ? SUPPLY : Number.POSITIVE_INFINITY;
          let count = 0;
          for (; count < most && performance.now() - begin < duration; count += 1) await script();
          return count;
        }),
      );
      const elapsed = performance.now() - begin;
      const requests = counts.reduce((sum, count) => sum + count, 0);
      if (row.settles) await settled(cpuTime);
      return { perSecond: (requests / elapsed) * 1000, cpuPerRequest: ((await cpuTime()) - cpuBefore) / requests };
    },
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

/** Resolves once a participant has done what it put off. */
async function settled(cpuTime: Participant['cpuTime']): Promise<void> {
  let before = await cpuTime();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    await pause(LOOK_MS);
    const after = await cpuTime();
    if (after - before <= IDLE_MS * 1000) return;
    before = after;
  }
}
