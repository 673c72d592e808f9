/**
 * Authorization requests that a browser completed a moment ago.
 *
 * A user who presses a button again makes the browser drop the running answer, with its cookies. The browser then sends an interaction or a reference that
 * has been used. For a minute, the service knows what the browser lost. The same browser gets the cookie of the same session again, and the request is
 * restarted.
 *
 * The service makes no new secret. If the session has ended, or has another secret since, its old cookie opens nothing and is not sent. A sign-out in the
 * browser makes earlier lost answers invalid, also if nobody or another user is signed in there.
 */

import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isInteractionUid } from '../../paths.js';
import { present } from '../../present.js';
import { artifactKey, SLOT_LENGTH } from '../../store/artifact-key.js';
import { nodeTime } from '../../times/node-time.js';
import type { OurSession } from '../accounts/login-context.js';
import { keyOf, partsOfSessionId } from '../artifacts/ids.js';
import { perRequest } from '../artifacts/per-request.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import { readStored } from '../artifacts/stored-records.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import { createLastSignOut, createSessionCookie } from '../sessions/cookies.js';
import type { BoundInteraction } from '../upstream/interaction.js';

/** Milliseconds in which a browser can get the lost answer again. */
const KEPT_MS = 60_000;
/** Milliseconds after the record in which the store may still lack its session, because the record and the session are written one after the other. */
const SESSION_DELAY_MS = 2_000;
/** Milliseconds between two reads for the session of the record. */
const LOOK_MS = 50;
/** Characters of the uid of an interaction. */
const UID_LENGTH = 43;

const KIND = 'CompletedRequest';
const PURPOSE = 'completed request';

type Parameters = Readonly<Record<string, string>>;

