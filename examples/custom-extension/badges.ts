import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Extension } from 'tenant-idp/extension';

/** `grant_type` of the clients. */
export const badgeGrant = 'urn:example:badge';

/** Seconds for which a reading is valid. */
const FRESH_SECONDS = 60;

interface Reading {
  /** Id of the user whose badge was read. */
  readonly oid: string;
  /** Time of the reading, in seconds since the epoch. */
  readonly at: number;
}

const macOf = (text: string, key: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Returns the message of a badge reader: user, time, and a proof by the reader's key. */
export function readBadge(reading: Reading, key: string): string {
  const text = Buffer.from(JSON.stringify(reading)).toString('base64url');
  return `${text}.${macOf(text, key).toString('base64url')}`;
}

function opened(reading: string, key: string): Reading | undefined {
  const [text = '', mac = ''] = reading.split('.');
  const [expected, given] = [macOf(text, key), Buffer.from(mac, 'base64url')];
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as Reading;
}

/** Creates a grant type. The application of a machine sends the message of its badge reader, and gets tokens of the person. */
export const badges = (readerKey: string): Extension => ({
  name: 'badges',
  grantTypes: {
    [badgeGrant]({ limits, service }) {
      // All nodes count together, so that a reading can be used once.
      const readings = limits.limit('readings', { of: 1, in: 2 * FRESH_SECONDS * 1000 });
      return {
        parameters: ['reading'],
        async exchange({ parameters: { reading = '' } }) {
          const badge = opened(reading, readerKey);
          if (!badge || Math.abs(service.now() / 1000 - badge.at) > FRESH_SECONDS)
            return { error: 'invalid_grant', description: 'the reading is not of this moment' };
          if ((await readings.attempt(reading)).isOver) return { error: 'invalid_grant', description: 'the reading was used before' };
          return { oid: badge.oid, amr: ['external'], idp: 'badge', authTime: badge.at, scopes: ['openid', 'profile'] };
        },
      };
    },
  },
});
