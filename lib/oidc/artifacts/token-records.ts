import type { AdapterPayload } from 'oidc-provider';
import type { Artifact, ArtifactKey, Put } from '../../store/artifact-store.js';
import { nodeTime } from '../../times/node-time.js';
import { createSalt, keyOf, successorOf } from './ids.js';
import { modelOf } from './models.js';
import type { StoredForm } from './stored-form.js';
import type { UnitOfWork } from './unit-of-work.js';

/** In seconds. */
export interface TokenLifetimes {
  /** A spent code is remembered this long at least, so that a late replay still revokes what it bought. @see RFC 6749 §4.1.2 */
  readonly spentCode: number;
  /** A spent pushed request is remembered until no interaction that began with it can end. @see RFC 9126 §7.3 */
  readonly spentRequest: number;
  /** Within this time of its first use a refresh token used again is a retry, not a theft; clients may have a time of their own. */
  readonly grace: number;
  /** The longest a grant can live: its tombstone lasts as long when its own end is not known. */
  readonly grant: number;
}

/** What is kept of the request that spent a refresh token, beside the token. */
export interface RefreshUse {
  /** Digests of the address and of the agent that sent it: those who see the token again can compare, and nobody can tell them. */
  readonly sender: string;
  /** Seconds in which using it again is a retry; absent: as the options say. */
  readonly grace?: number;
}

/** What is known of the request that spends a record. */
export interface Spending {
  /** Of a refresh token. */
  readonly use?: RefreshUse;
  /** Of a code: how long an access token of its client lives, in seconds, where the client has a lifetime of its own. */
  readonly accessToken?: number | undefined;
}

/** What a token gains, if it is written again for a later end alone: more than the clocks of nodes differ. */
const WORTH_WRITING_MS = 60_000;

/** Longer than any request runs. */
const REQUEST_MS = 60_000;

/** A tombstone lasts until the record would have ended, and at least as long as a request that may write it yet. */
export const tombstoneEnd = (recordEnd: number | undefined, unknownEnd = REQUEST_MS): number =>
  recordEnd === undefined ? nodeTime() + unknownEnd : Math.max(recordEnd, nodeTime() + REQUEST_MS);

/** Value that replaces a used pushed request, because its parameters are not read again. */
const SPENT_REQUEST = '{"request":""}';

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

/** A record that was not spent, and its grant. */
export interface LiveToken {
  readonly token: AdapterPayload;
  /** Absent for tokens of a client itself. */
  readonly grant?: AdapterPayload;
}

/** A refresh token that was used before. */
export interface SpentRefreshToken {
  readonly token: AdapterPayload & Partial<RefreshUse>;
  /** In milliseconds since the epoch. */
  readonly spentAt: number;
  /** Undefined when it was ended. */
  readonly grant: AdapterPayload | undefined;
  /** What it was replaced by, where using it again is a retry. */
  readonly successor: AdapterPayload | undefined;
}

/** Grants, tokens, codes and pushed requests, as the unit of work of a request reads, writes and spends them. */
export class TokenRecords {
  readonly #form: StoredForm;
  readonly #lifetimes: TokenLifetimes;
  readonly #successorSecret: Buffer;

  /** @param successorSecret derives the refresh token that follows another. */
  constructor(form: StoredForm, lifetimes: TokenLifetimes, successorSecret: Buffer) {
    this.#form = form;
    this.#lifetimes = lifetimes;
    this.#successorSecret = successorSecret;
  }

