import { randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { CurrentImpersonation } from '../../contract/sign-in/impersonation.js';
import type { BrowserSignIn, SignInToEnd } from '../../contract/sign-in/logout-participant.js';
import { present } from '../../present.js';
import { digestOfKey } from '../../store/artifact-key.js';
import { goesOn } from '../accounts/going-on.js';
import type { OurSession } from '../accounts/login-context.js';
import { type IsComplete, ofSession } from '../accounts/requirements.js';
import { keyOf } from '../artifacts/ids.js';
import { createFindRecord, isClient } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import { createImpersonationHint } from './cookies.js';
import { endedSignIn } from './logout-participants.js';
import type { SignInRecorder } from './recorded-sign-ins.js';

/** Creates the look-up of the impersonator and the impersonated user in the browser. */
export function createCurrentImpersonation({ options, directory, endImpersonationAt }: OidcParts, provider: () => Provider) {
  const hint = createImpersonationHint(options);
  return async (ctx: Context): Promise<CurrentImpersonation | undefined> => {
    if (!hint.isSet(ctx)) return undefined;
    // A request to oidc-provider has loaded the session already. The loaded session may have replaced a session that had ended.
    const { session } = (ctx as unknown as Partial<KoaContextWithOIDC>).oidc ?? {};
    const { accountId, act } = (session ?? (await provider().Session.get(ctx))) as OurSession;
    const [account, actor] = await Promise.all([accountId, act?.oid].map((oid) => oid && directory.accounts.findByOid(oid)));
    if (!account || !actor) return undefined;
    return { account, actor, ...present({ endAt: endImpersonationAt() }) };
  };
}

/** Returns the session of the browser with its account, if a user is signed in and the sign-in is usable. */
async function usableSession(parts: OidcParts, provider: Provider, ctx: Context) {
  const session = (await provider.Session.get(ctx)) as OurSession;
  const { accountId: oid, uid, loginTs } = session;
  const key = keyOf('Session', uid);
  if (oid === undefined || !key || loginTs === undefined) return undefined;
  const account = await parts.directory.accounts.findByOid(oid);
  const signIn = ofSession(session);
  return account && (await goesOn(parts, account, signIn)) ? { session, key, account, signIn } : undefined;
}

/** Returns whether a user is signed in with the browser by a usable sign-in, complete or not. */
export const isSignedIn = async (parts: OidcParts, provider: Provider, ctx: Context): Promise<boolean> =>
  (await usableSession(parts, provider, ctx)) !== undefined;

/**
 * Returns the sign-in of the browser if the sign-in is usable and complete. A sign-in that waits for a second factor, or for a requirement of the host,
 * does not count.
 * @param clientId the client that the user signs in to. @default the service itself
 */
export function createSignedIn(parts: OidcParts, provider: () => Provider, isComplete: IsComplete, recorder: SignInRecorder) {
  const find = createFindRecord(parts);
  return async (ctx: Context, clientId?: string): Promise<BrowserSignIn | undefined> => {
    const found = await usableSession(parts, provider(), ctx);
    if (!found) return undefined;
    const { session, key, account, signIn } = found;
    const { amr = [], idp = 'local', provenAt = {}, act, authTime } = signIn;
    const client = clientId === undefined ? undefined : await find(clientId);
    if (!(await isComplete(account, signIn, isClient(client) ? client : undefined))) return undefined;
    const recording = recorder.ofPage(ctx, key, session, clientId ?? parts.internalClients.service.id);
    if (recording !== undefined) await recording;
    const { method, used, impersonation, endsAt, mfaIn, heldTo, proof, owner = account.person.user.id } = session;
    return {
      session: digestOfKey(key),
      account,
      oid: account.person.user.id,
      amr,
      idp,
      authTime,
      provenAt,
      owner,
      ...(mfaIn === undefined || provenAt.mfa !== undefined ? {} : { mfaIn }),
      ...present({ heldTo, method, used }),
      ...(proof && { proof }),
      ...(act ? { act } : {}),
      ...present({ impersonation, endsAt }),
    };
  };
}

/**
 * Returns a name that is unique to the browser's sign-in and changes when the sign-in becomes complete. Returns the empty text if nobody is signed in, or
 * if the sign-in is no longer usable. If the state is unknown, each call returns another name.
 */
export const createSignInState =
  (parts: OidcParts, provider: () => Provider, isComplete: IsComplete) =>
  async (ctx: Context): Promise<string> => {
    const found = await usableSession(parts, provider(), ctx);
    if (!found) return '';
    const { accountId: oid, loginTs, impersonation } = found.session;
    const completeness = await isComplete(found.account, found.signIn).catch(() => randomUUID());
    return JSON.stringify([digestOfKey(found.key), oid, loginTs, impersonation, completeness]);
  };

/** Returns the sign-in of the browser, complete or not. */
export const createSignInToEnd =
  (provider: () => Provider) =>
  async (ctx: Context): Promise<SignInToEnd | undefined> => {
    const session = (await provider().Session.get(ctx)) as OurSession;
    const { uid, impersonation } = session;
    const key = keyOf('Session', uid);
    const ended = key && endedSignIn(session, key);
    return ended && { ...ended, ...present({ impersonation }) };
  };

/** Creates the middleware that refuses a browser with an impersonation. */
export const createInPerson =
  ({ showPage }: Pick<OidcParts, 'showPage'>, toEnd: ReturnType<typeof createSignInToEnd>): Middleware =>
  async (ctx, next) => {
    if (!(await toEnd(ctx))?.act) return next();
    ctx.status = 403;
    await showPage(ctx, { page: 'impersonation' });
  };
