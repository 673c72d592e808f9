import Provider, { type Grant, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { LoginContext } from '../../claims/contract.js';
import type { ResolvedOptions } from '../../options/defaults.js';
import { present } from '../../present.js';
import { digestOfKey } from '../../store/artifact-key.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';
import { nodeSeconds } from '../../times/node-time.js';
import { createSalt, keyOf } from '../artifacts/ids.js';
import { type SessionExtras, signInMembers } from '../artifacts/session-members.js';
import type { SessionGrant } from '../artifacts/session-merge.js';
import { sessionEnd } from './session-end.js';

/** The login context as a grant keeps it. */
export interface PinnedLogin extends LoginContext {
  /** When the session ends whatever happens, in seconds since the epoch: without `offline_access` no token outlives it. */
  readonly sessionEndsAt: number;
  readonly provenAt?: Readonly<Record<string, number>>;
  readonly method?: string;
  /** As in `SignIn`. Present only if a tenant's administrator vouched for the means when the sign-in began. */
  readonly used?: string;
  /** The user whose credential the sign-in rests on, if that is not the account of the grant. */
  readonly owner?: string;
  /** The name of the session of the grant. */
  readonly session?: string;
  /** Names the impersonation, for the extension that began it. */
  readonly impersonation?: string;
  /** When it ends, in seconds since the epoch: no token outlives it. */
  readonly endsAt?: number;
  /** No refresh token comes of it, whatever a host configured. */
  readonly offline?: false;
}

export type OurSession = Session & SessionExtras;
/** With the `sid` of the client's ID tokens: the client has to hear of it when the grant ends before its session. */
export type OurGrant = Grant & { login: PinnedLogin; sid?: string };

/** A grant as it is kept. */
export interface GrantRecord {
  readonly clientId: string;
  readonly accountId: string;
  /** Both absent where a host made the grant by itself, with `provider.Grant`. */
  readonly sid?: string;
  readonly login?: PinnedLogin;
  readonly exp?: number;
  /** Of no browser's session: it is a sign-in by itself. */
  readonly isOwn?: true;
  readonly openid?: { readonly scope?: string };
}

/** Members of a session or a grant that name the owner of its credential. */
interface Owned {
  readonly owner?: string | undefined;
  readonly act?: PinnedLogin['act'] | undefined;
}

/**
 * Returns the user whose credential a sign-in of the account rests on. Undefined if no sign-in is known, and for an impersonation, which rests on the
 * impersonator's credential. The impersonated account must then be one that can sign in now.
 */
export const ownerOf = (oid: string, signIn: Owned | undefined): string | undefined =>
  signIn === undefined || signIn.act ? undefined : (signIn.owner ?? oid);

/** Returns the name of a session for extensions, administrators and cut-offs. The name is not a credential. */
export function sessionNameOf({ uid }: { readonly uid?: string | undefined }): string | undefined {
  const key = uid === undefined ? undefined : keyOf('Session', uid);
  return key && digestOfKey(key);
}

export const sessionOf = (ctx: KoaContextWithOIDC): OurSession => ctx.oidc.session as OurSession;

/** Puts what we keep of a new sign-in on its session, in the place of what was there of the one before. */
export function startSignIn(session: OurSession, login: Omit<SessionExtras, 'signIn' | 'actsAs' | 'provenAt' | 'grants'>): void {
  const begun = { ...login, signIn: createSalt(), actsAs: undefined, provenAt: undefined };
  for (const member of [...signInMembers, 'aside'] as const) Object.assign(session, { [member]: begun[member] });
}

/** Proofs that were given for a sign-in after it began. */
export interface LaterProofs {
  readonly oid: string;
  /** As the session has it. */
  readonly loginTs: number | undefined;
  readonly provenAt: Readonly<Record<string, number>>;
}

/** Adds proofs to the sign-in that they were given for; to another, nothing. */
export function strengthenSignIn(session: OurSession, { oid, loginTs, provenAt }: LaterProofs): void {
  if (session.accountId !== oid || session.loginTs !== loginTs) return;
  session.amr = [...new Set([...(session.amr ?? []), ...Object.keys(provenAt)])];
  session.provenAt = { ...session.provenAt, ...provenAt };
}

/** The login context of the grant this request is about; undefined before there is one. */
export const pinnedLogin = (ctx: KoaContextWithOIDC | undefined): PinnedLogin | undefined =>
  (ctx?.oidc.entities.Grant as OurGrant | undefined)?.login;

const named = (session: string | undefined): Pick<PinnedLogin, 'session'> => (session === undefined ? {} : { session });

/** How the user of this browser signed in. */
export function loginOfSession(session: OurSession, sub: string, lifetimes: ResolvedOptions['lifetimes']): PinnedLogin {
  const authTime = session.loginTs ?? 0;
  return {
    sub: session.sub ?? sub,
    idp: session.idp ?? 'local',
    amr: session.amr ?? [],
    authTime,
    ...named(sessionNameOf(session)),
    ...(session.method ? { method: session.method } : {}),
    ...present({ used: session.used }),
    ...(session.owner && session.owner !== session.accountId ? { owner: session.owner } : {}),
    ...(session.act ? { act: session.act } : {}),
    ...(session.impersonation ? { impersonation: session.impersonation } : {}),
    ...(session.provenAt ? { provenAt: session.provenAt } : {}),
    ...(session.endsAt ? { endsAt: session.endsAt } : {}),
    ...(session.offline === false ? { offline: false } : {}),
    sessionEndsAt: sessionEnd(lifetimes, authTime, session.endsAt),
  };
}

/** Grants that are worth remembering on a session; older ones end by themselves. */
const MAX_GRANTS = 200;

/** Adds a grant to what logout will end. */
export function rememberGrant(session: OurSession, grant: SessionGrant): void {
  // The end of a grant is in the time of the node that made the grant.
  const now = nodeSeconds() - MAX_APART_SECONDS;
  const others = (session.grants ?? []).filter(({ grantId, exp }) => grantId !== grant.grantId && exp > now);
  session.grants = [...others, grant].slice(-MAX_GRANTS);
}

/** The request that is being answered, where oidc-provider calls without one. */
export const currentRequest = (): KoaContextWithOIDC | undefined => Provider.ctx;