  /** The token and its grant, when both are live, belong together and the token was not spent. */
  find(unit: UnitOfWork, model: string, id: string): Promise<LiveToken | undefined> {
    const key = keyOf(model, id);
    const reading = key && unit.read(key, modelOf(model).follow);
    return reading instanceof Promise
      ? reading.then((artifact) => this.#live(unit, model, id, artifact))
      : Promise.resolve(this.#live(unit, model, id, reading));
  }

  #live(unit: UnitOfWork, model: string, id: string, artifact: Artifact | undefined): LiveToken | undefined {
    if (!artifact || artifact.consumedAt !== undefined) return undefined;
    const token = this.#form.decode(model, id, artifact);
    if (!token || !modelOf(model).ofGrant) return token && { token };
    const grant = this.#grantOf(unit, artifact, token);
    return grant && grant.clientId === token.clientId && grant.accountId === token.accountId ? { token, grant } : undefined;
  }

  /** Undefined for one that was not spent, or is unknown. */
  async findSpent(unit: UnitOfWork, id: string): Promise<SpentRefreshToken | undefined> {
    const key = keyOf('RefreshToken', id);
    const artifact = key && (await unit.read(key, modelOf('RefreshToken').follow));
    const token = artifact?.consumedAt === undefined ? undefined : this.#form.decode('RefreshToken', id, artifact);
    if (!token) return undefined;
    const spentAt = artifact?.consumedAt as number;
    const { grace = this.#lifetimes.grace } = token as Partial<RefreshUse>;
    const isRetry = nodeTime() - spentAt < grace * 1000;
    return {
      token,
      spentAt,
      grant: this.#grantOf(unit, artifact as Artifact, token),
      successor: isRetry ? await this.#unspentSuccessor(unit, id) : undefined,
    };
  }

  /** What a retry within the grace goes on with: the successor says all that the spent one said. */
  async findRetried(unit: UnitOfWork, id: string): Promise<LiveToken | undefined> {
    const { successor, grant } = (await this.findSpent(unit, id)) ?? {};
    return successor && grant ? { token: { ...successor, jti: id }, grant } : undefined;
  }

  /** The live grant of a token, which was read along with it. */
  #grantOf(unit: UnitOfWork, { links }: Artifact, { grantId }: AdapterPayload): AdapterPayload | undefined {
    const artifact = links?.grant && unit.peek(links.grant);
    return artifact && this.#form.decode('Grant', grantId as string, artifact);
  }

  /**
   * Ends what a code bought, when its own client brings it again after the time in which a lost answer is asked for again.
   * @see RFC 6749 §4.1.2
   */
  async endReplayed(unit: UnitOfWork, code: string, clientId: string | undefined): Promise<void> {
    const key = keyOf('AuthorizationCode', code);
    const artifact = key && (await unit.read(key, modelOf('AuthorizationCode').follow));
    if (artifact?.consumedAt === undefined) return;
    const token = this.#form.decode('AuthorizationCode', code, artifact);
    const isRetry = nodeTime() - artifact.consumedAt < this.#lifetimes.grace * 1000;
    const grant = token?.grantId ? keyOf('Grant', token.grantId) : undefined;
    if (isRetry || !grant || token?.clientId !== clientId) return;
    unit.remove(grant, tombstoneEnd(unit.peek(grant)?.expiresAt, this.#lifetimes.grant * 1000));
  }

  async #unspentSuccessor(unit: UnitOfWork, id: string): Promise<AdapterPayload | undefined> {
    const next = this.successorOf(id);
    const artifact = await unit.read(this.successorKey(id));
    return artifact && artifact.consumedAt === undefined ? this.#form.decode('RefreshToken', next, artifact) : undefined;
  }

  /** @param end in seconds since the epoch. */
  put(unit: UnitOfWork, model: string, id: string, payload: AdapterPayload, end: number): void {
    const key = keyOf(model, id);
    if (!key) throw new TypeError(`not an id of ${model}`);
    const { write: way, ofGrant, ofAccount } = modelOf(model);
    // Of two refreshes within the grace the first wrote the token that both answer with.
    if (way === 'if unknown' && unit.peek(key)) return;
    const grant = ofGrant && payload.grantId ? keyOf('Grant', payload.grantId) : undefined;
    const write: Writable<Put> = { op: 'put', key, value: this.#form.encode(model, id, payload), expiresAt: end * 1000 };
    if (grant) write.links = { grant };
    if (ofAccount && payload.accountId) write.account = payload.accountId;
    if (way === 'new') write.if = 'absent';
    unit.put(write);
  }

  /** Spends a record that was read before; one that was spent already stays as it is. */
  spend(unit: UnitOfWork, model: string, id: string, { use, accessToken = 0 }: Spending = {}): void {
    const key = keyOf(model, id);
    const artifact = key && unit.peek(key);
    const { remembered, again } = modelOf(model).spent ?? {};
    const isRetried = again === 'retries';
    if (isRetried) this.#holdGrant(artifact, unit);
    if (!artifact || artifact.consumedAt !== undefined) return;
    const { version: _version, ...record } = artifact;
    const consumedAt = nodeTime();
    // Within its grace a refresh token that comes again is answered all the same.
    const isAnsweredAgain = isRetried && (use?.grace ?? this.#lifetimes.grace) > 0;
    const value = isRetried ? this.#spentForm(id, artifact, use) : remembered === 'spentRequest' ? SPENT_REQUEST : record.value;
    const write: Put = {
      ...record,
      value: isAnsweredAgain ? value : withNonce(value),
      op: 'put',
      consumedAt,
      expiresAt: Math.max(record.expiresAt, consumedAt + Math.max(remembered ? this.#lifetimes[remembered] : 0, accessToken) * 1000),
      if: 'unconsumed',
      ...(isRetried ? { links: { ...record.links, successor: this.successorKey(id) } } : {}),
    };
    if (isAnsweredAgain) unit.put(write);
    else unit.spend(write);
  }

  /** Lets a live refresh token live for some seconds from now, if that is later than its end. Of two requests at the same time one writes, and the other finds the token as it is by then. */
  extend(unit: UnitOfWork, id: string, seconds: number): void {
    const key = keyOf('RefreshToken', id);
    const artifact = key && unit.peek(key);
    const expiresAt = nodeTime() + seconds * 1000;
    if (!artifact || artifact.expiresAt + WORTH_WRITING_MS > expiresAt) return;
    const { version, ...record } = artifact;
    unit.put({ ...record, op: 'put', expiresAt, if: { version } });
  }

  /** Ends a live token, and with it all that its grant has brought about. */
  revoke(unit: UnitOfWork, model: string, id: string, token: AdapterPayload): void {
    const grant = modelOf(model).ofGrant && token.grantId ? keyOf('Grant', token.grantId) : undefined;
    for (const key of [keyOf(model, id), grant]) {
      if (key) unit.remove(key, tombstoneEnd(unit.peek(key)?.expiresAt));
    }
  }

  /** What a replay is told by; all else is in the successor. It is kept for as long as the token would have been good. */
  #spentForm(id: string, artifact: Artifact, use: RefreshUse | undefined): string {
    const { accountId, clientId, grantId, sid, iat, iiat } = this.#form.decode('RefreshToken', id, artifact) as AdapterPayload;
    return this.#form.encode('RefreshToken', id, { accountId, clientId, grantId, sid, iat, iiat, ...use } as AdapterPayload);
  }

  successorKey(refreshToken: string): ArtifactKey {
    return keyOf('RefreshToken', this.successorOf(refreshToken)) as ArtifactKey;
  }

  successorOf(refreshToken: string): string {
    return successorOf(refreshToken, this.#successorSecret);
  }

  /** Writes the grant as it is, with what is bought of it: a logout or revocation meanwhile makes the whole commit lose. */
  #holdGrant(artifact: Artifact | undefined, unit: UnitOfWork): void {
    const grant = artifact?.links?.grant && unit.peek(artifact.links.grant);
    if (!grant) return;
    const { version: _version, ...record } = grant;
    unit.put({ ...record, op: 'put' });
  }
}

/** A record that says by which write it was spent: one whose answer is lost can tell its own from another's. */
const withNonce = (value: string): string => `${value.slice(0, -1)},"spentBy":"${createSalt()}"}`;
