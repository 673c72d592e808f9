/** Keys that sign SAML messages: those of the options, else those that the service makes and keeps, and an administrator replaces. */
import { createPrivateKey } from 'node:crypto';
import { type Attribution, type Awaitable, type ExtensionContext, type ExtensionProblem, IdpError } from '../../../lib/extension-door.js';
import type { Signer } from '../xml/sign.js';
import { createCertifiedKey, createSigner, x509Of } from './certificate.js';
import { givenKeys } from './given-keys.js';
import { activeOf, type KeyRing, keyOf, keyRings, type StoredKey, withActive, withNext, withoutKey } from './key-ring.js';
import type { PublishedKey, SamlKeyPair } from './published-keys.js';

/** A key without its private part. A key of the options has no times. */
export type SamlKey = PublishedKey & Partial<Pick<StoredKey, 'createdAt' | 'activatedAt' | 'retiredAt'>>;

/** Keys as one row has them; nodes agree within a second. Keys of the options are changed there: operations throw IdpError `keys_given`. */
export interface SamlKeys {
  /** Before the service answers: makes the first key, and seals keys anew whose secret is not the newest. A key that cannot be read is logged. */
  start(): Promise<void>;
  /** By the active key; a promise only if it is not at hand. @throws IdpError `undecipherable`, because no other key may stand in for it */
  signer(): Awaitable<Signer>;
  /** Those in metadata; a promise only if they are not at hand. */
  published(): Awaitable<readonly PublishedKey[]>;
  /** As they are stored now. */
  list(): Promise<readonly SamlKey[]>;
  /** Makes the next key. @throws IdpError `saml_next_key_exists`, `saml_key_limit` */
  add(id: string, by: Attribution): Promise<SamlKey>;
  /**
   * Lets the next key sign, or one that is retiring again. @param isUrgent whether service providers may learn of the key too late
   * @throws IdpError `not_found`, `key_not_announced`
   */
  activate(id: string, isUrgent: boolean, by: Attribution): Promise<SamlKey>;
  /** @throws IdpError `not_found`, `saml_key_active` */
  remove(id: string, by: Attribution): Promise<void>;
  /** For the health of the service. */
  problems(): Promise<readonly ExtensionProblem[]>;
}

/** Names the one row. */
const RING = 'ring';
/** Milliseconds that an answer of the store is remembered for: a change is on every node within about a second. */
const RECENT_MS = 1000;
/** Milliseconds before its end from which a certificate is a problem. */
const ENDING_MS = 60 * 86_400_000;

export const createSamlKeys = (context: ExtensionContext, options: { readonly keys?: readonly SamlKeyPair[] | undefined }): SamlKeys =>
  options.keys ? createGivenKeys(options.keys, context) : createKeptKeys(context);

const endingProblems = ({ id, certificate }: PublishedKey, now: number): readonly ExtensionProblem[] =>
  Date.parse(x509Of(certificate).validTo) - now < ENDING_MS ? [{ code: 'saml_certificate_ends', id }] : [];

function createGivenKeys(pairs: readonly SamlKeyPair[], { service: { now } }: Pick<ExtensionContext, 'service'>): SamlKeys {
  const { keys, signer } = givenKeys(pairs);
  const refuse = () => Promise.reject(new IdpError('keys_given'));
  return {
    start: async () => {},
    signer: () => signer,
    published: () => keys,
    list: async () => keys,
    add: refuse,
    activate: refuse,
    remove: refuse,
    problems: async () => keys.slice(0, 1).flatMap((key) => endingProblems(key, now())),
  };
}

