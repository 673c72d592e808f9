/** Work of an extension outside requests: deliveries, jobs, sealed values, health. */
import type { JsonWebKeyInput } from 'node:crypto';
import type { Awaitable } from '../awaitable.js';
import type { ConfigProblem } from '../errors.js';
import type { Delivery } from '../store/records/records.js';

/** Reports a problem of the extension's options. `path` starts at the extension: `['retries']`. */
export type ReportProblem = (
  problem: { readonly path?: readonly (string | number)[] } & Pick<ConfigProblem, 'expected' | 'received'>,
) => void;

/** A problem of one extension. The other extensions continue. */
export interface ExtensionProblem {
  /** A stable code of the problem. */
  readonly code: string;
  /** Id of the affected thing, such as a row. @default '' */
  readonly id?: string;
}

/** Handles a delivery, at least once. If the handler rejects, the delivery is retried after 5 seconds, 30 seconds, and so on for about eight hours. */
export type DeliveryHandler = (delivery: Pick<Delivery, 'id' | 'data' | 'attempts'>) => Promise<void>;

/** A kind of deliveries with its own times of retries. */
export interface DeliveryKind {
  readonly take: DeliveryHandler;
  /**
   * Seconds before the second attempt, the third attempt, and so on: 1 to 86400 each. After the last attempt, the delivery is in
   * `directory.deliveries.dead()`.
   */
  readonly retryAfterSeconds: readonly number[];
}

/** One round of a job. */
export interface JobRound {
  /** Signal that is aborted when the service closes, or when another node may have the lease of the job. */
  readonly signal: AbortSignal;
  /**
   * Returns whether this node may work on the row. False while this node works on the row, and while the row is set aside after a failure. With a
   * `version`, a change of the row ends the time that the row is set aside.
   */
  isReady(row: { readonly id: string; readonly version?: number }): boolean;
  /** Returns whether the job works on as many rows as its `atOnce` allows. */
  isFull(): boolean;
  /**
   * Starts work on a row that is ready, outside the round, as soon as there is room. If the work rejects, it is logged once. The row is then set aside, for
   * longer each time, until the work succeeds. `health()` names the row.
   * @returns whether the work started
   */
  attempt(row: { readonly id: string; readonly version?: number }, work: () => Promise<void>): Promise<boolean>;
}

/** Periodic work, on one node at a time. */
export interface Job {
  /** The extension's name, a dot, and a name: `notes.reminders`. */
  readonly name: string;
  /** Seconds from one round to the next, 1 to 86400. A round that takes longer delays the next. */
  readonly intervalSeconds: number;
  /** Maximum rows that {@link JobRound.attempt} works on at the same time. @default 1 */
  readonly atOnce?: number;
  /** Runs one round. Failures are logged once until a round succeeds, and the next round runs anyway. */
  run(round: JobRound): Awaitable<void>;
}

/** Values of one purpose, encrypted and hashed under the service's encryption keys (`keys.encryption`). */
export interface Seal {
  /** Encrypts a value of a record. The value can be decrypted only for the same purpose and record. */
  seal(record: string, value: string): string;
  /**
   * Decrypts a value. @throws IdpError `undecipherable` if the text was altered, belongs to another purpose or record, or its encryption key is missing.
   */
  open(record: string, sealed: string): string;
  /** Returns whether the value was encrypted under the newest encryption key. If not, encrypt the value again. */
  isCurrent(sealed: string): boolean;
  /**
   * Returns keyed hashes of a value (HMAC-SHA-256, base64url), one for each hash key, newest first. Store or send the first hash, and accept any of the
   * hashes.
   */
  hashes(value: string): readonly [string, ...string[]];
}

/** A signature of bytes, in the form of JWS, with the public key that verifies the signature. @see RFC 7518 §3.3, §3.4 */
export interface Signature {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  readonly signature: Buffer;
  /** A public JWK. */
  readonly publicKey: JsonWebKeyInput['key'];
}
