/** States of the signing keys: the time of the next change, and the row after a change. Functions of `key-states` neither read nor write the store. */
import { IdpError } from '../../errors.js';
import type { KeyRing, StoredSigningKey } from '../../store/records/records.js';
import { isPendingEvent, isSigningKey } from '../../store/records/row-checks.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';

/** Times of the rotation, in seconds. */
export interface RotationPolicy {
  /** Time for which a signing key signs. */
  readonly active: number;
  /** Time for which a signing key is published before it may sign. */
  readonly announced: number;
  /** Time for which a signing key stays published after its last signature. */
  readonly retiring: number;
}

/** Returns the row without its damaged parts. Nothing can be signed without the row, so a damaged signing key must not affect the others. */
export function soundRing(row: KeyRing): KeyRing {
  const { keys, pendingEvents } = row;
  const isSound = Array.isArray(keys) && keys.every(isSigningKey) && Array.isArray(pendingEvents) && pendingEvents.every(isPendingEvent);
  if (isSound) return row;
  return {
    ...row,
    keys: Array.isArray(keys) ? keys.filter(isSigningKey) : [],
    pendingEvents: Array.isArray(pendingEvents) ? pendingEvents.filter(isPendingEvent) : [],
  };
}

const ofState = ({ keys }: KeyRing, state: StoredSigningKey['state']) => keys.filter((key) => key.state === state);

const latest = (dates: readonly (Date | undefined)[]): number => Math.max(...dates.map((date) => date?.getTime() ?? 0));

/** Returns the time from which the announced signing keys may sign, in milliseconds since the epoch. */
const announcedFrom = (ring: KeyRing, { announced }: RotationPolicy): number =>
  latest(ofState(ring, 'next').map(({ announcedAt }) => announcedAt)) + announced * 1000;

export const promotionAt = (ring: KeyRing, policy: RotationPolicy): number =>
  Math.max(latest(ofState(ring, 'active').map(({ activatedAt }) => activatedAt)) + policy.active * 1000, announcedFrom(ring, policy));

export const dueAt = (ring: KeyRing, policy: RotationPolicy): number =>
  Math.min(promotionAt(ring, policy), ...ring.keys.flatMap(({ removeAt }) => removeAt?.getTime() ?? []));

/** @param now milliseconds since the epoch */
export function checkAnnounced(ring: KeyRing, policy: RotationPolicy, now: number): void {
  const from = announcedFrom(ring, policy);
  if (now < from) throw new IdpError('key_not_announced', { from: new Date(from).toISOString() });
}

/** Returns the row without removed signing keys. Returns the same row, which is not written, if no signing key was removed. */
export function withoutRemoved(ring: KeyRing, now: Date): KeyRing {
  const keys = ring.keys.filter(({ removeAt }) => removeAt === undefined || removeAt > now);
  return keys.length === ring.keys.length ? ring : { ...ring, keys, updatedAt: now };
}

export function promoted(ring: KeyRing, next: readonly StoredSigningKey[], now: Date, removeAt: Date): KeyRing {
  const keys = ring.keys.map((key): StoredSigningKey => {
    if (key.state === 'active') return { ...key, state: 'retiring', retiredAt: now, removeAt };
    return key.state === 'next' ? { ...key, state: 'active', activatedAt: now } : key;
  });
  return told(ring, { ...ring, keys: [...keys, ...next], updatedAt: now }, 'retiring', now);
}

export const replaced = (ring: KeyRing, keys: readonly StoredSigningKey[], now: Date): KeyRing =>
  told(ring, { ...ring, keys, updatedAt: now }, 'removed', now);

/** Adds an event for each signing key that replaced another. */
function told(before: KeyRing, after: KeyRing, state: 'retiring' | 'removed', now: Date): KeyRing {
  const events = ofState(after, 'active').flatMap(({ kid, alg }) => {
    const previous = ofState(before, 'active').find((key) => key.alg === alg);
    const data = { AggregateId: kid, Algorithm: alg, PreviousKeyId: previous?.kid ?? '', PreviousKeyState: state };
    return previous ? [pendingEvent(() => now.getTime(), 'KeyRotated', undefined, data)] : [];
  });
  return withEvents(after, ...events);
}
