import { generateKeyPair } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { IdpError } from '../errors.js';
import type { Collection } from '../store/directory-store.js';
import type { Keyring } from '../store/keyring.js';
import type { Client, KeyRing, StoredSigningKey } from '../store/records.js';
import { newRecord } from './input.js';
import { pendingEvent, withEvents } from './pending-events.js';

/** Seconds, each. */
export interface RotationPolicy {
  /** How long a key signs. */
  readonly active: number;
  /** How long a key is published before it may sign. */
  readonly announced: number;
  /** How long a key stays published after it signed last. */
  readonly retiring: number;
}

export interface SigningKeyRecords {
  /** Private JWKs with `kid` and `alg`: what signs first, then what is announced, then what only verifies. */
  readonly jwks: readonly JWK[];
  /** When {@link KeyRotation.advance} has something to do, in milliseconds since the epoch. */
  readonly dueAt: number;
}

/** The signing keys of the service: made by it, kept encrypted, replaced one after another. Nodes agree, as all keys are one row. */
export interface KeyRotation {
  /** The keys; made, on one node, when there are none. @throws IdpError `undecipherable` when their encryption key is gone. */
  load(): Promise<SigningKeyRecords>;
  /** Promotes and removes what is due by the clock, unless another node is at it. */
  advance(): Promise<void>;
  /**
   * The announced keys sign from now on, and others are announced. With `now`, new keys do, and all before are removed: what they signed is void.
   * @throws IdpError `key_not_announced` before everyone who keeps the key set could have seen the next key.
   */
  rotate(options?: { readonly now?: boolean }): Promise<void>;
}

