/** What an extension does beside answering requests: deliveries, jobs, sealed values, health. */
import type { JsonWebKeyInput } from 'node:crypto';
import type { Awaitable } from '../awaitable.js';
import type { ConfigProblem } from '../errors.js';
import type { Delivery } from '../store/records/records.js';

/** Tells of something that is wrong with the options of an extension. `path` is within the extension: `['retries']`. */
export type ReportProblem = (
  problem: { readonly path?: readonly (string | number)[] } & Pick<ConfigProblem, 'expected' | 'received'>,
) => void;

/** What is wrong with an extension, that stops nobody else. */
export interface ExtensionProblem {
  /** A stable name for what is wrong. */
  readonly code: string;
  /** What it is wrong with, such as the id of a row. @default '' */
  readonly id?: string;
}

/** Takes what was delivered, at least once: what it rejects is delivered again, after 5 seconds, 30 seconds, and so on for about eight hours. */
export type DeliveryHandler = (delivery: Pick<Delivery, 'id' | 'data' | 'attempts'>) => Promise<void>;

/** A kind of deliveries that is tried again at times of its own. */
export interface DeliveryKind {
  readonly take: DeliveryHandler;
  /** Seconds before the second attempt, the third …, 1 to 86400 each; after the last, a delivery is among `directory.deliveries.dead()`. */
  readonly retryAfterSeconds: readonly number[];
}

/** One round of a job. */
export interface JobRound {
  /** Aborted when the service closes, or another node may have taken over. */
  readonly signal: AbortSignal;
  /**
   * Whether nobody works on the row here, and it is not left alone because it failed. With a `version`, a change of the row ends the time that it is left
   * alone.
   */
  isReady(row: { readonly id: string; readonly version?: number }): boolean;
  /** Whether as many rows are worked on as `atOnce` of the job allows. */
  isFull(): boolean;
  /**
   * Begins to work on a row that is ready, beside the round, as soon as a place is free. A row whose work rejects is logged once, and left alone for longer
   * each time until it succeeds; `health()` names it.
   * @returns whether the work began
   */
  attempt(row: { readonly id: string; readonly version?: number }, work: () => Promise<void>): Promise<boolean>;
}

/** Work that comes round, on one node at a time. */
export interface Job {
  /** The extension's name, a dot, and a name of its own: `notes.reminders`. */
  readonly name: string;
  /** Seconds from one round to the next, 1 to 86400; a round that takes longer delays the next. */
  readonly intervalSeconds: number;
  /** Rows that {@link JobRound.attempt} works on at the same time, at most. @default 1 */
  readonly atOnce?: number;
  /** Does one round. A round that throws is logged once until one succeeds, and the next round comes nevertheless. */
  run(round: JobRound): Awaitable<void>;
}

/** Values of one purpose, encrypted and hashed under the service's keys (`keys.encryption`). */
export interface Seal {
  /** Encrypts a value of a record: it opens for the same purpose and record alone. */
  seal(record: string, value: string): string;
  /** @throws IdpError `undecipherable` when the text was altered, belongs elsewhere, or its key is gone. */
  open(record: string, sealed: string): string;
  /** Whether it was sealed under the newest key; one that was not is due to be sealed again. */
  isCurrent(sealed: string): boolean;
  /** Keyed hashes of a value (HMAC-SHA-256, base64url), under each key, newest first: give out or keep the first, take any. */
  hashes(value: string): readonly [string, ...string[]];
}

/** A signature over bytes, as JWS has it, and the key that verifies it. @see RFC 7518 §3.3, §3.4 */
export interface Signature {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  readonly signature: Buffer;
  /** A public JWK. */
  readonly publicKey: JsonWebKeyInput['key'];
}
