/**
 * Artifacts: oidc-provider's models as records of the artifact store, and the adapter for oidc-provider's configuration.
 *
 * A request reads and writes through one `unit-of-work`, which commits before the response is made. An id names its kind and its slot without I/O (`ids`).
 * A stored record holds nothing that can be replayed (`stored-form`). Sessions and grants have short names and say nothing twice (`short-form`).
 */
import Provider, { type Adapter, type AdapterPayload, type KoaContextWithOIDC } from 'oidc-provider';
import { present } from '../../present.js';
import { slotOfKey } from '../../store/artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../../store/artifact-store.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';
import { nodeSeconds, nodeTime } from '../../times/node-time.js';
import { keyOf, partsOfSessionId, pushedIdOf } from './ids.js';
import { LostWrite, lateRefusals } from './lost-writes.js';
import { type Model, modelOf } from './models.js';
import { perRequest } from './per-request.js';
import { mergeSessions, type SessionPayload } from './session-merge.js';
import type { StoredForm } from './stored-form.js';
import { isDamaged } from './stored-records.js';
import { type RefreshUse, type Spending, type TokenLifetimes, type TokenRecords, tombstoneEnd } from './token-records.js';
import { type CheckBegun, UnitOfWork } from './unit-of-work.js';

export interface ModelAdapterOptions {
  readonly artifacts: ArtifactStore;
  readonly form: StoredForm;
  readonly lifetimes: TokenLifetimes;
  readonly tokens: TokenRecords;
  /** Returns the data to store of a request that uses a refresh token. */
  readonly useOf: (ctx: KoaContextWithOIDC, token: string) => RefreshUse;
  /** Returns the lifetime of access tokens that the request's client sets, in seconds. */
  readonly accessTokenOf: (ctx: KoaContextWithOIDC) => number | undefined;
  /** Returns members of a code that describe its request. */
  readonly codeRequestOf: (ctx: KoaContextWithOIDC) => object;
  readonly checkBegun: CheckBegun;
}

/** Adapters of oidc-provider over an artifact store: one class for all models. */
export interface ModelAdapters {
  /** Returns the adapter of a model, for oidc-provider's configuration. */
  readonly factory: (model: string) => Adapter;
  /** Returns the unit of work of a request. For `undefined`, returns a new unit of work, which the calling code commits. */
  unitOf(ctx: object | undefined): UnitOfWork;
  readonly tokens: TokenRecords;
  /** Returns the grant of a token, if the request has read it already. */
  peekGrant(ctx: object | undefined, grantId: string): AdapterPayload | undefined;
}

export function createModelAdapters(options: ModelAdapterOptions): ModelAdapters {
  const { artifacts, form, tokens, checkBegun } = options;
  const ofRequest = perRequest(() => new UnitOfWork(artifacts, checkBegun));
  const unitOf = (ctx: object | undefined): UnitOfWork => (ctx ? ofRequest(ctx) : new UnitOfWork(artifacts));
  return {
    factory: (model) => new ModelAdapter(model, options, unitOf),
    unitOf,
    tokens,
    peekGrant(ctx, grantId) {
      const key = keyOf('Grant', grantId);
      const artifact = key && unitOf(ctx).peek(key);
      return artifact && form.decode('Grant', grantId, artifact);
    },
  };
}

/** Maximum seconds that the `iat` of a DPoP proof may be ahead of the clock. oidc-provider remembers a proof from its use on, not from its `iat` on. */
const PROOF_AHEAD_SECONDS = 300;

class ModelAdapter implements Adapter {
  readonly #model: string;
  readonly #row: Model;
  readonly #options: ModelAdapterOptions;
  readonly #unitOf: (ctx: object | undefined) => UnitOfWork;
  /** Values that a request recorded as used. A retried request has the same proof, which is no replay. @see RFC 9449 §11.1 */
  readonly #usedBy = perRequest(() => new Set<string>());
  /** The session as the request last wrote it, and the version that the write replaced. */
  readonly #written = new WeakMap<UnitOfWork, Pick<Artifact, 'value' | 'account' | 'version'>>();

  constructor(model: string, options: ModelAdapterOptions, unitOf: (ctx: object | undefined) => UnitOfWork) {
    this.#model = model;
    this.#row = modelOf(model);
    this.#options = options;
    this.#unitOf = unitOf;
  }

