import Provider, { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { slotOfKey } from '../store/artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../store/artifact-store.js';
import { keyOf, kindOfToken, partsOfSessionId, successorOf } from './ids.js';
import { perRequest } from './per-request.js';
import { mergeSessions, type SessionPayload } from './session-merge.js';
import type { StoredForm } from './stored-form.js';
import { LostWrite, UnitOfWork } from './unit-of-work.js';

/** Seconds-based numbers of the adapter, from the options. */
export interface AdapterLifetimes {
  /** A spent code is remembered this long, so that a late replay still revokes what it bought. @see RFC 6749 §4.1.2 */
  readonly spentCode: number;
  /** A spent pushed request is remembered until no interaction that began with it can end. @see RFC 9126 §7.3 */
  readonly spentRequest: number;
  /** The longest a grant can live: its tombstone lasts as long when its own end is not known. */
  readonly grant: number;
  /** Within this time of its first use a one-time token used again is a retry, not a theft. */
  readonly grace: number;
}

export interface ModelAdapterOptions {
  readonly artifacts: ArtifactStore;
  readonly form: StoredForm;
  readonly lifetimes: AdapterLifetimes;
  /** Derives successors of refresh tokens. */
  readonly successorKey: Buffer;
}

export interface FoundToken {
  readonly kind: 'AccessToken' | 'ClientCredentials';
  readonly token: AdapterPayload;
  /** Absent for tokens of a client itself. */
  readonly grant?: AdapterPayload;
}

/** oidc-provider's adapter over an artifact store, one class for all models. */
export interface ModelAdapters {
  /** The adapter factory of oidc-provider's configuration. */
  readonly factory: (model: string) => Adapter;
  /** The unit of work of a request; `undefined` has one of its own, committed by the caller. */
  unitOf(ctx: object | undefined): UnitOfWork;
  /** The live record of an access token and of the grant it belongs to, for answers that are not oidc-provider's. */
  findToken(ctx: object, id: string): Promise<FoundToken | undefined>;
  /** Stores a token that is not oidc-provider's doing. */
  saveToken(ctx: object, kind: FoundToken['kind'], id: string, token: AdapterPayload & { readonly exp: number }): Promise<void>;
  /** The grant a token belongs to, when the request has read it already. */
  peekGrant(ctx: object | undefined, grantId: string): AdapterPayload | undefined;
}

export function createModelAdapters(options: ModelAdapterOptions): ModelAdapters {
  const { artifacts, form } = options;
  const ofRequest = perRequest(() => new UnitOfWork(artifacts));
  const unitOf = (ctx: object | undefined): UnitOfWork => (ctx ? ofRequest(ctx) : new UnitOfWork(artifacts));
  return {
    factory: (model) => new ModelAdapter(model, options, unitOf),
    unitOf,
    async findToken(ctx, id) {
      const kind = kindOfToken(id);
      const key = kind && keyOf(kind, id);
      if (!key || kind === 'RefreshToken') return undefined;
      const unit = unitOf(ctx);
      const reading = unit.read(key, kind === 'ClientCredentials' ? [] : ['grant']);
      const artifact = reading instanceof Promise ? await reading : reading;
      const token = artifact && form.decode(kind, id, artifact);
      if (!token || kind === 'ClientCredentials') return token && { kind, token };
      const link = artifact?.links?.grant;
      const grantArtifact = link && unit.peek(link);
      const grant = grantArtifact && token.grantId ? form.decode('Grant', token.grantId, grantArtifact) : undefined;
      return grant && grant.clientId === token.clientId && grant.accountId === token.accountId ? { kind, token, grant } : undefined;
    },
    async saveToken(ctx, kind, id, token) {
      const key = keyOf(kind, id);
      if (!key) throw new TypeError(`not an id of ${kind}`);
      const unit = unitOf(ctx);
      unit.put({ op: 'put', key, value: form.encode(kind, id, token), expiresAt: token.exp * 1000, if: 'absent' });
      await unit.commit();
    },
    peekGrant(ctx, grantId) {
      const key = keyOf('Grant', grantId);
      const artifact = key && unitOf(ctx).peek(key);
      return artifact && form.decode('Grant', grantId, artifact);
    },
  };
}

/** Models whose record is worthless without its grant: a revoked grant leaves nothing live. */
const ofGrant = new Set(['AccessToken', 'RefreshToken', 'AuthorizationCode']);
/** Models that are listed and ended by account. */
const ofAccount = new Set(['Session', 'Grant']);

/** Models that are written once, under an id that nobody else has. */
const isNew = new Set(['Grant', 'ClientCredentials', 'PushedAuthorizationRequest']);

/** Longer than any request runs. */
const REQUEST_MS = 60_000;

const now = () => Date.now();

class ModelAdapter implements Adapter {
  readonly #model: string;
  readonly #options: ModelAdapterOptions;
  readonly #unitOf: (ctx: object | undefined) => UnitOfWork;
  /** The session as a request wrote it last, and the version it wrote over. */
  readonly #written = new WeakMap<UnitOfWork, { readonly value: string; readonly version: number }>();

  constructor(model: string, options: ModelAdapterOptions, unitOf: (ctx: object | undefined) => UnitOfWork) {
    this.#model = model;
    this.#options = options;
    this.#unitOf = unitOf;
  }

  /** A session is found by its whole identifier: the uid in it, which names its record, is no secret. */
  find(id: string): Promise<AdapterPayload | undefined> {
    return this.#model === 'Session' && !partsOfSessionId(id) ? Promise.resolve(undefined) : this.#find(id);
  }

  async #find(id: string): Promise<AdapterPayload | undefined> {
    const key = this.#keyOf(id);
    if (!key) return undefined;
    const ctx = Provider.ctx;
    const unit = this.#unitOf(ctx);
    const reading = unit.read(key, this.#follow(ctx), this.#along(ctx));
    const artifact = reading instanceof Promise ? await reading : reading;
    if (!artifact) return undefined;
    const payload = this.#options.form.decode(this.#model, id, artifact);
    if (!payload) return undefined;
    if (ofGrant.has(this.#model)) {
      const grant = artifact.links?.grant && unit.read(artifact.links.grant);
      if (!(grant instanceof Promise ? await grant : grant)) return undefined;
    }
    return artifact.consumedAt === undefined ? payload : this.#spent(payload, artifact, unit, ctx);
  }

  /** Sessions are kept under their uid; who knows only that gets no identifier. */
  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#find(uid);
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const key = this.#keyOf(id);
    if (!key) throw new TypeError(`not an id of ${this.#model}`);
    const ctx = Provider.ctx;
    const unit = this.#unitOf(ctx);
    const write: Put = {
      op: 'put',
      key,
      value: this.#options.form.encode(this.#model, id, payload),
      expiresAt: payload.exp === undefined ? now() + expiresIn * 1000 : payload.exp * 1000,
      ...(ofAccount.has(this.#model) && payload.accountId ? { account: payload.accountId } : {}),
      ...(ofGrant.has(this.#model) && payload.grantId ? { links: grantLink(payload.grantId) } : {}),
    };
    if (this.#model === 'Session') {
      if (!ctx) await unit.read(key);
      this.#putSession(write, payload as SessionPayload, unit);
    } else if (this.#model === 'ReplayDetection') await this.#putOnce(write, ctx);
    else if (this.#model !== 'RefreshToken' || !unit.peek(key)) unit.put(isNew.has(this.#model) ? { ...write, if: 'absent' } : write);
    if (!ctx) await unit.commit();
  }

  async consume(id: string): Promise<void> {
    const key = this.#keyOf(id);
    const unit = this.#unitOf(Provider.ctx);
    const artifact = key && unit.peek(key);
    if (this.#model === 'RefreshToken') this.#holdGrant(artifact, unit);
    if (!artifact || artifact.consumedAt !== undefined) return;
    const { spentCode, spentRequest } = this.#options.lifetimes;
    const remember = this.#model === 'AuthorizationCode' ? spentCode : this.#model === 'PushedAuthorizationRequest' ? spentRequest : 0;
    const { version: _version, ...record } = artifact;
    unit.put({
      ...record,
      op: 'put',
      consumedAt: now(),
      expiresAt: Math.max(record.expiresAt, now() + remember * 1000),
      if: 'unconsumed',
      ...(this.#model === 'RefreshToken' ? { links: { ...record.links, successor: this.#successorKey(id) } } : {}),
    });
  }

  /** Writes the grant as it is, with what is bought of it: a logout or revocation meanwhile makes the whole commit lose. */
  #holdGrant(artifact: Artifact | undefined, unit: UnitOfWork): void {
    const grant = artifact?.links?.grant && unit.peek(artifact.links.grant);
    if (!grant) return;
    const { version: _version, ...record } = grant;
    unit.put({ ...record, op: 'put' });
  }

  async destroy(id: string): Promise<void> {
    const key = this.#keyOf(id);
    if (key) await this.#remove(key, REQUEST_MS);
  }

  /** A token lives as long as its grant: ending the grant ends them all, in one write. */
  async revokeByGrantId(grantId: string): Promise<void> {
    const key = keyOf('Grant', grantId);
    if (key) await this.#remove(key, this.#options.lifetimes.grant * 1000);
  }

  /** The tombstone lasts until the record would have ended, and at least as long as a request that may write it yet. */
  async #remove(key: ArtifactKey, unknownEnd: number): Promise<void> {
    const ctx = Provider.ctx;
    const unit = this.#unitOf(ctx);
    const known = unit.peek(key)?.expiresAt;
    unit.remove(key, known === undefined ? now() + unknownEnd : Math.max(known, now() + REQUEST_MS));
    if (!ctx) await unit.commit();
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  #keyOf(id: string): ArtifactKey | undefined {
    return keyOf(this.#model, this.#model === 'Session' ? (partsOfSessionId(id)?.uid ?? id) : id);
  }

  #successorKey(id: string): ArtifactKey {
    return keyOf('RefreshToken', successorOf(id, this.#options.successorKey)) as ArtifactKey;
  }

  /** Records this request will want next come along in the same round trip. */
  #follow(ctx: KoaContextWithOIDC | undefined): readonly string[] {
    if (this.#model === 'Session') {
      const { client_id: clientId } = ctx?.query ?? {};
      return typeof clientId === 'string' ? [grantLinkOf(clientId)] : [];
    }
    return this.#model === 'RefreshToken' ? ['grant', 'successor'] : ofGrant.has(this.#model) ? ['grant'] : [];
  }

  /** A request that was pushed is in a slot of its own, and wanted right after the session. @see RFC 9126 §4 */
  #along(ctx: KoaContextWithOIDC | undefined): readonly ArtifactKey[] {
    const { request_uri: uri } = (this.#model === 'Session' && ctx?.query) || {};
    const key = typeof uri === 'string' ? keyOf('PushedAuthorizationRequest', uri.slice(uri.lastIndexOf(':') + 1)) : undefined;
    return key ? [key] : [];
  }

  /** A one-time record that was used before: a retry, or a replay that ends the whole grant. */
  async #spent(
    payload: AdapterPayload,
    artifact: Artifact,
    unit: UnitOfWork,
    ctx: KoaContextWithOIDC | undefined,
  ): Promise<AdapterPayload | undefined> {
    const spentAt = artifact.consumedAt as number;
    const isRetry = now() - spentAt < this.#options.lifetimes.grace * 1000;
    if (this.#model === 'AuthorizationCode') {
      if (!isRetry && payload.grantId && payload.clientId === ctx?.oidc?.client?.clientId) await this.revokeByGrantId(payload.grantId);
      return undefined;
    }
    if (this.#model === 'RefreshToken' && isRetry) {
      const successor = await unit.read(this.#successorKey(payload.jti as string));
      if (successor && successor.consumedAt === undefined) return payload;
    }
    return { ...payload, consumed: Math.floor(spentAt / 1000) };
  }

  #putSession(write: Put, payload: SessionPayload, unit: UnitOfWork): void {
    const before = unit.peek(write.key);
    // oidc-provider does not learn what an earlier write of this request was merged with: to it, its own write is what is there.
    const own = this.#written.get(unit);
    if (before && !own && isFresh(before, write)) return;
    const next: Put = { ...write, links: grantLinks(payload, write.key), if: before ? { version: before.version } : 'absent' };
    const base = before && own && before.version > own.version ? { ...before, value: own.value } : before;
    const put = base === before ? next : (mergeSessions(base, next, before) ?? next);
    if (before && isFresh(before, put)) return;
    this.#written.set(unit, { value: next.value, version: before?.version ?? 0 });
    unit.put(put, (fresh) => mergeSessions(base, next, fresh));
  }

  /** Insert-if-absent at once: what a check and a later save would let through twice. @see RFC 7523 §3 */
  async #putOnce(write: Put, ctx: KoaContextWithOIDC | undefined): Promise<void> {
    const unit = new UnitOfWork(this.#options.artifacts);
    unit.put({ ...write, if: 'absent' });
    try {
      await unit.commit();
    } catch (error) {
      if (!(error instanceof LostWrite)) throw error;
      if (ctx?.oidc.params?.client_assertion) throw new errors.InvalidClientAuth('client assertion tokens must only be used once');
      throw new errors.InvalidDpopProof('DPoP proof JWT replay detected');
    }
  }
}

const grantLinkOf = (clientId: string): string => `grant:${clientId}`;

/** The grants of a session's clients, by client. Links stay in the slot; a pairwise client's grant has one of its own. */
function grantLinks({ authorizations = {} }: SessionPayload, session: ArtifactKey): Record<string, ArtifactKey> {
  const links: Record<string, ArtifactKey> = {};
  for (const [clientId, { grantId }] of Object.entries(authorizations)) {
    const key = grantId && keyOf('Grant', grantId);
    if (key && slotOfKey(key) === slotOfKey(session)) links[grantLinkOf(clientId)] = key;
  }
  return links;
}

const grantLink = (grantId: string): Record<string, ArtifactKey> => {
  const key = keyOf('Grant', grantId);
  return key ? { grant: key } : {};
};

/** True when a write would only move the end of the record by less than a twentieth of its life. */
const isFresh = (before: Artifact, next: Put): boolean =>
  next.expiresAt - before.expiresAt < (next.expiresAt - now()) / 20 && next.expiresAt >= before.expiresAt && before.value === next.value;
