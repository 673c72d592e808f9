/**
 * Signing keys that the service makes, announces, uses and retires, if the options give none.
 *
 * All nodes share one row. A lease decides which node changes it, and private keys in it are encrypted. A signing key is published before
 * it signs, and stays published until everything that it signed has expired. `key-states` decides which change is due.
 */
import { generateKeyPair } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { Logger } from '../../logger.js';
import type { Collection } from '../../store/directory-store.js';
import type { Client, KeyRing, StoredSigningKey } from '../../store/records/records.js';
import type { Sealer } from '../../store/sealer.js';
import { newRecord } from '../input.js';
import { attributedRow, checkAttribution } from '../outbox/attribution.js';
import { markedWrite, updateOnce } from '../outbox/write-once.js';
import { checkAnnounced, dueAt, promoted, promotionAt, type RotationPolicy, replaced, soundRing, withoutRemoved } from './key-states.js';

/** A signing key without its private part. Signing keys from the options have no times. */
export type KeyState = Pick<StoredSigningKey, 'kid' | 'alg' | 'state'> &
  Partial<Pick<StoredSigningKey, 'announcedAt' | 'activatedAt' | 'removeAt'>>;

export interface SigningKeyRecords {
  /** Private JWKs with `kid` and `alg`: first JWKs that sign, then announced JWKs, then JWKs that only verify. */
  readonly jwks: readonly JWK[];
  /** Time of the next change by {@link KeyRotation.advance}, in milliseconds since the epoch. */
  readonly dueAt: number;
}

/**
 * Signing keys that the service makes, stores encrypted, and replaces one after another. All nodes have the same signing keys, because they are in one row.
 */
export interface KeyRotation {
  /**
   * Reads the signing keys. If there are none, one node makes them. A signing key that cannot be read is left out and logged.
   * @throws IdpError `undecipherable` if none can be read, because their encryption key is missing.
   */
  load(): Promise<SigningKeyRecords>;
  /** Returns the published signing keys, the next one first. */
  list(): Promise<readonly KeyState[]>;
  /** Returns the signing keys that the last read left out. */
  problems(): readonly { readonly code: 'record_unreadable'; readonly collection: 'signingKeys'; readonly id: string }[];
  /** Makes the changes that are due, unless another node is making them. */
  advance(): Promise<void>;
  /**
   * Lets the announced signing keys sign, and announces others. With `now`, new signing keys sign and all earlier ones are removed, which invalidates their
   * signatures.
   * @throws IdpError `key_not_announced` if a holder of the key set may not have seen the next signing key yet.
   */
  rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
}

export interface KeyRotationOptions {
  readonly rows: Collection<KeyRing>;
  readonly clients: Collection<Client>;
  /** Returns whether the event log has the event. */
  readonly isLogged: (eventId: string) => Promise<boolean>;
  readonly sealer: Sealer;
  /** Takes or renews the lease for making signing keys. Returns false while another node has the lease. */
  readonly lease: () => Promise<boolean>;
  readonly policy: RotationPolicy;
  readonly logger: Pick<Logger, 'error'>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

const RING = 'ring';
const PURPOSE = 'signing key';
/** Milliseconds between two checks whether the node with the lease has made the signing keys. */
const PAUSE_MS = 50;

const algorithms: readonly StoredSigningKey['alg'][] = ['RS256', 'ES256'];

const order: readonly StoredSigningKey['state'][] = ['active', 'next', 'retiring'];

export const createKeyRotation = (parts: KeyRotationOptions): KeyRotation => {
  const rotation = new Rotation(parts);
  return {
    load: () => rotation.load(),
    list: () => rotation.list(),
    problems: () => rotation.problems(),
    advance: () => rotation.advance(),
    rotate: (options) => rotation.rotate(options),
  };
};

/** A stored signing key with its private part. */
interface OpenedKey {
  readonly key: StoredSigningKey;
  readonly jwk: JWK;
}

class Rotation implements KeyRotation {
  readonly #parts: KeyRotationOptions;
  readonly #make: ReturnType<typeof createMaker>;
  #isSealedAgain = false;
  #unreadable: readonly string[] = [];

