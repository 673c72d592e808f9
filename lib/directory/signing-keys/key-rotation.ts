/**
 * The service's signing keys, where the options give none: the service makes, announces, uses and retires them.
 *
 * All nodes share one row. A lease decides which node changes it, and private keys are encrypted in it. A key is published
 * before it signs, and stays published as long as anything that it signed is good. `key-states` says what is due.
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

/** A key without its private part. Keys that the options give have no times. */
export type KeyState = Pick<StoredSigningKey, 'kid' | 'alg' | 'state'> &
  Partial<Pick<StoredSigningKey, 'announcedAt' | 'activatedAt' | 'removeAt'>>;

export interface SigningKeyRecords {
  /** Private JWKs with `kid` and `alg`: what signs first, then what is announced, then what only verifies. */
  readonly jwks: readonly JWK[];
  /** When {@link KeyRotation.advance} has something to do, in milliseconds since the epoch. */
  readonly dueAt: number;
}

/** The signing keys that the service makes, keeps encrypted, and replaces one after another. All nodes agree, because the keys are one row. */
export interface KeyRotation {
  /**
   * Reads the keys. One node makes them when there are none. A key that cannot be read is left out and logged.
   * @throws IdpError `undecipherable` when none can: then their encryption key is gone.
   */
  load(): Promise<SigningKeyRecords>;
  /** Those that are published, the next first. */
  list(): Promise<readonly KeyState[]>;
  /** Keys that were left out when they were read last. */
  problems(): readonly { readonly code: 'record_unreadable'; readonly collection: 'signingKeys'; readonly id: string }[];
  /** Promotes and removes what is due by the clock, unless another node is at it. */
  advance(): Promise<void>;
  /**
   * Lets the announced keys sign, and announces others. With `now`, new keys sign and all earlier ones are removed, which voids what they signed.
   * @throws IdpError `key_not_announced` before everyone who keeps the key set could have seen the next key.
   */
  rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
}

