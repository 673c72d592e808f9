/**
 * Signs cookies and checks their signatures as keygrip does for oidc-provider. A browser sends the same cookie with each request, and gets it
 * back signed: what it is signed with is remembered for as long as it is in use.
 * @see https://www.npmjs.com/package/keygrip
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Cookies whose signatures are remembered; about 200 bytes each. */
const MAX_REMEMBERED = 1000;

export interface CookieKeys {
  /** By the newest key. */
  sign(data: string): string;
  /** Which key signed it, the newest first; -1 if none did. */
  index(data: string, signature: string): number;
  verify(data: string, signature: string): boolean;
}

/** @param secrets the newest first. */
export function createCookieKeys(secrets: readonly string[]): CookieKeys {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)));
  const remembered = new LRUCache<string, readonly string[]>({ max: MAX_REMEMBERED });

  const signaturesOf = (data: string): readonly string[] => keys.map((key) => createHmac('sha1', key).update(data).digest('base64url'));
  const index = (data: string, signature: string): number => {
    const known = remembered.get(data);
    const signatures = known ?? signaturesOf(data);
    const found = signatures.findIndex((expected) => isEqual(expected, signature));
    if (!known && found >= 0) remembered.set(data, signatures);
    return found;
  };
  return {
    sign: (data) => (remembered.get(data) ?? signaturesOf(data))[0] ?? '',
    index,
    verify: (data, signature) => index(data, signature) >= 0,
  };
}

const isEqual = (expected: string, given: string): boolean =>
  expected.length === given.length && timingSafeEqual(Buffer.from(expected, 'latin1'), Buffer.from(given, 'latin1'));
