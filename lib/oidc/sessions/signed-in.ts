import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { BrowserSignIn } from '../../contract/sign-in/logout-participant.js';
import { isUsable } from '../../directory/index.js';
import { digestOfKey } from '../../store/artifact-key.js';
import type { OurSession } from '../accounts/login-context.js';
import { isStrongEnough, ofSession } from '../accounts/requirements.js';
import { keyOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';

/** Who is signed in in the browser that asks, as long as that may go on: a sign-in that was voided, or is too weak for the tenant by now, is none. */
export const createSignedIn =
  ({ directory }: OidcParts, provider: () => Provider) =>
  async (ctx: Context): Promise<BrowserSignIn | undefined> => {
    const session = (await provider().Session.get(ctx)) as OurSession;
    const { accountId: oid, uid, loginTs } = session;
    const key = keyOf('Session', uid);
    const account = oid === undefined || !key ? undefined : await directory.accounts.findByOid(oid);
    if (!account || !key || loginTs === undefined || !isUsable(account, new Date(loginTs * 1000))) return undefined;
    const { amr = [], idp = 'local', provenAt = {}, method, act, authTime } = ofSession(session);
    if (!isStrongEnough(account, ofSession(session))) return undefined;
    const signedIn = { oid: account.person.user.id, amr, idp, authTime, provenAt, ...(act ? { act } : {}) };
    return { session: digestOfKey(key), account, ...signedIn, ...(method === undefined ? {} : { method }) };
  };
