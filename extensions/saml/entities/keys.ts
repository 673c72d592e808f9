/** Signing keys of SAML messages: the signing keys of the options, else stored signing keys that the service creates and administrators rotate. */
import { createPrivateKey } from 'node:crypto';
import {
  type Attribution,
  type Awaitable,
  type CachedRows,
  type ExtensionContext,
  type ExtensionProblem,
  type ExtensionRows,
  IdpError,
  type Seal,
} from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';
import type { Signer } from '../xml/sign.js';
import { createCertifiedKey, createSigner, x509Of } from './certificate.js';
import { givenKeys } from './given-keys.js';
import { activeOf, type KeyRing, keyOf, keyRings, type StoredKey, withActive, withNext, withoutKey } from './key-ring.js';
import type { PublishedKey, SamlKeyPair } from './published-keys.js';

/** A signing key without its private part. A signing key of the options has no instants. */
export type SamlKey = PublishedKey & Partial<Pick<StoredKey, 'createdAt' | 'activatedAt' | 'retiredAt'>>;

/** Signing keys. All nodes agree on stored signing keys within a second. Changes of signing keys that the options give throw IdpError `keys_given`. */
export interface SamlKeys {
  /**
   * Runs before the service answers. Creates the first signing key, and encrypts signing keys again if their secret is not the newest. Logs signing keys
   * that cannot be decrypted.
   */
  start(): Promise<void>;
  /**
   * Returns the signer of the active signing key. The answer is a promise only if the cache does not have the row.
   * @throws IdpError `undecipherable`, because no other signing key may replace the active one
   */
  signer(): Awaitable<Signer>;
  /** Returns the signing keys for metadata. The answer is a promise only if the cache does not have the row. */
  published(): Awaitable<readonly PublishedKey[]>;
  /** Returns the signing keys as they are stored now. */
  list(): Promise<readonly SamlKey[]>;
  /** Creates the next signing key. @throws IdpError `saml_next_key_exists`, `saml_key_limit` */
  add(id: string, by: Attribution): Promise<SamlKey>;
  /**
   * Activates the next signing key, or a retiring signing key again. @param isUrgent whether the signing key may sign before all service providers can know
   * it
   * @throws IdpError `not_found`, `key_not_announced`
   */
  activate(id: string, isUrgent: boolean, by: Attribution): Promise<SamlKey>;
  /** Removes a signing key. @throws IdpError `not_found`, `saml_key_active` */
  remove(id: string, by: Attribution): Promise<void>;
  /** Returns problems of the signing keys for the health of the service. */
  problems(): Promise<readonly ExtensionProblem[]>;
}

/** Id of the one row. */
const RING = 'ring';
/** Milliseconds before the end of a certificate from which health reports the certificate. */
const ENDING_MS = 60 * 86_400_000;

export const createSamlKeys = (context: ExtensionContext, options: { readonly keys?: readonly SamlKeyPair[] | undefined }): SamlKeys =>
  options.keys ? createGivenKeys(options.keys, context) : new StoredKeys(context);

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

class StoredKeys implements SamlKeys {
  readonly #service: Pick<ExtensionContext['service'], 'logger' | 'now'>;
  readonly #rows: ExtensionRows<Pick<KeyRing, 'keys'>>;
  readonly #cached: CachedRows<Pick<KeyRing, 'keys'>>;
  readonly #seal: Seal;
  /** Host of the issuer, the subject of certificates. */
  readonly #name: string;
  #opened: { readonly sealed: string; readonly signer: Signer } | undefined;

  constructor({ service, records, keys }: ExtensionContext) {
    this.#service = service;
    this.#rows = records.collection(keyRings, records.ofInstance);
    this.#cached = records.cached(keyRings);
    this.#seal = keys.seal('saml.signing-key');
    this.#name = new URL(service.issuer).hostname;
  }