export interface KeyRotationOptions {
  readonly rows: Collection<KeyRing>;
  readonly clients: Collection<Client>;
  /** Whether the log has the event. */
  readonly isLogged: (eventId: string) => Promise<boolean>;
  /** To be called after a write. */
  readonly changed: () => Promise<void>;
  /** After a write that left events. */
  readonly nudge: () => void;
  readonly sealer: Sealer;
  /** Takes or renews the right to make keys; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly policy: RotationPolicy;
  readonly logger: Pick<Logger, 'error'>;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

const RING = 'ring';
const PURPOSE = 'signing key';
/** Milliseconds between two looks whether the node that has the lease has made the keys. */
const PAUSE_MS = 50;

const algorithms: readonly StoredSigningKey['alg'][] = ['RS256', 'ES256'];

const order: readonly StoredSigningKey['state'][] = ['active', 'next', 'retiring'];

export function createKeyRotation({
  rows,
  clients,
  isLogged,
  changed,
  nudge,
  sealer,
  lease,
  policy,
  logger,
  now,
}: KeyRotationOptions): KeyRotation {
  const make = createMaker(sealer, now);
  let isSealedAnew = false;
  let unreadable: readonly string[] = [];

  async function ring(): Promise<KeyRing> {
    for (;;) {
      const row = await rows.get(RING);
      const sound = row && soundRing(row);
      if (sound && sound.keys.length > 0) return sound;
      if (!(await lease())) await sleep(PAUSE_MS);
      else {
        const keys = [...(await make('active')), ...(await make('next'))];
        if (sound) await rows.update(RING, (current) => (soundRing(current).keys.length > 0 ? current : { ...soundRing(current), keys }));
        else await rows.insert(newRecord(now, RING, { keys, pendingEvents: [] })).catch(IdpError.unless('conflict'));
        await changed();
      }
    }
  }

  function open({ kid, sealed }: StoredSigningKey): JWK {
    try {
      return JSON.parse(sealer.decrypt(PURPOSE, kid, sealed)) as JWK;
    } catch (cause) {
      throw new IdpError('undecipherable', { record: 'signingKeys', kid }, { cause });
    }
  }

  const readable = ({ keys }: KeyRing): readonly { readonly key: StoredSigningKey; readonly jwk: JWK }[] =>
    keys.flatMap((key) => {
      try {
        return [{ key, jwk: open(key) }];
      } catch {
        return [];
      }
    });

  /** The keys that can be read. Each of the others is logged once. */
  function opened(row: KeyRing): ReturnType<typeof readable> {
    const keys = readable(row);
    if (keys.length === 0) row.keys.forEach(open);
    const left = row.keys.map(({ kid }) => kid).filter((kid) => !keys.some(({ key }) => key.kid === kid));
    for (const kid of left) {
      if (!unreadable.includes(kid))
        logger.error({ collection: 'signingKeys', id: kid }, 'a signing key cannot be read, so it is left out');
    }
    unreadable = left;
    return keys;
  }

  /** The ring with a key of each algorithm that signs. One is made where no key that signs or will sign can be read. */
  async function complete(row: KeyRing): Promise<KeyRing> {
    for (let current = row; ; current = await ring()) {
      const keys = opened(current);
      const missing = algorithms.filter((alg) => !keys.some(({ key }) => key.alg === alg && key.state !== 'retiring'));
      if (missing.length === 0) return current;
      if (!(await lease())) await sleep(PAUSE_MS);
      else {
        const made = (await make('active')).filter(({ alg }) => missing.includes(alg));
        await rows.update(RING, (kept) => ({ ...soundRing(kept), keys: [...soundRing(kept).keys, ...made], updatedAt: new Date(now()) }));
        await changed();
      }
    }
  }

  /** Encrypts the keys under the newest secret, once for each start. Nodes whose newest secrets differ would else undo each other's work. */
  async function sealAnew(row: KeyRing): Promise<KeyRing> {
    if (isSealedAnew || readable(row).every(({ key }) => sealer.isCurrent(key.sealed))) return row;
    await rows.update(RING, (current) => {
      const sound = soundRing(current);
      const jwks = new Map(readable(sound).map(({ key, jwk }) => [key.kid, jwk]));
      const resealed = (key: StoredSigningKey): StoredSigningKey => {
        const jwk = jwks.get(key.kid);
        return jwk ? { ...key, sealed: sealer.encrypt(PURPOSE, key.kid, JSON.stringify(jwk)) } : key;
      };
      return { ...sound, keys: sound.keys.map(resealed), updatedAt: new Date(now()) };
    });
    return ring();
  }

  /** The time at which nothing that was signed until now is good any more. */
  async function removalOf(at: Date): Promise<Date> {
    let seconds = policy.retiring;
    for (const { lifetimes, accessTokenType } of await clients.find({}))
      seconds = Math.max(seconds, lifetimes.idToken ?? 0, accessTokenType === 'jwt' ? (lifetimes.accessToken ?? 0) : 0);
    return new Date(at.getTime() + seconds * 1000);
  }

  async function write(change: (row: KeyRing) => KeyRing, by: Attribution = {}): Promise<void> {
    const write = markedWrite(by.once, ['signingKeys', RING], isLogged);
    await updateOnce(rows, RING, (row) => attributedRow(change(soundRing(row)), row, by, write), write);
    await changed();
    nudge();
  }

  return {
    async load() {
      const row = await complete(await sealAnew(await ring()));
      isSealedAnew = true;
      const sorted = opened(row).toSorted((a, b) => order.indexOf(a.key.state) - order.indexOf(b.key.state));
      return { jwks: sorted.map(({ key, jwk }) => ({ ...jwk, kid: key.kid, alg: key.alg })), dueAt: dueAt(row, policy) };
    },

    async list() {
      const { keys } = soundRing(await ring());
      return keys.map(({ sealed: _, ...state }) => state);
    },

    problems: () => unreadable.map((id) => ({ code: 'record_unreadable', collection: 'signingKeys', id })),

    async advance() {
      const at = new Date(now());
      const before = await ring();
      if (at.getTime() < dueAt(before, policy) || !(await lease())) return;
      const isDue = (row: KeyRing) => promotionAt(row, policy) <= at.getTime();
      const [next, removeAt] = isDue(before) ? await Promise.all([make('next'), removalOf(at)]) : [[], at];
      await write((row) => {
        const kept = withoutRemoved(row, at);
        return next.length > 0 && isDue(row) ? promoted(kept, next, at, removeAt) : kept;
      });
    },

    async rotate({ now: isUrgent = false, by = {} } = {}) {
      checkAttribution(by);
      // An earlier run of the request may have replaced the keys.
      if (!isUrgent && !by.once?.isRetry) checkAnnounced(await ring(), policy, now());
      const at = new Date(now());
      const [active, next, removeAt] = await Promise.all([isUrgent ? make('active') : [], make('next'), removalOf(at)]);
      await write((row) => {
        if (isUrgent) return replaced(row, [...active, ...next], at);
        checkAnnounced(row, policy, at.getTime());
        return promoted(withoutRemoved(row, at), next, at, removeAt);
      }, by);
    },
  };
}

const generate = promisify(generateKeyPair);

/** Makes a key of each algorithm. */
function createMaker(sealer: Sealer, now: () => number) {
  const one = async (alg: StoredSigningKey['alg'], state: 'active' | 'next'): Promise<StoredSigningKey> => {
    const { privateKey } = await (alg === 'RS256' ? generate('rsa', { modulusLength: 2048 }) : generate('ec', { namedCurve: 'P-256' }));
    const jwk = privateKey.export({ format: 'jwk' }) as JWK;
    const kid = await calculateJwkThumbprint(jwk);
    const at = new Date(now());
    const times = { announcedAt: at, ...(state === 'active' ? { activatedAt: at } : {}) };
    return { kid, alg, state, sealed: sealer.encrypt(PURPOSE, kid, JSON.stringify(jwk)), ...times };
  };
  return (state: 'active' | 'next'): Promise<StoredSigningKey[]> => Promise.all([one('RS256', state), one('ES256', state)]);
}
