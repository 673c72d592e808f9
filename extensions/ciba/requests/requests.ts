/** What may be done with authentication requests: start one, show it, approve it, deny it, redeem it. */

import { createHash, randomBytes } from 'node:crypto';
import type {
  Account,
  AuthenticationRequest,
  AuthenticationRequests,
  Client,
  ExtensionContext,
  PutArtifact,
  RequestDecision,
} from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { createBooks, type Entry } from './book.js';
import {
  type Approval,
  type Asked,
  described as describedAt,
  isOver as isOverAt,
  KEPT_SECONDS,
  type KeptRequest,
  requestKind,
} from './record.js';

/** A notification that waits for a decision to be written. */
export interface Announcement {
  /** Once it is written; also where it was not, because another one was. */
  release(): void;
}

/** Told of a decision before it is written, so that a node that dies in between keeps it from nobody. What it tells is to be read from the request then. */
export type Announce = (request: AuthenticationRequest) => Promise<Announcement>;

export interface StartedRequest {
  /** The client's secret: what it redeems. */
  readonly authReqId: string;
  readonly request: AuthenticationRequest;
}

/** A request, as its client finds it. */
export interface HeldRequest {
  readonly id: string;
  readonly kept: KeptRequest;
  /** Whether this caller has redeemed it. */
  readonly isRedeemed: boolean;
}

export interface Requests extends AuthenticationRequests {
  /** @returns undefined where the user has as many requests as one may have, or another of the client came at the same time and took its place. */
  start(
    asked: Asked,
    options: { readonly lifetimeSeconds: number; readonly notificationToken?: string },
  ): Promise<StartedRequest | undefined>;
  /** Where the client of a request is notified. Undefined for a client that polls, and once the client has the outcome. */
  notificationOf(id: string): Promise<{ readonly authReqId: string; readonly token: string } | undefined>;
  /** Redeems the approval of the request that a client holds: one caller gets it. Undefined where the client holds none, or it was redeemed before. */
  redeem(authReqId: string, clientId: string): Promise<HeldRequest | undefined>;
}

/** Longer than the write of a record takes, whose node's clock may be behind. */
const BEING_WRITTEN_MS = 30_000;

/** An id that names the request of a secret, and opens nothing. */
const idOf = (authReqId: string): string => createHash('sha256').update(authReqId).digest('base64url').slice(0, 32);

export const GRANT_TYPE = 'urn:openid:params:grant-type:ciba';

/** Whether the client may sign people of the account's tenant in by this grant. */
export const mayAsk = (client: Client | undefined, { tenant }: Account): boolean =>
  client?.status === 'active' &&
  (client.allowedTenants?.includes(tenant.id) ?? true) &&
  Array.isArray(client.metadata.grant_types) &&
  client.metadata.grant_types.includes(GRANT_TYPE);

