/** What is measured: for each row a script that one connection runs again and again. */
import type { Connection } from './connection.js';

/** One pass, counted as one request. */
export interface Script {
  (): Promise<void>;
  /** Gets what so many passes use up, uncounted. A slice has no more passes than that. */
  readonly supply?: (passes: number) => Promise<void>;
}

export interface Row {
  readonly name: string;
  /** How many times as fast as oidc-provider on a plain adapter ours must be; 1 where nothing is said. */
  readonly goal?: number;
  /** Whether access tokens are JWTs. */
  readonly ofJwts?: boolean;
  /** Whether work goes on after the answer: it is waited for, so that it is in nobody else's slice, and its CPU time counts. */
  readonly settles?: boolean;
  /** What a script of its own needs is got here, before anything is counted. */
  prepare(connection: Connection, issuer: string): Promise<Script>;
}
