import Provider, { type Grant, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { LoginContext } from '../../claims/contract.js';
import { browserOfRequest } from '../../display/browser-names.js';
import type { ResolvedOptions } from '../../options/defaults.js';
import { present } from '../../present.js';
import { digestOfKey } from '../../store/artifact-key.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';
import { shownAddress } from '../../text/ip-address.js';
import { nodeSeconds } from '../../times/node-time.js';
import { createSalt, keyOf } from '../artifacts/ids.js';
import { type SessionExtras, signInMembers } from '../artifacts/session-members.js';
import type { SessionGrant } from '../artifacts/session-merge.js';
import { sessionEnd } from './session-end.js';

/** The login context, as a grant stores it. */
export interface PinnedLogin extends LoginContext {
  /** Latest end of the session, in seconds since the epoch. Without `offline_access`, no token outlives it. */
  readonly sessionEndsAt: number;
  readonly provenAt?: Readonly<Record<string, number>>;
  readonly method?: string;
  /** As in `SignIn`. Present only if a tenant's administrator vouched for the means when the sign-in began. */
  readonly used?: string;
  /** Id of the user whose credential was used, if that is not the account of the grant. */
  readonly owner?: string;
  /** Name of the session of the grant. */
  readonly session?: string;
  /** Name of the impersonation, for the extension that began it. */
  readonly impersonation?: string;
  /** End of the sign-in, in seconds since the epoch. No token outlives it. */
  readonly endsAt?: number;
  /** `false`: the client gets no refresh token, even if `configure` of the host allows one. */
  readonly offline?: false;
}

export type OurSession = Session & SessionExtras;
/** A grant of the service. `sid` is the `sid` of the client's ID tokens: the client is notified if the grant ends before its session. */
export type OurGrant = Grant & { login: PinnedLogin; sid?: string } & Pick<GrantRecord, 'consent'>;

/** A grant, as the store has it. */
export interface GrantRecord {
  readonly clientId: string;
  readonly accountId: string;
  /** Time at which the grant was made, in seconds since the epoch. */
  readonly iat?: number;
  /** The `sid` of the client's ID tokens. Absent, like `login`, if a host made the grant by `provider.Grant`. */
  readonly sid?: string;
  readonly login?: PinnedLogin;
  readonly exp?: number;
  /** Whether the grant belongs to no browser session and is a sign-in by itself. */
  readonly isOwn?: true;
  /**
   * Creation of the consent that allowed the grant, in milliseconds since the epoch. The grant ends with this consent. Absent if the client needed no
   * consent.
   */
  consent?: number;
  readonly openid?: { readonly scope?: string };
}

/** Members of a session or a grant that name the owner of its credential. */
interface Owned {
  readonly owner?: string | undefined;
  readonly act?: PinnedLogin['act'] | undefined;
}

/**
 * Returns the user whose credential a sign-in of the account used. Undefined without a known sign-in, and for an impersonation, which uses the
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

/** Members of a sign-in that describe the browser of the request. */
type OfBrowser = Pick<SessionExtras, 'browser' | 'system' | 'address'>;

/** Returns the members of a new sign-in in the browser of the request. The sign-in is not in the history of its user yet. */
export const begunIn = (
  ctx: Parameters<typeof browserOfRequest>[0] & { readonly ip: string },
  { sessions }: Pick<ResolvedOptions, 'sessions'>,
): OfBrowser & Pick<SessionExtras, 'unrecorded'> => ({
  ...browserOfRequest(ctx),
  ...present({ address: shownAddress(ctx.ip, sessions.address) }),
  unrecorded: true,
});

/** Replaces the extra members of the request's session by the members of a new sign-in in this browser. */
export function startSignIn(
  ctx: KoaContextWithOIDC,
  options: Pick<ResolvedOptions, 'sessions'>,
  login: Omit<SessionExtras, 'signIn' | 'actsAs' | 'provenAt' | 'unrecorded' | 'grants' | keyof OfBrowser>,
): void {
  const session = sessionOf(ctx);
  const begun = { ...login, ...begunIn(ctx, options), signIn: createSalt(), actsAs: undefined, provenAt: undefined };
  for (const member of [...signInMembers, 'aside'] as const) Object.assign(session, { [member]: begun[member] });
}

/** Proofs that were added to a sign-in after it began. */
export interface LaterProofs {
  readonly oid: string;
  /** Time of the sign-in, as the session has it. */
  readonly loginTs: number | undefined;
  readonly provenAt: Readonly<Record<string, number>>;
}

/** Adds proofs to the sign-in for which the user gave the proofs. Does nothing if the session has another sign-in. */
export function strengthenSignIn(session: OurSession, { oid, loginTs, provenAt }: LaterProofs): void {
  if (session.accountId !== oid || session.loginTs !== loginTs) return;
  session.amr = [...new Set([...(session.amr ?? []), ...Object.keys(provenAt)])];
  session.provenAt = { ...session.provenAt, ...provenAt };
}

/** Returns the login context of the request's grant; undefined if there is no grant yet. */
export const pinnedLogin = (ctx: KoaContextWithOIDC | undefined): PinnedLogin | undefined =>
  (ctx?.oidc.entities.Grant as OurGrant | undefined)?.login;

const named = (session: string | undefined): Pick<PinnedLogin, 'session'> => (session === undefined ? {} : { session });

/** Returns the login context of this browser's session. */
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

/** Maximum grants that a session remembers. Older grants expire by themselves. */
const MAX_GRANTS = 200;

/** Adds a grant to the grants that logout ends. */
export function rememberGrant(session: OurSession, grant: SessionGrant): void {
  // The end of a grant is in the time of the node that made the grant.
  const now = nodeSeconds() - MAX_APART_SECONDS;
  const others = (session.grants ?? []).filter(({ grantId, exp }) => grantId !== grant.grantId && exp > now);
  session.grants = [...others, grant].slice(-MAX_GRANTS);
}

/** Returns the current request, for calls of oidc-provider without one. */
export const currentRequest = (): KoaContextWithOIDC | undefined => Provider.ctx;
