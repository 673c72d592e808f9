import { Connection } from './connection.js';
import type { Row, Script } from './rows.js';

const CONNECTIONS = 16;

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
      const cpuBefore = await cpuTime();
      const begin = performance.now();
      const counts = await Promise.all(
        scripts.map(async (script) => {
          let count = 0;
          for (; performance.now() - begin < duration; count += 1) await script();
          return count;
        }),
      );
      const elapsed = performance.now() - begin;
      const requests = counts.reduce((sum, count) => sum + count, 0);
      return { perSecond: (requests / elapsed) * 1000, cpuPerRequest: ((await cpuTime()) - cpuBefore) / requests };
    },
    close() {
      for (const connection of connections) connection.close();
    },
  };
}
