import { hash } from 'node:crypto';
import type { ArtifactKey } from './artifact-store.js';

/** Ids that we hand out: long enough to be secrets, and of characters that mean nothing to any store. */
const idPattern = /^[A-Za-z0-9_-]{20,128}$/;

/** Characters of an id that name its slot. */
export const SLOT_LENGTH = 11;

/** The slot tag that travels in front of every id: records whose ids begin alike can be committed together. */
export const slotOf = (id: string): string => id.slice(0, SLOT_LENGTH);

/**
 * The key of a record, or undefined for an id that we cannot have made (nothing is read or written for those).
 * @param slot where the record is kept; the id's own slot unless the record lives beside another.
 */
export function artifactKey(kind: string, id: string, slot = slotOf(id)): ArtifactKey | undefined {
  return idPattern.test(id) ? hashedKey(kind, id, slot) : undefined;
}

/** The key of a record that is named by arbitrary text (a login name, an address): only its digest reaches the store. */
export function hashedKey(kind: string, name: string, slot = digest(name).slice(0, SLOT_LENGTH)): ArtifactKey {
  return `${kind}{${slot}}${digest(name)}` as ArtifactKey;
}

/** Whether the key is of a record of the kind. */
export const isOfKind = (key: ArtifactKey, kind: string): boolean => key.startsWith(`${kind}{`);

/**
 * The slot of a key: a store that is spread over servers keeps a slot on one of them.
 * @example
 * ```ts
 * import { type ArtifactWrite, slotOfKey } from 'tenant-idp/store';
 *
 * export const isInOneSlot = (writes: readonly ArtifactWrite[]): boolean => new Set(writes.map(({ key }) => slotOfKey(key))).size === 1;
 * ```
 */
export const slotOfKey = (key: ArtifactKey): string => key.slice(key.indexOf('{') + 1, key.indexOf('}'));

/**
 * What tells a key from others of its kind; the record's id cannot be had from it.
 * @example
 * ```ts
 * import { type ArtifactKey, digestOfKey } from 'tenant-idp/store';
 *
 * export const shardOf = (key: ArtifactKey, shards: number): number => Buffer.from(digestOfKey(key)).readUInt32BE() % shards;
 * ```
 */
export const digestOfKey = (key: ArtifactKey): string => key.slice(key.indexOf('}') + 1);

/** 144 bits of SHA-256: more than an id of ours could be guessed by, less than a store need keep. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 24);
