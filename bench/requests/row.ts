/** Rows of the measurements. Each row has a script that one connection runs repeatedly. */
import type { Connection } from './connection.js';

/** One pass, which counts as one request. */
export interface Script {
  (): Promise<void>;
  /** Creates what this many passes use up, without counting. A slice has fewer passes. */
  readonly supply?: (passes: number) => Promise<void>;
}

export interface Row {
  readonly name: string;
  /** Aim for the ratio of this library's speed to oidc-provider's speed on a plain adapter. @default 1 */
  readonly goal?: number;
  /** Whether access tokens are JWTs. */
  readonly ofJwts?: boolean;
  /** Whether the server works after the answer. The bench waits for this work, so that no other slice contains it, and counts the CPU time of the work. */
  readonly settles?: boolean;
  /** Creates what the script needs, before anything is counted. */
  prepare(connection: Connection): Promise<Script>;
}