  /** Finds a session by its whole identifier, because the uid in it, which names its record, is not secret. */
  find(id: string): Promise<AdapterPayload | undefined> {
    return this.#isSession && !partsOfSessionId(id) ? Promise.resolve(undefined) : this.#find(id);
  }

  async #find(id: string): Promise<AdapterPayload | undefined> {
    const key = this.#keyOf(id);
    if (!key) return undefined;
    const ctx = Provider.ctx;
    if (this.#row.write === 'at once' && ctx && this.#usedBy(ctx).has(id)) return undefined;
    const unit = this.#unitOf(ctx);
    const reading = unit.read(key, this.#follow(ctx), this.#along(ctx));
    const artifact = reading instanceof Promise ? await reading : reading;
    if (!artifact) return undefined;
    const payload = this.#options.form.decode(this.#model, id, artifact);
    if (!payload) return undefined;
    if (this.#row.ofGrant) {
      const grant = artifact.links?.grant && unit.read(artifact.links.grant);
      const record = grant instanceof Promise ? await grant : grant;
      if (!record || isDamaged(record)) return undefined;
    }
    return artifact.consumedAt === undefined ? payload : this.#spent(payload, artifact, unit, ctx);
  }

  /** Finds a session by its uid. Code that knows only the uid does not get the identifier. */
  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#find(uid);
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const ctx = Provider.ctx;
    const unit = this.#unitOf(ctx);
    const end = payload.exp ?? nodeSeconds() + expiresIn;
    if (this.#row.write === 'merged') await this.#upsertSession(id, payload as SessionPayload, end, ctx, unit);
    else if (this.#row.write === 'at once')
      await this.#use(id, this.#write(id, payload, end + PROOF_AHEAD_SECONDS + MAX_APART_SECONDS), ctx);
    else {
      const request = ctx && this.#model === 'AuthorizationCode' ? this.#options.codeRequestOf(ctx) : {};
      this.#options.tokens.put(unit, this.#model, id, { ...payload, ...request }, end);
    }
    if (!ctx) await unit.commit();
  }

  async #upsertSession(
    id: string,
    payload: SessionPayload,
    end: number,
    ctx: KoaContextWithOIDC | undefined,
    unit: UnitOfWork,
  ): Promise<void> {
    const write = this.#write(id, payload as AdapterPayload, end);
    if (!ctx) await unit.read(write.key);
    this.#putSession(write, payload, unit);
  }

  #write(id: string, payload: AdapterPayload, end: number): Put {
    const key = this.#keyOf(id);
    if (!key) throw new TypeError(`not an id of ${this.#model}`);
    const account = this.#row.ofAccount && payload.accountId ? { account: payload.accountId } : {};
    return { op: 'put', key, value: this.#options.form.encode(this.#model, id, payload), expiresAt: end * 1000, ...account };
  }

  async consume(id: string): Promise<void> {
    const { ctx } = Provider;
    this.#options.tokens.spend(this.#unitOf(ctx), this.#model, id, ctx && this.#spending(ctx, id));
  }

  #spending(ctx: KoaContextWithOIDC, id: string): Spending {
    const { again } = this.#row.spent ?? {};
    if (again === 'retries') return { use: this.#options.useOf(ctx, id) };
    return again === 'ends' ? { accessToken: this.#options.accessTokenOf(ctx) } : {};
  }

  async destroy(id: string): Promise<void> {
    const key = this.#keyOf(id);
    if (key) await this.#remove(key);
  }

  /** Ends a grant and so all its tokens, in one write. */
  async revokeByGrantId(grantId: string): Promise<void> {
    const key = keyOf('Grant', grantId);
    if (key) await this.#remove(key, this.#options.lifetimes.grant * 1000);
  }

  async #remove(key: ArtifactKey, unknownEnd?: number): Promise<void> {
    const ctx = Provider.ctx;
    const unit = this.#unitOf(ctx);
    unit.remove(key, tombstoneEnd(unit.peek(key)?.expiresAt, unknownEnd));
    if (!ctx) await unit.commit();
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  get #isSession(): boolean {
    return this.#row.form === 'session';
  }

  #keyOf(id: string): ArtifactKey | undefined {
    return keyOf(this.#model, this.#isSession ? (partsOfSessionId(id)?.uid ?? id) : id);
  }

  /** Returns the store links to records that this request will read next. The records are read in the same round trip. */
  #follow(ctx: KoaContextWithOIDC | undefined): readonly string[] {
    if (this.#isSession) {
      const { client_id: clientId } = ctx?.query ?? {};
      return typeof clientId === 'string' ? [grantLinkOf(clientId)] : [];
    }
    return this.#row.follow;
  }

