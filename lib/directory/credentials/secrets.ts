import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { Row } from '../../store/directory-store.js';
import type { HashedSecret, PendingEvent, Stored } from '../../store/records/records.js';
import { secretText } from '../../text/schemas.js';
import type { CachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { type CheckCurrent, checkInput, patched } from '../input.js';
import { changed } from '../outbox/pending-events.js';

interface Holder extends Row, Stored {
  readonly secrets: readonly HashedSecret[];
}

/** Number of valid secrets, so that a secret can be rotated while callers change over. */
const LIVE_SECRETS = 2;

/** @throws IdpError `invalid_record` for a secret that a host may not set. An absent one is valid. */
export function checkOwnSecret(secret: string | undefined, { ownSecretLength }: Pick<DirectoryContext, 'ownSecretLength'>): void {
  if (secret !== undefined) checkInput(Type.Object({ secret: secretText(ownSecretLength) }), { secret });
}

/** Returns a secret of 256 bits in base64url, for which an unsalted digest is safe. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

export const hashedSecret = (secret: string): HashedSecret => ({ hash: `sha256:${hash('sha256', secret, 'hex')}` });

/** Returns whether the secret is one of the valid secrets. Each secret is compared in constant time. */
export const isLiveSecret = (secrets: readonly HashedSecret[], given: string, now: number): boolean =>
  isSecretOf(secrets, given, isLiveAt(now));

/** Returns whether the secret is one of the secrets that `counts` selects, as {@link isLiveSecret} does. @param counts @default all, also expired ones */
export function isSecretOf(
  secrets: readonly HashedSecret[],
  given: string,
  counts: (secret: HashedSecret) => boolean = () => true,
): boolean {
  const expected = hash('sha256', given, 'buffer');
  let matches = false;
  for (const secret of secrets) {
    if (!counts(secret)) continue;
    const actual = digestOf(secret);
    if (actual.length === expected.length && timingSafeEqual(actual, expected)) matches = true;
  }
  return matches;
}

const digests = new WeakMap<HashedSecret, Buffer>();

/** Returns the digest of a secret. The digest is cached, because every request of a client needs it. */
function digestOf(secret: HashedSecret): Buffer {
  const digest = digests.get(secret) ?? Buffer.from(secret.hash.replace(/^sha256:/, ''), 'hex');
  digests.set(secret, digest);
  return digest;
}

/** Returns the secrets after a rotation: the new secret, and the newest secret before it. A secret that is valid already changes nothing. */
const rotatedSecrets = (secrets: readonly HashedSecret[], secret: string, now: number): readonly HashedSecret[] =>
  isLiveSecret(secrets, secret, now) ? secrets : [hashedSecret(secret), ...secrets.filter(isLiveAt(now)).slice(0, LIVE_SECRETS - 1)];

const isLiveAt =
  (now: number) =>
  ({ expiresAt }: HashedSecret): boolean =>
    expiresAt === undefined || expiresAt.getTime() > now;

/**
 * Creates the service for the secrets of a collection's records. @param addition event for a new secret @param vouched returns the record with the voucher
 * of its writer
 */
export const createSecrets = <R extends Holder>(
  rows: CachedCollection<R>,
  context: Pick<DirectoryContext, 'ownSecretLength' | 'now'>,
  addition: (id: string) => PendingEvent,
  vouched: (before: R, next: R) => R = (_, next) => next,
) => ({
  /** Adds a secret. The previous secret stays valid until the next rotation. @throws IdpError `not_found`, `invalid_record`. */
  async rotate(id: string, given?: string, check?: CheckCurrent<R>): Promise<{ readonly record: R; readonly secret: string }> {
    checkOwnSecret(given, context);
    const secret = given ?? newSecret();
    const record = await rows.update(id, (row) => {
      check?.(row);
      const secrets = rotatedSecrets(row.secrets, secret, context.now());
      return changed<R>(row, vouched(row, patched(context.now, row, { secrets })), addition(id));
    });
    return { record, secret };
  },

  /** Returns the record if the secret is one of its valid secrets. */
  async check(id: string, secret: string): Promise<R | undefined> {
    const record = await rows.get(id);
    return isLiveSecret(record?.secrets ?? [], secret, context.now()) ? record : undefined;
  },
});