/** Returns the parameters of an interaction as the client sent them. */
export const parametersOf = ({ params }: { readonly params: Readonly<Record<string, unknown>> }): Parameters =>
  Object.fromEntries(Object.entries(params).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

export interface Completed {
  readonly parameters: Parameters;
  readonly session: {
    /** Value of the session's cookie. */
    readonly id: string;
    readonly exp?: number;
    readonly accountId: string;
    readonly loginTs?: number;
  };
  /** Whether the user signed in for this request, so that the age of the sign-in satisfied the request. */
  readonly isSignIn: boolean;
}

/** An error response that the browser posts to the client. @see OAuth 2.0 Form Post Response Mode §2 */
export interface PostedAnswer {
  readonly action: string;
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly clientId: string;
}

/** A request that the user cancelled. */
export interface Cancelled {
  /** The error response: its URL, or its form. */
  readonly answer: string | PostedAnswer;
}

type CompletedRecord = (Completed | Cancelled) & {
  /** The browser that completed the request. No other browser gets the answer. */
  readonly browser: string;
  /** The last sign-out of the browser at that time. */
  readonly signOut?: string;
  /** Whether the browser returns with the reference of the request. */
  readonly isByReference: boolean;
};

interface Found {
  readonly record: CompletedRecord;
  /** Milliseconds since the epoch by this node's own clock. */
  readonly recordedAt: number;
}

/** Returns the name under which a pushed request is recorded. The name has the form of the uid of an interaction, and the slot of the request. */
export const uidOfPushed = (id: string): string =>
  id.slice(0, SLOT_LENGTH) + hash('sha256', id, 'base64url').slice(0, UID_LENGTH - SLOT_LENGTH);

export type CompletedRequests = ReturnType<typeof createCompletedRequests>;

export function createCompletedRequests(parts: OidcParts, provider: () => Provider) {
  const { adapters, artifacts, browsers, sealer, options, internalClients } = parts;
  const lastSignOut = createLastSignOut(options);
  const setSessionCookie = createSessionCookie(options, provider);
  const noted = perRequest((): { isDone: boolean; form?: PostedAnswer } => ({ isDone: false }));

  function put(ctx: KoaContextWithOIDC, uid: string, record: CompletedRecord): void {
    const key = recordKey(uid);
    const value = sealer.encrypt(PURPOSE, uid, JSON.stringify(record));
    if (key) adapters.unitOf(ctx).put({ op: 'put', key, value, expiresAt: nodeTime() + KEPT_MS });
  }

  /** Returns the record, if the browser completed the request and has not signed out since. */
  async function read(ctx: Pick<Context, 'headers' | 'cookies'>, uid: string): Promise<Found | undefined> {
    const key = browsers.browserOf(ctx) === undefined ? undefined : recordKey(uid);
    const artifact = key && (await artifacts.read([{ key }])).get(key);
    if (!artifact) return undefined;
    try {
      const record = JSON.parse(sealer.decrypt(PURPOSE, uid, artifact.value)) as CompletedRecord;
      const signOut = lastSignOut.of(ctx);
      const isVoid = signOut !== undefined && signOut !== record.signOut;
      return browsers.isBoundHere(ctx, record) && !isVoid ? { record, recordedAt: artifact.expiresAt - KEPT_MS } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Sets the cookie of the browser's session again. Returns false if the sign-in of that session has ended. */
  async function giveSession(ctx: Context, session: Completed['session'], recordedAt: number): Promise<boolean> {
    const { id, exp, accountId, loginTs } = session;
    while (!(await isStored(parts, session)) && nodeTime() < recordedAt + SESSION_DELAY_MS) await sleep(LOOK_MS);
    const lost = (await provider().Session.find(id)) as OurSession | undefined;
    if (lost?.accountId !== accountId || lost.loginTs !== loginTs) return false;
    setSessionCookie(ctx, id, exp);
    return true;
  }

  return {
    /** Records the answer for the browser, in the commit of the response. Called after the session has been saved. */
    note(ctx: KoaContextWithOIDC): void {
      const { route, client, entities } = ctx.oidc;
      const isOfExtension = internalClients.isInternal(clientOf(client));
      if (route !== 'resume' && !isOfExtension) return;
      const browser = browsers.browserOf(ctx);
      const outcome = noted(ctx).isDone || browser === undefined ? undefined : outcomeOf(ctx, noted(ctx).form);
      if (browser === undefined || !outcome) return;
      noted(ctx).isDone = true;
      const { Interaction: interaction, PushedAuthorizationRequest: pushed } = entities as unknown as Entities;
      const signOut = lastSignOut.of(ctx);
      const bound = { browser, ...present({ signOut }) };
      if (route === 'resume') put(ctx, String((ctx as unknown as Context).params.uid), { ...outcome, ...bound, isByReference: false });
      // An extension redirected the browser to this reference, in an answer that the browser may get again.
      const id = pushed?.jti ?? interaction?.parJti;
      if (id !== undefined && isOfExtension) put(ctx, uidOfPushed(id), { ...outcome, ...bound, isByReference: true });
    },

    /** Remembers the form of an error response for `note`, because only the redirects are read from the response itself. */
    noteForm(ctx: KoaContextWithOIDC, form: PostedAnswer): void {
      noted(ctx).form = form;
    },

    /** Returns whether this browser completed a pushed request a moment ago. */
    isHere: async (ctx: Pick<Context, 'headers' | 'cookies'>, uid: string): Promise<boolean> => (await read(ctx, uid)) !== undefined,

    /**
     * Returns the request that the browser completed a moment ago. If nobody is signed in, gives the browser the cookie of its session again.
     * Returns undefined if the browser did not complete the request, if the sign-in of the request has ended, or if another account is signed in.
     * Also returns undefined for a GET of a browser that lost nothing, because a completed sign-in gives no second response.
     */
    async takeUp(ctx: Context, uid: string): Promise<CompletedRecord | undefined> {
      const { record, recordedAt = 0 } = (await read(ctx, uid)) ?? {};
      if (!record) return undefined;
      const isSentAgain = ctx.method === 'POST' || record.isByReference;
      if ('answer' in record) return isSentAgain ? record : undefined;
      const { accountId } = (await provider().Session.get(ctx)) as OurSession;
      if (accountId === undefined) return (await giveSession(ctx, record.session, recordedAt)) ? record : undefined;
      return isSentAgain && accountId === record.session.accountId ? record : undefined;
    },
  };
}

const recordKey = (uid: string) => (isInteractionUid(uid) ? artifactKey(KIND, uid) : undefined);

/** Returns whether the store has the sign-in of the session. Reads the store itself, because a request remembers what the request did not find. */
async function isStored({ artifacts }: Pick<OidcParts, 'artifacts'>, { id, accountId, loginTs }: Completed['session']): Promise<boolean> {
  const { uid } = partsOfSessionId(id) ?? {};
  const key = uid === undefined ? undefined : keyOf('Session', uid);
  const artifact = key && (await artifacts.read([{ key }])).get(key);
  const stored = artifact && readStored<SessionPayload>('Session', artifact);
  return stored?.accountId === accountId && stored.loginTs === loginTs;
}

interface Entities {
  /** The resumed interaction, or the next interaction of the same pushed request. */
  readonly Interaction?: BoundInteraction & { readonly parJti?: string };
  readonly PushedAuthorizationRequest?: { readonly jti: string };
}

/** Returns the outcome of the response for the browser; undefined if the browser loses nothing with the response. */
function outcomeOf({ oidc, response }: KoaContextWithOIDC, form: PostedAnswer | undefined): Completed | Cancelled | undefined {
  const { jti: id, accountId, loginTs, exp } = (oidc.session ?? {}) as unknown as OurSession;
  const { error } = ((oidc.entities as unknown as Entities).Interaction?.result ?? {}) as { readonly error?: string };
  const answer = form ?? response.get('Location');
  if (error !== undefined) return answer === '' ? undefined : { answer };
  if (accountId === undefined || !oidc.params) return undefined;
  return {
    parameters: parametersOf({ params: oidc.params }),
    session: { id, accountId, ...present({ exp, loginTs }) },
    isSignIn: oidc.result?.login !== undefined,
  };
}