  /** Returns the store key of a pushed request, which is in its own slot and is read right after the session. @see RFC 9126 §4 */
  #along(ctx: KoaContextWithOIDC | undefined): readonly ArtifactKey[] {
    const { request_uri: uri } = (this.#isSession && ctx?.query) || {};
    const id = typeof uri === 'string' ? pushedIdOf(uri) : undefined;
    const key = id === undefined ? undefined : keyOf('PushedAuthorizationRequest', id);
    return key ? [key] : [];
  }

  /** Answers the use of a one-time record that was used before. The use is a retry or a replay. A replay ends the whole grant. */
  async #spent(
    payload: AdapterPayload,
    artifact: Artifact,
    unit: UnitOfWork,
    ctx: KoaContextWithOIDC | undefined,
  ): Promise<AdapterPayload | undefined> {
    const spentAt = artifact.consumedAt as number;
    const { again } = this.#row.spent ?? {};
    if (again === 'ends') {
      await this.#options.tokens.endReplayed(unit, payload.jti as string, ctx?.oidc?.client?.clientId);
      return undefined;
    }
    const retried = again === 'retries' ? await this.#options.tokens.findRetried(unit, payload.jti as string) : undefined;
    return retried?.token ?? { ...payload, consumed: Math.floor(spentAt / 1000) };
  }

  #putSession(write: Put, payload: SessionPayload, unit: UnitOfWork): void {
    const before = unit.peek(write.key);
    // oidc-provider does not know the record with which an earlier write of this request was merged. oidc-provider regards its own write as the state.
    const own = this.#written.get(unit);
    if (before && !own && isFresh(before, write)) return;
    const next: Put = { ...write, links: grantLinks(payload, write.key), if: before ? { version: before.version } : 'absent' };
    const base = before && own && before.version > own.version ? own : before;
    const put = base === before ? next : (mergeSessions(base, next, before) ?? next);
    if (before && isFresh(before, put)) return;
    this.#written.set(unit, { value: next.value, version: before?.version ?? 0, ...present({ account: next.account }) });
    unit.put(put, (fresh) => mergeSessions(base, next, fresh));
  }

  /** Inserts the record immediately if the record is absent. A check and a later write would let two requests through. @see RFC 7523 §3 */
  async #use(id: string, write: Put, ctx: KoaContextWithOIDC | undefined): Promise<void> {
    if (ctx && this.#usedBy(ctx).has(id)) return;
    const unit = new UnitOfWork(this.#options.artifacts);
    unit.put({ ...write, if: 'absent' });
    try {
      await unit.commit();
    } catch (error) {
      if (!(error instanceof LostWrite)) throw error;
      throw ctx?.oidc.params?.client_assertion ? lateRefusals.assertClient() : lateRefusals.provePossession();
    }
    if (ctx) this.#usedBy(ctx).add(id);
  }
}

const grantLinkOf = (clientId: string): string => `grant:${clientId}`;

/** Returns the grants of a session's clients, by client. A store link stays in its slot, and the grant of a pairwise client has its own slot. */
function grantLinks({ authorizations = {} }: SessionPayload, session: ArtifactKey): Record<string, ArtifactKey> {
  const links: Record<string, ArtifactKey> = {};
  for (const [clientId, { grantId }] of Object.entries(authorizations)) {
    const key = grantId && keyOf('Grant', grantId);
    if (key && slotOfKey(key) === slotOfKey(session)) links[grantLinkOf(clientId)] = key;
  }
  return links;
}

/** Returns whether a write would move the end of the record by less than a twentieth of its life, and change nothing else. */
const isFresh = (before: Artifact, next: Put): boolean =>
  next.expiresAt - before.expiresAt < (next.expiresAt - nodeTime()) / 20 &&
  next.expiresAt >= before.expiresAt &&
  before.account === next.account &&
  before.value === next.value;