  async start(): Promise<void> {
    const { logger } = this.#service;
    const ring = await unlessUnreadable(this.#stored());
    if (!ring) {
      logger.error({ collection: 'saml.keys', id: RING }, 'the row of the SAML signing keys is malformed');
      return;
    }
    for (const { id } of ring.keys.filter((key) => !this.#isReadable(key)))
      logger.error(
        { collection: 'saml.keys', id },
        'a SAML signing key is unreadable with the secrets in keys.encryption, so the service cannot sign with it',
      );
    const isStale = (key: StoredKey) => !this.#seal.isCurrent(key.sealed) && this.#isReadable(key);
    if (!ring.keys.some(isStale)) return;
    const resealed = (key: StoredKey): StoredKey => (isStale(key) ? { ...key, sealed: this.#seal.seal(key.id, this.#open(key)) } : key);
    await this.#rows.update(RING, (row) => ({ ...row, keys: row.keys.map(resealed) }));
  }

  signer(): Awaitable<Signer> {
    return awaited(this.#recent(), (ring) => this.#signerOf(ring));
  }

  published(): Awaitable<readonly PublishedKey[]> {
    return awaited(this.#recent(), ({ keys }) => keys.map(view));
  }

  async list(): Promise<readonly SamlKey[]> {
    return (await this.#stored()).keys.map(view);
  }

  async add(id: string, by: Attribution): Promise<SamlKey> {
    const before = await this.#stored();
    const existing = before.keys.find((key) => key.id === id);
    if (existing) return view(existing);
    // Refuses early, because a signing key takes a while to create.
    withNext(before, { ...activeOf(before), id, state: 'next' });
    const next = await this.#createKey(id, 'next');
    const added = { type: 'SamlSigningKeyAdded' as const, data: { AggregateId: id, State: 'next' as const }, by };
    return view(keyOf(await this.#rows.update(RING, (row) => withNext(row, next), [added]), id));
  }

  async activate(id: string, isUrgent: boolean, by: Attribution): Promise<SamlKey> {
    await this.#stored();
    const events = (before: Pick<KeyRing, 'keys'>) => {
      const { id: previous } = activeOf(before);
      const data = { AggregateId: id, PreviousKeyId: previous };
      return previous === id ? [] : [{ type: 'SamlSigningKeyActivated' as const, data, by }];
    };
    const ring = await this.#rows.update(RING, (row) => withActive(row, id, new Date(this.#service.now()), isUrgent), events);
    return view(keyOf(ring, id));
  }

  async remove(id: string, by: Attribution): Promise<void> {
    await this.#stored();
    const removed = { type: 'SamlSigningKeyRemoved' as const, data: { AggregateId: id }, by };
    await this.#rows.update(RING, (row) => withoutKey(row, id), [removed]);
  }

  async problems(): Promise<readonly ExtensionProblem[]> {
    const ring = await unlessUnreadable(this.#recent());
    if (!ring) return [{ code: 'saml_key_unreadable', id: RING }];
    const unreadable = ring.keys.filter((key) => !this.#isReadable(key)).map(({ id }) => ({ code: 'saml_key_unreadable', id }));
    return [...unreadable, ...endingProblems(activeOf(ring), this.#service.now())];
  }

  /** Returns the row, at most a second old, or its last known state while the store is unavailable. */
  #recent(): Awaitable<KeyRing> {
    return awaited(this.#cached.get(RING), (ring) => ring ?? this.#stored());
  }

  /** Returns the row. The first node that finds no row creates the row. @throws IdpError `record_unreadable` for an unreadable row */
  async #stored(): Promise<KeyRing> {
    const stored = await this.#rows.get(RING);
    if (stored) return stored;
    const first = await this.#createKey(crypto.randomUUID(), 'active');
    const added = { type: 'SamlSigningKeyAdded' as const, data: { AggregateId: first.id, State: 'active' as const } };
    await this.#rows.insert({ keys: [first] }, { id: RING, events: [added] }).catch(IdpError.unless('conflict'));
    const ring = await this.#rows.get(RING);
    if (!ring) throw new IdpError('record_unreadable', { record: 'saml.keys', id: RING });
    return ring;
  }

  async #createKey(id: string, state: 'active' | 'next'): Promise<StoredKey> {
    const { now } = this.#service;
    const { key, certificate } = await createCertifiedKey(this.#name, now());
    const createdAt = new Date(now()).toISOString();
    return { id, state, certificate, sealed: this.#seal.seal(id, key), createdAt, ...(state === 'active' && { activatedAt: createdAt }) };
  }

  #signerOf(ring: KeyRing): Signer {
    const active = activeOf(ring);
    if (this.#opened?.sealed !== active.sealed)
      this.#opened = { sealed: active.sealed, signer: createSigner(createPrivateKey(this.#open(active)), active.certificate) };
    return this.#opened.signer;
  }

  /** Decrypts the private key. @throws IdpError `undecipherable` */
  #open({ id, sealed }: StoredKey): string {
    try {
      return this.#seal.open(id, sealed);
    } catch (cause) {
      throw new IdpError('undecipherable', { record: 'saml.keys', id }, { cause });
    }
  }

  #isReadable(key: StoredKey): boolean {
    try {
      this.#open(key);
      return true;
    } catch {
      return false;
    }
  }
}

const view = ({ sealed: _, ...key }: StoredKey): SamlKey => key;

/** Returns undefined for an unreadable row, so that the rest of the service works without SAML. */
async function unlessUnreadable(asking: Awaitable<KeyRing>): Promise<KeyRing | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (!IdpError.is(error, 'record_unreadable')) throw error;
    return undefined;
  }
}
