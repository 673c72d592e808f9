/** Operations on authentication requests: start, read, approve, deny, redeem. */

import { createHash, randomBytes } from 'node:crypto';
import type {
  Account,
  Attribution,
  AuthenticationRequest,
  AuthenticationRequests,
  Client,
  DenialReason,
  ExtensionArtifacts,
  ExtensionContext,
  PutArtifact,
  RequestDecision,
} from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { type Approval, type Asked, isExpired, RETENTION_SECONDS, type RequestRecord, requestKind, viewOf } from './record.js';
import { createUserRequests, type RequestEntry, type UserRequests } from './user-requests.js';

/** Notifications that wait until a decision is written. */
export interface Announcement {
  /** Releases the notifications, after this decision or another decision was written. */
  release(): void;
}

/**
 * Prepares the notifications of a decision before the decision is written, so that a crash loses no notification. The notifications read the decision from
 * the request later.
 */
export type Announce = (request: AuthenticationRequest) => Promise<Announcement>;

export interface StartedRequest {
  /** The secret that the client redeems. */
  readonly authReqId: string;
  readonly request: AuthenticationRequest;
}

/** A request as its client finds it at the token endpoint. */
export interface PolledRequest {
  readonly id: string;
  readonly record: RequestRecord;
  /** Whether this call redeemed the approval. */
  readonly isRedeemed: boolean;
}

export interface Requests extends AuthenticationRequests {
  /**
   * Starts a request. Returns undefined if the user has the maximum of requests, or a concurrent request of the client replaced this one.
   * @param options `account`: the user's account, if the calling code has just read it
   */
  start(
    asked: Asked,
    options: { readonly lifetimeSeconds: number; readonly notificationToken?: string; readonly account?: Account },
  ): Promise<StartedRequest | undefined>;
  /** Returns the values for the notification of the client. Undefined for a client that polls, and after the client got the outcome. */
  notificationOf(id: string): Promise<{ readonly authReqId: string; readonly token: string } | undefined>;
  /**
   * Redeems the approval of a request. Only one call redeems an approval. Returns undefined if the client has no request with this secret, or if the
   * approval was redeemed before.
   */
  redeem(authReqId: string, clientId: string): Promise<PolledRequest | undefined>;
}

/**
 * Milliseconds in which a missing record may still be written. The period is longer than a write takes, because the clock of the writing node may be
 * behind.
 */
const BEING_WRITTEN_MS = 30_000;

/** Returns the id of the request that has the secret. The id is not a credential. */
const idOf = (authReqId: string): string => createHash('sha256').update(authReqId).digest('base64url').slice(0, 32);

export const GRANT_TYPE = 'urn:openid:params:grant-type:ciba';

/** Returns whether the client may sign in users of the account's tenant by this grant. */
export const mayAsk = (client: Client | undefined, { tenant }: Account): boolean =>
  client?.status === 'active' &&
  (client.allowedTenants?.includes(tenant.id) ?? true) &&
  Array.isArray(client.metadata.grant_types) &&
  client.metadata.grant_types.includes(GRANT_TYPE);

export const createRequests = (context: ExtensionContext, announce?: Announce): Requests => new StoredRequests(context, announce);

class StoredRequests implements Requests {
  readonly #context: ExtensionContext;
  readonly #announce: Announce | undefined;
  readonly #userRequests: UserRequests;

  constructor(context: ExtensionContext, announce: Announce | undefined) {
    this.#context = context;
    this.#announce = announce;
    this.#userRequests = createUserRequests(context);
  }

