import { createHmac, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { artifactKey, SLOT_LENGTH, slotOf } from '../../store/artifact-key.js';
import type { ArtifactKey } from '../../store/artifact-store.js';
import { drawText } from '../../store/random-bytes.js';
import { modelOf, type TaggedKind, tagOf } from './models.js';

/**
 * Form of the ids that the service issues: the slot (11 characters), a character for the kind, and 32 random characters (192 bits). A session's grants,
 * codes and tokens have the slot of its uid, so that one commit can write them all. The kind lets a look-up for another kind answer without I/O.
 */
const RANDOM = 32;
const UID = 22;

const random = (length: number): string => drawText(Math.ceil((length * 3) / 4)).slice(0, length);

/** @param neighbour an id or session uid whose slot the new id shares. */
export const createId = (kind: TaggedKind, neighbour?: string): string =>
  `${neighbour === undefined ? random(SLOT_LENGTH) : slotOf(neighbour)}${tagOf(kind)}${random(RANDOM)}`;

/** Returns the refresh token that follows. Every retry derives the same token, so the grace period needs no stored token. */
export const successorOf = (refreshToken: string, key: KeyObject): string =>
  `${slotOf(refreshToken)}${tagOf('RefreshToken')}${createHmac('sha256', key).update(refreshToken).digest('base64url').slice(0, RANDOM)}`;

export const createSessionUid = (): string => random(UID);

/** Returns a random text of 132 bits. */
export const createSalt = (): string => random(UID);

/** Returns a session's cookie value: the uid that names its record, and a secret that changes with every authentication. */
export const createSessionId = (uid: string): string => uid + random(RANDOM);

export const partsOfSessionId = (id: string): { readonly uid: string; readonly secret: string } | undefined =>
  id.length === UID + RANDOM ? { uid: id.slice(0, UID), secret: id.slice(UID) } : undefined;

const tokenKinds: Readonly<Record<string, 'AccessToken' | 'ClientCredentials' | 'RefreshToken'>> = {
  [tagOf('AccessToken')]: 'AccessToken',
  [tagOf('ClientCredentials')]: 'ClientCredentials',
  [tagOf('RefreshToken')]: 'RefreshToken',
};

/** Returns the kind of a token of this service; undefined for any other text. */
export const kindOfToken = (id: string) => (id.length === SLOT_LENGTH + 1 + RANDOM ? tokenKinds[id.charAt(SLOT_LENGTH)] : undefined);

/** Returns the store key of a model's record; undefined for a malformed id. */
export function keyOf(kind: string, id: string): ArtifactKey | undefined {
  const { tag } = modelOf(kind);
  if (tag === undefined) return artifactKey(kind, id);
  if (id.length !== SLOT_LENGTH + 1 + RANDOM || id[SLOT_LENGTH] !== tag) return undefined;
  return kind === 'Grant' ? grantKey(id) : artifactKey(kind, id);
}

const grantKeys = new LRUCache<string, ArtifactKey>({ max: 1000 });

/**
 * Returns the store key of a grant. Each request needs the store key several times. The id of a grant is not a credential, so the id may be cached. Ids of
 * tokens are credentials, and must not be cached.
 */
function grantKey(id: string): ArtifactKey | undefined {
  const key = grantKeys.get(id) ?? artifactKey('Grant', id);
  if (key) grantKeys.set(id, key);
  return key;
}

/** @see RFC 9126 §2.2 */
const PUSHED_PREFIX = 'urn:ietf:params:oauth:request_uri:';

/** Returns the `request_uri` of a pushed request. */
export const requestUriOf = (id: string): string => PUSHED_PREFIX + id;

/** Returns the id of the pushed request that a `request_uri` names; undefined for a URL. */
export const pushedIdOf = (uri: string): string | undefined =>
  uri.startsWith(PUSHED_PREFIX) ? uri.slice(PUSHED_PREFIX.length) : undefined;
