/**
 * Switch to another account in a signed-in browser.
 *
 * An account of the same person takes over the session, and no session ends. A switch to the account of another person is a full logout first. Until the
 * sign-in is complete, and the session has a new secret, the session belongs to nobody.
 */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction as ProviderInteraction } from 'oidc-provider';
import type { SignIn } from '../../contract/sign-in/interaction.js';
import { subOf } from '../../directory/index.js';
import { begunIn, type OurSession } from '../accounts/login-context.js';
import { keyOf } from '../artifacts/ids.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import type { OidcParts } from '../context.js';
import { giveSession } from '../sessions/begun-sign-ins.js';
import { LogoutNotices } from '../sessions/logout-notices.js';
import { endWithAside, isSameSignIn } from '../sessions/sessions.js';

/** Members of the new sign-in for the session. */
interface Begun {
  readonly loginTs: number;
  readonly owner: string;
  readonly used: string | undefined;
  readonly mfaIn: string | undefined;
  readonly heldTo: string | undefined;
}

/** @param find returns the sign-in of this browser for the other account */
export function createAccountSwitch(
  parts: OidcParts,
  provider: () => Provider,
  find: (ctx: Context) => Promise<ProviderInteraction | undefined>,
) {
  const { directory, artifacts, browserState, options } = parts;
  return async (ctx: Context, { oid, amr, idp, method, proof }: SignIn, { loginTs, owner, used, mfaIn, heldTo }: Begun): Promise<void> => {
    const found = (await provider().Session.get(ctx)) as OurSession;
    const { uid, accountId, act } = found;
    if (!accountId || (accountId === oid && !act)) return;
    const details = await find(ctx);
    const [before, after] = await Promise.all([accountId, oid].map((id) => directory.accounts.findByOid(id)));
    const isSamePerson = !act && before && after && subOf(before.person.user) === subOf(after.person.user);
    const signedIn = { accountId: oid, loginTs, amr: [...amr], idp, method, used, owner, mfaIn, heldTo, proof, provenAt: undefined };
    // The session may have begun at another address. The members of the former sign-in are cleared, because `begunIn` leaves out unknown members.
    const here = { browser: undefined, system: undefined, address: undefined, ...begunIn(ctx, options) };
    const takeOver = (now: SessionPayload): SessionPayload | undefined =>
      isSameSignIn(now, found) ? { ...now, ...signedIn, ...here } : undefined;
    const isTakenOver = isSamePerson && (await giveSession(parts, keyOf('Session', uid), takeOver)) !== undefined;
    if (details?.session) {
      details.session = { uid, ...(isTakenOver ? { accountId: oid } : {}) } as typeof details.session;
      await details.persist();
    }
    if (isTakenOver) return;
    const notices = new LogoutNotices(parts);
    await endWithAside(artifacts, uid, (before, key) => notices.enqueue(before, key), true);
    browserState.clear(ctx);
    notices.release();
  };
}
