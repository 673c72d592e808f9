import type { KeyObject } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Artifact, ArtifactKey, Put } from '../../store/artifact-store.js';
import { nodeTime } from '../../times/node-time.js';
import { createSalt, keyOf, successorOf } from './ids.js';
import { modelOf } from './models.js';
import type { StoredForm } from './stored-form.js';
import type { UnitOfWork } from './unit-of-work.js';

/** Lifetimes in seconds. */
export interface TokenLifetimes {
  /** Minimum time for which a used code is remembered, so that a late replay still revokes its tokens. @see RFC 6749 §4.1.2 */
  readonly spentCode: number;
  /** Time for which a used pushed request is remembered: until no interaction that began with it can end. @see RFC 9126 §7.3 */
  readonly spentRequest: number;
  /** Grace period: the time after the first use of a refresh token in which a second use is a retry. Clients may have their own grace period. */
  readonly grace: number;
  /** Maximum life of a grant. The tombstone of a grant lasts as long if the grant's own end is unknown. */
  readonly grant: number;
}

/** Data about the request that used a refresh token, stored with the token. */
export interface RefreshUse {
  /** Digests of the address and the user agent of the sender. The digests of a later sender can be compared with them, and they reveal neither. */
  readonly sender: string;
  /** Grace period in seconds. @default the grace period of the options */
  readonly grace?: number;
}

/** Data about the request that uses a record. */
export interface Spending {
  /** For a refresh token. */
  readonly use?: RefreshUse;
  /** For a code: lifetime in seconds that its client sets for access tokens. */
  readonly accessToken?: number | undefined;
}

/** Minimum gain for which a token is written again with a later end alone, in milliseconds. The gain is more than the difference of clocks. */
const WORTH_WRITING_MS = 60_000;

/** Milliseconds: longer than any request runs. */
const REQUEST_MS = 60_000;

/** Returns the end of a tombstone: the end of the record, or later if a running request may still write the record. */
export const tombstoneEnd = (recordEnd: number | undefined, unknownEnd = REQUEST_MS): number =>
  recordEnd === undefined ? nodeTime() + unknownEnd : Math.max(recordEnd, nodeTime() + REQUEST_MS);

/** Value that replaces a used pushed request, because its parameters are not read again. */
const SPENT_REQUEST = '{"request":""}';

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

/** An unused record, and its grant. */
export interface LiveToken {
  readonly token: AdapterPayload;
  /** Grant of the token. Absent for tokens of a client itself. */
  readonly grant?: AdapterPayload;
}

/** A refresh token that was used before. */
export interface SpentRefreshToken {
  readonly token: AdapterPayload & Partial<RefreshUse>;
  /** Milliseconds since the epoch. */
  readonly spentAt: number;
  /** Grant of the token. Undefined if the grant has ended. */
  readonly grant: AdapterPayload | undefined;
  /** Refresh token that replaced the used token, if the second use is a retry. */
  readonly successor: AdapterPayload | undefined;
}

/** Grants, tokens, codes and pushed requests. The unit of work of a request reads, writes and uses them. */
export class TokenRecords {
  readonly #form: StoredForm;
  readonly #lifetimes: TokenLifetimes;
  readonly #successorSecret: KeyObject;

  /** @param successorSecret secret from which the next refresh token is derived. */
  constructor(form: StoredForm, lifetimes: TokenLifetimes, successorSecret: KeyObject) {
    this.#form = form;
    this.#lifetimes = lifetimes;
    this.#successorSecret = successorSecret;
  }

  /** Returns the token and its grant if both are live, they belong together, and the token is unused. */
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

  /** Returns a used refresh token; undefined for an unused or unknown token. */
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

  /** Returns the successor for a retry within the grace period. The successor has all members of the used token. */
  async findRetried(unit: UnitOfWork, id: string): Promise<LiveToken | undefined> {
    const { successor, grant } = (await this.findSpent(unit, id)) ?? {};
    return successor && grant ? { token: { ...successor, jti: id }, grant } : undefined;
  }

  /** Returns the live grant of a token. The grant was read with the token. */
  #grantOf(unit: UnitOfWork, { links }: Artifact, { grantId }: AdapterPayload): AdapterPayload | undefined {
    const artifact = links?.grant && unit.peek(links.grant);
    return artifact && this.#form.decode('Grant', grantId as string, artifact);
  }

  /**
   * Ends the grant of a code if the code's own client replays the code after the time in which a retry is answered.
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
    // The first of two refreshes within the grace period wrote the token that both return.
    if (way === 'if unknown' && unit.peek(key)) return;
    const grant = ofGrant && payload.grantId ? keyOf('Grant', payload.grantId) : undefined;
    const write: Writable<Put> = { op: 'put', key, value: this.#form.encode(model, id, payload), expiresAt: end * 1000 };
    if (grant) write.links = { grant };
    if (ofAccount && payload.accountId) write.account = payload.accountId;
    if (way === 'new') write.if = 'absent';
    unit.put(write);
  }

  /** Marks a record that was read before as used. Does nothing if the record was used already. */
  spend(unit: UnitOfWork, model: string, id: string, { use, accessToken = 0 }: Spending = {}): void {
    const key = keyOf(model, id);
    const artifact = key && unit.peek(key);
    const { remembered, again } = modelOf(model).spent ?? {};
    const isRetried = again === 'retries';
    if (isRetried) this.#holdGrant(artifact, unit);
    if (!artifact || artifact.consumedAt !== undefined) return;
    const { version: _version, ...record } = artifact;
    const consumedAt = nodeTime();
    // Within its grace period, a refresh token that is sent again gets an answer.
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

  /**
   * Extends a live refresh token to some seconds from now, if that is later than the token's end. If two concurrent requests extend the token, one writes,
   * and the other finds the current token.
   */
  extend(unit: UnitOfWork, id: string, seconds: number): void {
    const key = keyOf('RefreshToken', id);
    const artifact = key && unit.peek(key);
    const expiresAt = nodeTime() + seconds * 1000;
    if (!artifact || artifact.expiresAt + WORTH_WRITING_MS > expiresAt) return;
    const { version, ...record } = artifact;
    unit.put({ ...record, op: 'put', expiresAt, if: { version } });
  }

  /** Revokes a live token and its whole grant. */
  revoke(unit: UnitOfWork, model: string, id: string, token: AdapterPayload): void {
    const grant = modelOf(model).ofGrant && token.grantId ? keyOf('Grant', token.grantId) : undefined;
    for (const key of [keyOf(model, id), grant]) {
      if (key) unit.remove(key, tombstoneEnd(unit.peek(key)?.expiresAt));
    }
  }

  /**
   * Returns the stored form of a used token: the members that detect a replay. The successor has all other members. The form is stored as long as the token
   * would have been valid.
   */
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

  /** Writes the grant again, with the tokens made from the grant. A concurrent logout or revocation makes the whole commit lose. */
  #holdGrant(artifact: Artifact | undefined, unit: UnitOfWork): void {
    const grant = artifact?.links?.grant && unit.peek(artifact.links.grant);
    if (!grant) return;
    const { version: _version, ...record } = grant;
    unit.put({ ...record, op: 'put' });
  }
}

/** Adds a nonce to a record, so that a request whose commit got no answer recognises its own write. */
const withNonce = (value: string): string => `${value.slice(0, -1)},"spentBy":"${createSalt()}"}`;