export interface KeyRotationOptions {
  readonly rows: Collection<KeyRing>;
  readonly clients: Collection<Client>;
  /** To be called after a write. */
  readonly changed: () => Promise<void>;
  /** After a write that left events. */
  readonly nudge: () => void;
  readonly keyring: Keyring;
  /** Takes or renews the right to make keys; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly policy: RotationPolicy;
}

const RING = 'ring';
const PURPOSE = 'signing key';
/** Milliseconds between two looks whether the node that has the lease has made the keys. */
const PATIENCE = 50;

const order: readonly StoredSigningKey['state'][] = ['active', 'next', 'retiring'];

export function createKeyRotation({ rows, clients, changed, nudge, keyring, lease, policy }: KeyRotationOptions): KeyRotation {
  const make = createMaker(keyring);
  let isSealedAnew = false;

  async function ring(): Promise<KeyRing> {
    for (;;) {
      const row = await rows.get(RING);
      if (row) return row;
      if (!(await lease())) await sleep(PATIENCE);
      else {
        const keys = [...(await make('active')), ...(await make('next'))];
        await rows.insert(newRecord(RING, { keys, pendingEvents: [] })).catch(unlessConflict);
        await changed();
      }
    }
  }

  function open({ kid, sealed }: StoredSigningKey): JWK {
    try {
      return JSON.parse(keyring.decrypt(PURPOSE, kid, sealed)) as JWK;
    } catch (cause) {
      throw new IdpError('undecipherable', { record: 'signingKeys', kid }, { cause });
    }
  }

  /** Once for each start: while the nodes of a service have different secrets first, two would undo each other's work. */
  async function sealAnew(row: KeyRing): Promise<KeyRing> {
    if (isSealedAnew || row.keys.every(({ sealed }) => keyring.isCurrent(sealed))) return row;
    const resealed = (key: StoredSigningKey): StoredSigningKey => ({
      ...key,
      sealed: keyring.encrypt(PURPOSE, key.kid, JSON.stringify(open(key))),
    });
    const written = await rows.update(RING, (current) => ({ ...current, keys: current.keys.map(resealed), updatedAt: new Date() }));
    return written ?? ring();
  }

  /** The longest that anything signed until now is good. */
  async function removalOf(now: Date): Promise<Date> {
    let seconds = policy.retiring;
    for (const { lifetimes, accessTokenType } of await clients.find({}))
      seconds = Math.max(seconds, lifetimes.idToken ?? 0, accessTokenType === 'jwt' ? (lifetimes.accessToken ?? 0) : 0);
    return new Date(now.getTime() + seconds * 1000);
  }

  async function write(change: (row: KeyRing) => KeyRing): Promise<void> {
    await rows.update(RING, change);
    await changed();
    nudge();
  }

  return {
    async load() {
      const row = await sealAnew(await ring());
      isSealedAnew = true;
      const sorted = row.keys.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
      return { jwks: sorted.map((key) => ({ ...open(key), kid: key.kid, alg: key.alg })), dueAt: dueAt(row, policy) };
    },

    async advance() {
      const now = new Date();
      const before = await ring();
      if (now.getTime() < dueAt(before, policy) || !(await lease())) return;
      const isDue = (row: KeyRing) => promotionAt(row, policy) <= now.getTime();
      const [next, removeAt] = isDue(before) ? await Promise.all([make('next'), removalOf(now)]) : [[], now];
      await write((row) => {
        const kept = withoutRemoved(row, now);
        return next.length > 0 && isDue(row) ? promoted(kept, next, now, removeAt) : kept;
      });
    },

    async rotate({ now: isUrgent = false } = {}) {
      if (!isUrgent) checkAnnounced(await ring(), policy);
      const now = new Date();
      const [active, next, removeAt] = await Promise.all([isUrgent ? make('active') : [], make('next'), removalOf(now)]);
      await write((row) => {
        if (isUrgent) return replaced(row, [...active, ...next], now);
        checkAnnounced(row, policy);
        return promoted(withoutRemoved(row, now), next, now, removeAt);
      });
    },
  };
}

const generate = promisify(generateKeyPair);

/** Makes a key of each algorithm. */
function createMaker(keyring: Keyring) {
  const one = async (alg: StoredSigningKey['alg'], state: 'active' | 'next'): Promise<StoredSigningKey> => {
    const { privateKey } = await (alg === 'RS256' ? generate('rsa', { modulusLength: 2048 }) : generate('ec', { namedCurve: 'P-256' }));
    const jwk = privateKey.export({ format: 'jwk' }) as JWK;
    const kid = await calculateJwkThumbprint(jwk);
    const now = new Date();
    const times = { announcedAt: now, ...(state === 'active' ? { activatedAt: now } : {}) };
    return { kid, alg, state, sealed: keyring.encrypt(PURPOSE, kid, JSON.stringify(jwk)), ...times };
  };
  return (state: 'active' | 'next'): Promise<StoredSigningKey[]> => Promise.all([one('RS256', state), one('ES256', state)]);
}

const ofState = ({ keys }: KeyRing, state: StoredSigningKey['state']) => keys.filter((key) => key.state === state);

const latest = (dates: readonly (Date | undefined)[]): number => Math.max(...dates.map((date) => date?.getTime() ?? 0));

/** From when on the announced keys may sign. */
const announcedFrom = (ring: KeyRing, { announced }: RotationPolicy): number =>
  latest(ofState(ring, 'next').map(({ announcedAt }) => announcedAt)) + announced * 1000;

const promotionAt = (ring: KeyRing, policy: RotationPolicy): number =>
  Math.max(latest(ofState(ring, 'active').map(({ activatedAt }) => activatedAt)) + policy.active * 1000, announcedFrom(ring, policy));

const dueAt = (ring: KeyRing, policy: RotationPolicy): number =>
  Math.min(promotionAt(ring, policy), ...ring.keys.flatMap(({ removeAt }) => removeAt?.getTime() ?? []));

function checkAnnounced(ring: KeyRing, policy: RotationPolicy): void {
  const from = announcedFrom(ring, policy);
  if (Date.now() < from) throw new IdpError('key_not_announced', { from: new Date(from).toISOString() });
}

/** The very row, which writes nothing, when there is nothing to remove. */
function withoutRemoved(ring: KeyRing, now: Date): KeyRing {
  const keys = ring.keys.filter(({ removeAt }) => removeAt === undefined || removeAt > now);
  return keys.length === ring.keys.length ? ring : { ...ring, keys, updatedAt: now };
}

function promoted(ring: KeyRing, next: readonly StoredSigningKey[], now: Date, removeAt: Date): KeyRing {
  const keys = ring.keys.map((key): StoredSigningKey => {
    if (key.state === 'active') return { ...key, state: 'retiring', retiredAt: now, removeAt };
    return key.state === 'next' ? { ...key, state: 'active', activatedAt: now } : key;
  });
  return told(ring, { ...ring, keys: [...keys, ...next], updatedAt: now }, 'retiring');
}

const replaced = (ring: KeyRing, keys: readonly StoredSigningKey[], now: Date): KeyRing =>
  told(ring, { ...ring, keys, updatedAt: now }, 'removed');

/** With an event for each key that took over. */
function told(before: KeyRing, after: KeyRing, state: 'retiring' | 'removed'): KeyRing {
  const events = ofState(after, 'active').flatMap(({ kid, alg }) => {
    const previous = ofState(before, 'active').find((key) => key.alg === alg);
    const data = { AggregateId: kid, Algorithm: alg, PreviousKeyId: previous?.kid ?? '', PreviousKeyState: state };
    return previous ? [pendingEvent('KeyRotated', undefined, data)] : [];
  });
  return withEvents(after, ...events);
}

function unlessConflict(error: unknown): void {
  if (!(error instanceof IdpError && error.code === 'conflict')) throw error;
}