  constructor(parts: KeyRotationOptions) {
    this.#parts = parts;
    this.#make = createMaker(parts.sealer, parts.now);
  }

  async load(): Promise<SigningKeyRecords> {
    const row = await this.#complete(await this.#sealAgain(await this.#ring()));
    this.#isSealedAgain = true;
    const sorted = this.#opened(row).toSorted((a, b) => order.indexOf(a.key.state) - order.indexOf(b.key.state));
    return { jwks: sorted.map(({ key, jwk }) => ({ ...jwk, kid: key.kid, alg: key.alg })), dueAt: dueAt(row, this.#parts.policy) };
  }

  async list(): Promise<readonly KeyState[]> {
    const { keys } = soundRing(await this.#ring());
    return keys.map(({ sealed: _, ...state }) => state);
  }

  problems(): ReturnType<KeyRotation['problems']> {
    return this.#unreadable.map((id) => ({ code: 'record_unreadable', collection: 'signingKeys', id }));
  }

  async advance(): Promise<void> {
    const { now, policy, lease } = this.#parts;
    const startedAt = new Date(now());
    const before = await this.#ring();
    if (startedAt.getTime() < dueAt(before, policy) || !(await lease())) return;
    const isDue = (row: KeyRing) => promotionAt(row, policy) <= startedAt.getTime();
    const [next, removeAt] = isDue(before) ? await Promise.all([this.#make('next'), this.#removalOf(startedAt)]) : [[], startedAt];
    await this.#write((row) => {
      const published = withoutRemoved(row, startedAt);
      return next.length > 0 && isDue(row) ? promoted(published, next, startedAt, removeAt) : published;
    });
  }

  async rotate({ now: isUrgent = false, by = {} }: { readonly now?: boolean; readonly by?: Attribution } = {}): Promise<void> {
    const { now, policy } = this.#parts;
    checkAttribution(by);
    // An earlier run of the request may have replaced the signing keys.
    if (!isUrgent && !by.once?.isRetry) checkAnnounced(await this.#ring(), policy, now());
    const startedAt = new Date(now());
    const [active, next, removeAt] = await Promise.all([
      isUrgent ? this.#make('active') : [],
      this.#make('next'),
      this.#removalOf(startedAt),
    ]);
    await this.#write((row) => {
      if (isUrgent) return replaced(row, [...active, ...next], startedAt);
      checkAnnounced(row, policy, startedAt.getTime());
      return promoted(withoutRemoved(row, startedAt), next, startedAt, removeAt);
    }, by);
  }

  /** Returns the row. If the row is missing, one node makes it. */
  async #ring(): Promise<KeyRing> {
    const { rows, lease, now } = this.#parts;
    for (;;) {
      const row = await rows.get(RING);
      const sound = row && soundRing(row);
      if (sound && sound.keys.length > 0) return sound;
      if (!(await lease())) await sleep(PAUSE_MS);
      else {
        const keys = [...(await this.#make('active')), ...(await this.#make('next'))];
        if (sound) await rows.update(RING, (current) => (soundRing(current).keys.length > 0 ? current : { ...soundRing(current), keys }));
        else await rows.insert(newRecord(now, RING, { keys, pendingEvents: [] })).catch(IdpError.unless('conflict'));
      }
    }
  }

  /** Returns the signing keys with an active one for each algorithm. Makes a signing key if no signing key of the algorithm can be read. */
  async #complete(row: KeyRing): Promise<KeyRing> {
    const { rows, lease, now } = this.#parts;
    for (let current = row; ; current = await this.#ring()) {
      const keys = this.#opened(current);
      const missing = algorithms.filter((alg) => !keys.some(({ key }) => key.alg === alg && key.state !== 'retiring'));
      if (missing.length === 0) return current;
      if (!(await lease())) await sleep(PAUSE_MS);
      else {
        const made = (await this.#make('active')).filter(({ alg }) => missing.includes(alg));
        await rows.update(RING, (stored) => {
          const sound = soundRing(stored);
          return { ...sound, keys: [...sound.keys, ...made], updatedAt: new Date(now()) };
        });
      }
    }
  }

  /** Encrypts the signing keys under the newest secret, once for each start. Otherwise nodes whose newest secrets differ would undo each other's work. */
  async #sealAgain(row: KeyRing): Promise<KeyRing> {
    const { rows, sealer, now } = this.#parts;
    if (this.#isSealedAgain || this.#readable(row).every(({ key }) => sealer.isCurrent(key.sealed))) return row;
    await rows.update(RING, (current) => {
      const sound = soundRing(current);
      const jwks = new Map(this.#readable(sound).map(({ key, jwk }) => [key.kid, jwk]));
      const resealed = (key: StoredSigningKey): StoredSigningKey => {
        const jwk = jwks.get(key.kid);
        return jwk ? { ...key, sealed: sealer.encrypt(PURPOSE, key.kid, JSON.stringify(jwk)) } : key;
      };
      return { ...sound, keys: sound.keys.map(resealed), updatedAt: new Date(now()) };
    });
    return this.#ring();
  }

  /** Returns the signing keys that can be read. Logs each unreadable signing key once. */
  #opened(row: KeyRing): readonly OpenedKey[] {
    const keys = this.#readable(row);
    if (keys.length === 0) for (const key of row.keys) this.#open(key);
    const left = row.keys.map(({ kid }) => kid).filter((kid) => !keys.some(({ key }) => key.kid === kid));
    for (const kid of left) {
      if (!this.#unreadable.includes(kid))
        this.#parts.logger.error(
          { collection: 'signingKeys', id: kid },
          'a signing key is unreadable with the secrets in keys.encryption, so the service ignores it',
        );
    }
    this.#unreadable = left;
    return keys;
  }

  #readable({ keys }: KeyRing): readonly OpenedKey[] {
    return keys.flatMap((key) => {
      try {
        return [{ key, jwk: this.#open(key) }];
      } catch {
        return [];
      }
    });
  }

  #open({ kid, sealed }: StoredSigningKey): JWK {
    try {
      return JSON.parse(this.#parts.sealer.decrypt(PURPOSE, kid, sealed)) as JWK;
    } catch (cause) {
      throw new IdpError('undecipherable', { record: 'signingKeys', kid }, { cause });
    }
  }

  /** Returns the time at which everything that was signed until now has expired. */
  async #removalOf(signedUntil: Date): Promise<Date> {
    const { policy, clients } = this.#parts;
    let seconds = policy.retiring;
    for (const { lifetimes, accessTokenType } of await clients.find({}))
      seconds = Math.max(seconds, lifetimes.idToken ?? 0, accessTokenType === 'jwt' ? (lifetimes.accessToken ?? 0) : 0);
    return new Date(signedUntil.getTime() + seconds * 1000);
  }

  async #write(change: (row: KeyRing) => KeyRing, by: Attribution = {}): Promise<void> {
    const { rows, isLogged } = this.#parts;
    const write = markedWrite(by.once, ['signingKeys', RING], isLogged);
    await updateOnce(rows, RING, (row) => attributedRow(change(soundRing(row)), row, by, write), write);
  }
}

const generate = promisify(generateKeyPair);

/** Returns a function that creates a signing key of each algorithm. */
function createMaker(sealer: Sealer, now: () => number) {
  const one = async (alg: StoredSigningKey['alg'], state: 'active' | 'next'): Promise<StoredSigningKey> => {
    const { privateKey } = await (alg === 'RS256' ? generate('rsa', { modulusLength: 2048 }) : generate('ec', { namedCurve: 'P-256' }));
    const jwk = privateKey.export({ format: 'jwk' }) as JWK;
    const kid = await calculateJwkThumbprint(jwk);
    const createdAt = new Date(now());
    const times = { announcedAt: createdAt, ...(state === 'active' ? { activatedAt: createdAt } : {}) };
    return { kid, alg, state, sealed: sealer.encrypt(PURPOSE, kid, JSON.stringify(jwk)), ...times };
  };
  return (state: 'active' | 'next'): Promise<StoredSigningKey[]> => Promise.all([one('RS256', state), one('ES256', state)]);
}
