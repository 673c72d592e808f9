/**
 * Challenges of passkeys. Each sign-in page has a challenge, so challenges are created without a store. A challenge is a time, a nonce, and a keyed hash
 * that binds time and nonce to the subject. The store only records that a challenge was used.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { ExtensionContext } from '../../../lib/extension-door.js';
import { spentChallenges } from '../records.js';

const LIFETIME_MS = 600_000;
/** Tolerance in milliseconds, because the clocks of nodes differ by some seconds. */
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
    /** Returns a new challenge. @param subject sign-in, browser and user of the challenge */
    make(subject: string): string {
      const stamp = Buffer.alloc(STAMP_BYTES);
      stamp.writeUIntBE(now(), 0, STAMP_BYTES);
      const head = Buffer.concat([stamp, randomBytes(NONCE_BYTES)]);
      return Buffer.concat([head, Buffer.from(hashesOf(subject, head)[0], 'base64url')]).toString('base64url');
    },

    /** Uses up a challenge of the subject. Returns false for a foreign or used challenge, and for a challenge older than ten minutes. */
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