function createKeptKeys({ service: { issuer, logger, now }, records: { collection, ofInstance }, keys }: ExtensionContext): SamlKeys {
  const seal = keys.seal('saml.signing-key');
  const name = new URL(issuer).hostname;
  const rows = () => collection(keyRings, ofInstance);
  let recent: { readonly ring: KeyRing; readonly until: number } | undefined;
  let asked: Promise<KeyRing> | undefined;
  let opened: { readonly sealed: string; readonly signer: Signer } | undefined;

  async function createKey(id: string, state: 'active' | 'next'): Promise<StoredKey> {
    const { key, certificate } = await createCertifiedKey(name, now());
    const createdAt = new Date(now()).toISOString();
    return { id, state, certificate, sealed: seal.seal(id, key), createdAt, ...(state === 'active' && { activatedAt: createdAt }) };
  }

  /** The row; the first node that misses it makes it. @throws IdpError `record_unreadable` for a row that is there and cannot be read */
  async function stored(): Promise<KeyRing> {
    const found = await rows().get(RING);
    if (found) return found;
    const first = await createKey(crypto.randomUUID(), 'active');
    const added = { type: 'SamlSigningKeyAdded' as const, data: { AggregateId: first.id, State: 'active' as const } };
    await rows()
      .insert({ keys: [first] }, { id: RING, events: [added] })
      .catch(IdpError.unless('conflict'));
    const ring = await rows().get(RING);
    if (!ring) throw new IdpError('record_unreadable', { record: 'saml.keys', id: RING });
    return ring;
  }

  const keep = (ring: KeyRing): KeyRing => {
    // What was asked for before a change of this node may be answered after it.
    if (!recent || ring.version >= recent.ring.version) recent = { ring, until: performance.now() + RECENT_MS };
    return recent.ring;
  };

  /** The row as it was within a second, or as it was known last while the store is away. */
  function known(): Awaitable<KeyRing> {
    if (recent && performance.now() < recent.until) return recent.ring;
    asked ??= stored()
      .then(keep, (error: unknown) => {
        if (!recent) throw error;
        return recent.ring;
      })
      .finally(() => {
        asked = undefined;
      });
    return asked;
  }

  /** @throws IdpError `undecipherable` */
  function open({ id, sealed }: StoredKey): string {
    try {
      return seal.open(id, sealed);
    } catch (cause) {
      throw new IdpError('undecipherable', { record: 'saml.keys', id }, { cause });
    }
  }

  function signerOf(ring: KeyRing): Signer {
    const active = activeOf(ring);
    if (opened?.sealed !== active.sealed)
      opened = { sealed: active.sealed, signer: createSigner(createPrivateKey(open(active)), active.certificate) };
    return opened.signer;
  }

  const isReadable = (key: StoredKey): boolean => {
    try {
      open(key);
      return true;
    } catch {
      return false;
    }
  };

  const view = ({ sealed: _, ...key }: StoredKey): SamlKey => key;

  /** Undefined for a row that cannot be read, because what needs no SAML goes on. */
  const unlessUnreadable = async (asking: Awaitable<KeyRing>): Promise<KeyRing | undefined> => {
    try {
      return await asking;
    } catch (error) {
      if (!IdpError.is(error, 'record_unreadable')) throw error;
      return undefined;
    }
  };

  return {
    async start() {
      const ring = await unlessUnreadable(stored());
      if (!ring) {
        logger.error({ collection: 'saml.keys', id: RING }, 'the SAML signing keys are not of their form: fix the row in the store');
        return;
      }
      for (const { id } of ring.keys.filter((key) => !isReadable(key)))
        logger.error({ collection: 'saml.keys', id }, 'a SAML signing key cannot be read: was its secret removed from keys.encryption?');
      const isStale = (key: StoredKey) => !seal.isCurrent(key.sealed) && isReadable(key);
      if (!ring.keys.some(isStale)) return;
      const anew = (key: StoredKey): StoredKey => (isStale(key) ? { ...key, sealed: seal.seal(key.id, open(key)) } : key);
      await rows().update(RING, (row) => ({ ...row, keys: row.keys.map(anew) }));
    },

    signer() {
      const ring = known();
      return ring instanceof Promise ? ring.then(signerOf) : signerOf(ring);
    },

    published() {
      const ring = known();
      return ring instanceof Promise ? ring.then(({ keys }) => keys.map(view)) : ring.keys.map(view);
    },

    list: async () => (await stored()).keys.map(view),

    async add(id, by) {
      const before = await stored();
      const made = before.keys.find((key) => key.id === id);
      if (made) return view(made);
      // A key takes a while to make: what would be refused is, before.
      withNext(before, { ...activeOf(before), id, state: 'next' });
      const next = await createKey(id, 'next');
      const added = { type: 'SamlSigningKeyAdded' as const, data: { AggregateId: id, State: 'next' as const }, by };
      return view(keyOf(keep(await rows().update(RING, (row) => withNext(row, next), [added])), id));
    },

    async activate(id, isUrgent, by) {
      await stored();
      const told = (before: KeyRing) => {
        const { id: previous } = activeOf(before);
        const data = { AggregateId: id, PreviousKeyId: previous };
        return previous === id ? [] : [{ type: 'SamlSigningKeyActivated' as const, data, by }];
      };
      const ring = await rows().update(RING, (row) => withActive(row, id, new Date(now()), isUrgent), told);
      return view(keyOf(keep(ring), id));
    },

    async remove(id, by) {
      await stored();
      const removed = { type: 'SamlSigningKeyRemoved' as const, data: { AggregateId: id }, by };
      keep(await rows().update(RING, (row) => withoutKey(row, id), [removed]));
    },

    async problems() {
      const ring = await unlessUnreadable(known());
      if (!ring) return [{ code: 'saml_key_unreadable', id: RING }];
      const unreadable = ring.keys.filter((key) => !isReadable(key)).map(({ id }) => ({ code: 'saml_key_unreadable', id }));
      return [...unreadable, ...endingProblems(activeOf(ring), now())];
    },
  };
}