  async start(
    asked: Asked,
    { lifetimeSeconds, notificationToken: token, account }: Parameters<Requests['start']>[1],
  ): Promise<StartedRequest | undefined> {
    const records = this.#records(account);
    const authReqId = randomBytes(32).toString('base64url');
    const id = idOf(authReqId);
    const createdAt = this.#now();
    const expiresAt = createdAt + lifetimeSeconds * 1000;
    const began = { ...asked, createdAt, expiresAt };
    const request: RequestRecord = {
      ...began,
      state: 'pending',
      ...(token === undefined ? {} : { notification: { authReqId, token } }),
    };
    const options = { oid: asked.oid, lifetimeSeconds: lifetimeSeconds + RETENTION_SECONDS };
    const [isWritten, replaced] = await Promise.all([
      records.put(id, request, options),
      this.#userRequests.enter(asked.oid, { id, clientId: asked.clientId, createdAt, expiresAt }, (entries) =>
        this.#decided(records, entries),
      ),
    ]);
    const ended: RequestRecord = { ...began, state: 'replaced', decidedAt: createdAt };
    await Promise.all((replaced ?? []).map((entry) => this.#replace(records, entry.id, ended, options)));
    if (isWritten && replaced) return { authReqId, request: this.#viewOf(id, request) };
    if (isWritten) await records.remove(id);
    return undefined;
  }

  async pendingOf(oid: string): Promise<readonly AuthenticationRequest[]> {
    const entries = await this.#userRequests.entriesOf(oid);
    const requests = await Promise.all(entries.map(async ({ id }) => [id, await this.#find(id)] as const));
    return requests
      .flatMap(([id, request]) => (request?.state === 'pending' && !this.#isExpired(request) ? this.#viewOf(id, request) : []))
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  }

  async read(id: string): Promise<AuthenticationRequest | undefined> {
    const request = await this.#find(id);
    if (!request) return undefined;
    const isReplaced = request.state === 'pending' && !this.#isExpired(request) && !(await this.#isEntered(id, request));
    return isReplaced ? { ...this.#viewOf(id, request), state: 'replaced' } : this.#viewOf(id, request);
  }

  async approve(id: string, approver: Parameters<Requests['approve']>[1], decidedBy: Attribution = {}): Promise<RequestDecision> {
    const { oid, act, amr, idp, authTime, provenAt = {}, method, used, owner, session } = approver;
    const { directory, signIn } = this.#context;
    const request = await this.#find(id);
    if (request && (request.oid !== oid || act !== undefined)) return { outcome: 'not-theirs' };
    const obstacle = await this.#obstacle(id, request);
    if (obstacle || !request) return obstacle ?? { outcome: 'unknown' };
    const [account, client] = await Promise.all([directory.accounts.findByOid(oid), directory.clients.get(request.clientId)]);
    if (!account || account.tenant.id !== request.tid) return { outcome: 'unknown' };
    if (!client || !mayAsk(client, account)) return { outcome: 'not-allowed', request: this.#viewOf(id, request) };
    // A time in the future would survive a later revocation of sign-ins.
    const provedAt = Math.min(authTime, Math.floor(this.#now() / 1000));
    const approval: Approval = {
      amr,
      idp,
      authTime: provedAt,
      provenAt,
      ...present({ method, used, owner, session }),
    };
    if (!(await signIn.isSufficient(account, approval, { client, scopes: request.scopes, acrValues: request.acrValues })))
      return { outcome: 'insufficient', request: this.#viewOf(id, request) };
    const proof = await directory.credentials.proofOf(account, new Date(provedAt * 1000));
    return this.#decide(id, request, { state: 'approved', approval: { ...approval, proof }, decidedBy });
  }

  async deny(id: string, why: DenialReason = 'host', decidedBy: Attribution = {}): Promise<RequestDecision> {
    const request = await this.#find(id);
    const obstacle = await this.#obstacle(id, request);
    if (obstacle || !request) return obstacle ?? { outcome: 'unknown' };
    return this.#decide(id, request, { state: 'denied', denial: why, decidedBy });
  }

  async notificationOf(id: string): Promise<RequestRecord['notification']> {
    const request = await this.#find(id);
    return request?.collectedAt === undefined ? request?.notification : undefined;
  }

  async redeem(authReqId: string, clientId: string): Promise<PolledRequest | undefined> {
    const id = idOf(authReqId);
    let isRedeemed = false;
    // The record stays, because its event and the user's page may read it after the tokens are issued.
    const record = (await this.#records().update(id, (value) => {
      const request = value as RequestRecord | undefined;
      const isDecided = request?.clientId === clientId && request.state !== 'pending';
      const isFirst = isDecided && request.collectedAt === undefined && !this.#isExpired(request);
      isRedeemed = isFirst && request.state === 'approved';
      return isFirst ? { ...request, collectedAt: this.#now() } : value;
    })) as RequestRecord | undefined;
    if (record?.clientId !== clientId || (record.state === 'approved' && record.collectedAt !== undefined && !isRedeemed)) return undefined;
    // The node that entered a newer request may have died before it ended this one.
    const isReplaced = record.state === 'pending' && !this.#isExpired(record) && !(await this.#isEntered(id, record));
    if (!isReplaced) return { id, record, isRedeemed };
    await this.#decide(id, record, { state: 'replaced' });
    return this.redeem(authReqId, clientId);
  }

  #now(): number {
    return this.#context.service.now();
  }

  #isExpired(request: RequestRecord): boolean {
    return isExpired(request, this.#now());
  }

  #viewOf(id: string, request: RequestRecord): AuthenticationRequest {
    return viewOf(id, request, this.#now());
  }

  /** @param account of the records, if this request has read it already. */
  #records(account?: Account): ExtensionArtifacts {
    return this.#context.records.artifact(requestKind, account);
  }

  async #find(id: string, records = this.#records()): Promise<RequestRecord | undefined> {
    return (await records.read(id)) as RequestRecord | undefined;
  }

  /** Returns the ids of entries whose requests are no longer pending. A missing record is being written, or its node died. */
  async #decided(records: ExtensionArtifacts, entries: readonly RequestEntry[]): Promise<ReadonlySet<string>> {
    const entered = await Promise.all(entries.map(async (entry) => ({ ...entry, request: await this.#find(entry.id, records) })));
    const isWaiting = ({ createdAt, request }: (typeof entered)[number]) =>
      request ? request.state === 'pending' : createdAt > this.#now() - BEING_WRITTEN_MS;
    return new Set(entered.flatMap((entry) => (isWaiting(entry) ? [] : [entry.id])));
  }

  /**
   * Returns whether the user's record has an entry of the request. A newer request of the client replaced a request without an entry, although the record
   * of the replaced request may not show the replacement yet.
   */
  async #isEntered(id: string, { oid }: RequestRecord): Promise<boolean> {
    return (await this.#userRequests.entriesOf(oid)).some((entry) => entry.id === id);
  }

  /** @param options `clientId`: the client of an approval, which ends with the access of the client */
  async #settle(
    id: string,
    change: (request: RequestRecord) => RequestRecord,
    records: ExtensionArtifacts,
    options: Pick<PutArtifact, 'clientId'>,
  ): Promise<RequestDecision> {
    let isOurs = false;
    const after = (await records.update(
      id,
      (value) => {
        const request = value as RequestRecord | undefined;
        isOurs = request?.state === 'pending' && !this.#isExpired(request);
        return isOurs ? change(request as RequestRecord) : value;
      },
      options,
    )) as RequestRecord | undefined;
    if (!after) return { outcome: 'unknown' };
    return { outcome: isOurs ? 'decided' : 'over', request: this.#viewOf(id, after) };
  }

  /** Writes a decision, and releases its notifications. */
  async #decide(
    id: string,
    request: RequestRecord,
    change: Partial<RequestRecord> & Pick<RequestRecord, 'state'>,
    records = this.#records(),
  ): Promise<RequestDecision> {
    const announcement = await this.#announce?.(this.#viewOf(id, request));
    const options = change.state === 'approved' ? { clientId: request.clientId } : {};
    const decision = await this.#settle(id, (before) => ({ ...before, ...change, decidedAt: this.#now() }), records, options);
    announcement?.release();
    return decision;
  }

  /** Ends a request that a newer request of its client replaced. A node that is about to write the record finds `ended` in its place. */
  async #replace(records: ExtensionArtifacts, id: string, ended: RequestRecord, options: PutArtifact): Promise<void> {
    const before = await this.#find(id, records);
    if (!before && (await records.put(id, ended, options))) return;
    const written = before ?? (await this.#find(id, records));
    if (written) await this.#decide(id, written, { state: 'replaced' }, records);
  }

  /** Returns the outcome that prevents a decision; undefined if the request can be decided. */
  async #obstacle(id: string, request: RequestRecord | undefined): Promise<RequestDecision | undefined> {
    if (!request) return { outcome: 'unknown' };
    if (request.state !== 'pending' || this.#isExpired(request)) return { outcome: 'over', request: this.#viewOf(id, request) };
    if (!(await this.#isEntered(id, request))) return { outcome: 'over', request: { ...this.#viewOf(id, request), state: 'replaced' } };
    return undefined;
  }
}