export function createRequests(context: ExtensionContext, announce?: Announce): Requests {
  const {
    records: { artifact },
    directory,
    service: { now },
  } = context;
  const isOver = (request: KeptRequest): boolean => isOverAt(request, now());
  const described = (id: string, request: KeptRequest) => describedAt(id, request, now());
  const books = createBooks(context);
  const kept = () => artifact(requestKind);
  const find = async (id: string): Promise<KeptRequest | undefined> => (await kept().read(id)) as KeptRequest | undefined;

  /** Those of a book that wait no more. A record that is not there yet is being written, or its node died. */
  async function decided(entries: readonly Entry[]): Promise<ReadonlySet<string>> {
    const found = await Promise.all(entries.map(async (entry) => ({ ...entry, request: await find(entry.id) })));
    const isWaiting = ({ createdAt, request }: (typeof found)[number]) =>
      request ? request.state === 'pending' : createdAt > now() - BEING_WRITTEN_MS;
    return new Set(found.flatMap((entry) => (isWaiting(entry) ? [] : [entry.id])));
  }

  /** Whether the user's book names it: one that another of the same client took the place of is over, whatever its own record says yet. */
  const isEntered = async (id: string, { oid }: KeptRequest): Promise<boolean> =>
    (await books.entriesOf(oid)).some((entry) => entry.id === id);

  async function settle(id: string, change: (request: KeptRequest) => KeptRequest): Promise<RequestDecision> {
    let isOurs = false;
    const after = (await kept().update(id, (value) => {
      const request = value as KeptRequest | undefined;
      isOurs = request?.state === 'pending' && !isOver(request);
      return isOurs ? change(request as KeptRequest) : value;
    })) as KeptRequest | undefined;
    if (!after) return { outcome: 'unknown' };
    return { outcome: isOurs ? 'decided' : 'over', request: described(id, after) };
  }

  /** Decides it, and has told who waits for that. */
  async function decide(
    id: string,
    request: KeptRequest,
    change: Partial<KeptRequest> & Pick<KeptRequest, 'state'>,
  ): Promise<RequestDecision> {
    const announcement = await announce?.(described(id, request));
    const decision = await settle(id, (before) => ({ ...before, ...change, decidedAt: now() }));
    announcement?.release();
    return decision;
  }

  /** Ends a request that another of its client took the place of. The node that is about to write its record finds `ended` there. */
  async function replace(id: string, ended: KeptRequest, options: PutArtifact): Promise<void> {
    const before = await find(id);
    if (!before && (await kept().put(id, ended, options))) return;
    const written = before ?? (await find(id));
    if (written) await decide(id, written, { state: 'replaced' });
  }

  /** What is in the way of a decision; undefined where nothing is. */
  async function obstacle(id: string, request: KeptRequest | undefined): Promise<RequestDecision | undefined> {
    if (!request) return { outcome: 'unknown' };
    if (request.state !== 'pending' || isOver(request)) return { outcome: 'over', request: described(id, request) };
    if (!(await isEntered(id, request))) return { outcome: 'over', request: { ...described(id, request), state: 'replaced' } };
    return undefined;
  }

  const requests: Requests = {
    async start(asked, { lifetimeSeconds, notificationToken: token }) {
      const authReqId = randomBytes(32).toString('base64url');
      const id = idOf(authReqId);
      const createdAt = now();
      const expiresAt = createdAt + lifetimeSeconds * 1000;
      const began = { ...asked, createdAt, expiresAt };
      const request: KeptRequest = {
        ...began,
        state: 'pending',
        ...(token === undefined ? {} : { notification: { authReqId, token } }),
      };
      const options = { oid: asked.oid, lifetimeSeconds: lifetimeSeconds + KEPT_SECONDS };
      const [isWritten, replaced] = await Promise.all([
        kept().put(id, request, options),
        books.enter(asked.oid, { id, clientId: asked.clientId, createdAt, expiresAt }, decided),
      ]);
      const ended: KeptRequest = { ...began, state: 'replaced', decidedAt: createdAt };
      await Promise.all((replaced ?? []).map((entry) => replace(entry.id, ended, options)));
      if (isWritten && replaced) return { authReqId, request: described(id, request) };
      if (isWritten) await kept().remove(id);
      return undefined;
    },

    async pendingOf(oid) {
      const entries = await books.entriesOf(oid);
      const found = await Promise.all(entries.map(async ({ id }) => [id, await find(id)] as const));
      return found
        .flatMap(([id, request]) => (request?.state === 'pending' && !isOver(request) ? described(id, request) : []))
        .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
    },

    async read(id) {
      const request = await find(id);
      if (!request) return undefined;
      const isReplaced = request.state === 'pending' && !isOver(request) && !(await isEntered(id, request));
      return isReplaced ? { ...described(id, request), state: 'replaced' } : described(id, request);
    },

    async approve(id, { oid, act, amr, idp, authTime, provenAt = {}, method, used, owner, session }, decidedBy = {}) {
      const request = await find(id);
      if (request && (request.oid !== oid || act !== undefined)) return { outcome: 'not-theirs' };
      const inTheWay = await obstacle(id, request);
      if (inTheWay || !request) return inTheWay ?? { outcome: 'unknown' };
      const [account, client] = await Promise.all([directory.accounts.findByOid(oid), directory.clients.get(request.clientId)]);
      if (!account || account.tenant.id !== request.tid) return { outcome: 'unknown' };
      if (!client || !mayAsk(client, account)) return { outcome: 'not-allowed', request: described(id, request) };
      // One in the future would outlive what cuts sign-ins off.
      const provedAt = Math.min(authTime, Math.floor(now() / 1000));
      const approval: Approval = {
        amr,
        idp,
        authTime: provedAt,
        provenAt,
        ...present({ method, used, owner, session }),
      };
      if (!(await context.signIn.isSufficient(account, approval, { client, scopes: request.scopes, acrValues: request.acrValues })))
        return { outcome: 'insufficient', request: described(id, request) };
      const proof = await directory.credentials.proofOf(account, new Date(provedAt * 1000));
      return decide(id, request, { state: 'approved', approval: { ...approval, proof }, decidedBy });
    },

    async deny(id, why = 'host', decidedBy = {}) {
      const request = await find(id);
      const inTheWay = await obstacle(id, request);
      if (inTheWay || !request) return inTheWay ?? { outcome: 'unknown' };
      return decide(id, request, { state: 'denied', denial: why, decidedBy });
    },

    async notificationOf(id) {
      const request = await find(id);
      return request?.collectedAt === undefined ? request?.notification : undefined;
    },

    async redeem(authReqId, clientId) {
      const id = idOf(authReqId);
      let isRedeemed = false;
      // It stays to be read: its event, and the page of its person, may be later than its tokens.
      const found = (await kept().update(id, (value) => {
        const request = value as KeptRequest | undefined;
        const isDecided = request?.clientId === clientId && request.state !== 'pending';
        const isFirst = isDecided && request.collectedAt === undefined && !isOver(request);
        isRedeemed = isFirst && request.state === 'approved';
        return isFirst ? { ...request, collectedAt: now() } : value;
      })) as KeptRequest | undefined;
      if (found?.clientId !== clientId || (found.state === 'approved' && found.collectedAt !== undefined && !isRedeemed)) return undefined;
      // Whoever entered the next one may have died before this one was ended.
      const isReplaced = found.state === 'pending' && !isOver(found) && !(await isEntered(id, found));
      if (!isReplaced) return { id, kept: found, isRedeemed };
      await decide(id, found, { state: 'replaced' });
      return requests.redeem(authReqId, clientId);
    },
  };
  return requests;
}
