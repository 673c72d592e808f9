/**
 * Challenges of passkeys. They are made without a store, because each sign-in page has one: a time, a nonce, and a keyed hash that binds them to what
 * they are for. What is kept is that one was answered.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { ExtensionContext } from '../../../lib/extension-door.js';
import { spentChallenges } from '../records.js';

const LIFETIME_MS = 600_000;
/** Tolerance, because nodes know the shared time only to within some seconds. */
const SKEW_MS = 60_000;
const STAMP_BYTES = 6;
const NONCE_BYTES = 16;
const HASH_BYTES = 32;

export type Challenges = ReturnType<typeof createChallenges>;

export function createChallenges({
  keys: { seal },
  records: { artifact },
  service: { now },
}: Pick<ExtensionContext, 'keys' | 'records' | 'service'>) {
  const key = seal('factors challenge');
  const hashesOf = (subject: string, head: Buffer) => key.hashes(`${head.toString('base64url')} ${subject}`);
  return {
    /** @param subject what it is for: the sign-in, its browser, the user. */
    make(subject: string): string {
      const stamp = Buffer.alloc(STAMP_BYTES);
      stamp.writeUIntBE(now(), 0, STAMP_BYTES);
      const head = Buffer.concat([stamp, randomBytes(NONCE_BYTES)]);
      return Buffer.concat([head, Buffer.from(hashesOf(subject, head)[0], 'base64url')]).toString('base64url');
    },

    /** Spends one of ours for the subject, not older than ten minutes. False for any other, and for one that was answered before. */
    async spend(subject: string, challenge: string): Promise<boolean> {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== STAMP_BYTES + NONCE_BYTES + HASH_BYTES || bytes.toString('base64url') !== challenge) return false;
      const head = bytes.subarray(0, STAMP_BYTES + NONCE_BYTES);
      const hash = bytes.subarray(STAMP_BYTES + NONCE_BYTES);
      const isOurs = hashesOf(subject, head).some((one) => timingSafeEqual(Buffer.from(one, 'base64url'), hash));
      const age = now() - head.readUIntBE(0, STAMP_BYTES);
      return isOurs && age <= LIFETIME_MS && age >= -SKEW_MS && artifact(spentChallenges).put(challenge, {});
    },
  };
}
