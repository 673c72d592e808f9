import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { artifactKey, SLOT_LENGTH, slotOf } from '../../store/artifact-key.js';
import type { ArtifactKey } from '../../store/artifact-store.js';
import { drawText } from '../../store/random-bytes.js';
import { modelOf, type TaggedKind, tagOf } from './models.js';

/**
 * The shape of the ids we hand out: slot (11 characters), one that tells the kind, 32 random ones (192 bits). A session's grants, codes and
 * tokens carry the slot of its uid, so one commit can hold them all; the kind lets a look-up for another kind answer without I/O.
 */
const RANDOM = 32;
const UID = 22;

const random = (length: number): string => drawText(Math.ceil((length * 3) / 4)).slice(0, length);

/** @param neighbour an id or session uid whose slot the new id shares. */
export const createId = (kind: TaggedKind, neighbour?: string): string =>
  `${neighbour === undefined ? random(SLOT_LENGTH) : slotOf(neighbour)}${tagOf(kind)}${random(RANDOM)}`;

/** The refresh token that follows: the same one for every retry, so that a grace needs no stored token. */
export const successorOf = (refreshToken: string, key: Buffer): string =>
  `${slotOf(refreshToken)}${tagOf('RefreshToken')}${createHmac('sha256', key).update(refreshToken).digest('base64url').slice(0, RANDOM)}`;

export const createSessionUid = (): string => random(UID);

/** Of 132 bits. */
export const createSalt = (): string => random(UID);

/** A session's cookie value: the uid it is kept under, and the secret that changes with every authentication. */
export const createSessionId = (uid: string): string => uid + random(RANDOM);

export const partsOfSessionId = (id: string): { readonly uid: string; readonly secret: string } | undefined =>
  id.length === UID + RANDOM ? { uid: id.slice(0, UID), secret: id.slice(UID) } : undefined;

const tokenKinds: Readonly<Record<string, 'AccessToken' | 'ClientCredentials' | 'RefreshToken'>> = {
  [tagOf('AccessToken')]: 'AccessToken',
  [tagOf('ClientCredentials')]: 'ClientCredentials',
  [tagOf('RefreshToken')]: 'RefreshToken',
};

/** The kind of a token of ours; undefined for anything else. */
export const kindOfToken = (id: string) => (id.length === SLOT_LENGTH + 1 + RANDOM ? tokenKinds[id.charAt(SLOT_LENGTH)] : undefined);

/** Where a model's record is kept, or undefined for an id that cannot be one. */
export function keyOf(kind: string, id: string): ArtifactKey | undefined {
  const { tag } = modelOf(kind);
  if (tag === undefined) return artifactKey(kind, id);
  if (id.length !== SLOT_LENGTH + 1 + RANDOM || id[SLOT_LENGTH] !== tag) return undefined;
  return kind === 'Grant' ? grantKey(id) : artifactKey(kind, id);
}

const grantKeys = new LRUCache<string, ArtifactKey>({ max: 1000 });

/** Each request asks for the key of its grant several times. The id of a grant opens nothing, so it may be remembered; those of tokens may not. */
function grantKey(id: string): ArtifactKey | undefined {
  const key = grantKeys.get(id) ?? artifactKey('Grant', id);
  if (key) grantKeys.set(id, key);
  return key;
}

/** @see RFC 9126 §2.2 */
const PUSHED_PREFIX = 'urn:ietf:params:oauth:request_uri:';

/** The `request_uri` of a pushed request. */
export const requestUriOf = (id: string): string => PUSHED_PREFIX + id;

/** The id of the pushed request that a `request_uri` refers to; undefined for a URL. */
export const pushedIdOf = (uri: string): string | undefined =>
  uri.startsWith(PUSHED_PREFIX) ? uri.slice(PUSHED_PREFIX.length) : undefined;
