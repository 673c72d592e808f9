import { hash } from 'node:crypto';
import type { ArtifactKey } from './artifact-store.js';

/** Ids that the service gives to clients and browsers. The ids are long enough to be secrets, and none of their characters has a meaning in a store. */
const idPattern = /^[A-Za-z0-9_-]{20,128}$/;

/** Characters of an id that name its slot. */
export const SLOT_LENGTH = 11;

/** Returns the slot of an id: its first characters. Records whose ids have the same first characters can be committed together. */
export const slotOf = (id: string): string => id.slice(0, SLOT_LENGTH);

/**
 * Returns the store key of a record; undefined for an id that the service cannot have made. Nothing is read or written for such an id.
 * @param slot of the record. @default the slot of the id
 */
export function artifactKey(kind: string, id: string, slot = slotOf(id)): ArtifactKey | undefined {
  return idPattern.test(id) ? hashedKey(kind, id, slot) : undefined;
}

/** Returns the store key of a record that is named by any text, such as a login name or an address. Only the digest of the text reaches the store. */
export function hashedKey(kind: string, name: string, slot = digest(name).slice(0, SLOT_LENGTH)): ArtifactKey {
  return `${kind}{${slot}}${digest(name)}` as ArtifactKey;
}

/** Returns whether the store key belongs to a record of the kind. */
export const isOfKind = (key: ArtifactKey, kind: string): boolean => key.startsWith(`${kind}{`);

/**
 * Returns the slot of a store key. A store that is spread over servers keeps each slot on one server.
 * @example
 * ```ts
 * import { type ArtifactWrite, slotOfKey } from 'tenant-idp/store';
 *
 * export const isInOneSlot = (writes: readonly ArtifactWrite[]): boolean => new Set(writes.map(({ key }) => slotOfKey(key))).size === 1;
 * ```
 */
export const slotOfKey = (key: ArtifactKey): string => key.slice(key.indexOf('{') + 1, key.indexOf('}'));

/**
 * Returns the part of a store key that distinguishes it from other store keys of its kind. The record's id cannot be derived from this part.
 * @example
 * ```ts
 * import { type ArtifactKey, digestOfKey } from 'tenant-idp/store';
 *
 * export const shardOf = (key: ArtifactKey, shards: number): number => Buffer.from(digestOfKey(key)).readUInt32BE() % shards;
 * ```
 */
export const digestOfKey = (key: ArtifactKey): string => key.slice(key.indexOf('}') + 1);

/** Returns 144 bits of SHA-256. An attacker cannot find another id with the same 144 bits, and the text is shorter than the whole digest. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 24);
