import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { ActingHere } from '../../contract/sign-in/acting.js';
import type { BrowserSignIn } from '../../contract/sign-in/logout-participant.js';
import { isUsable } from '../../directory/index.js';
import { digestOfKey } from '../../store/artifact-key.js';
import type { OurSession } from '../accounts/login-context.js';
import { isStrongEnough, ofSession } from '../accounts/requirements.js';
import { keyOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import { createActingHint } from './cookies.js';

/** Who acts as whom in the browser that asks. */
export function createActingHere({ options, directory }: OidcParts, provider: () => Provider) {
  const hint = createActingHint(options);
  return async (ctx: Context): Promise<Omit<ActingHere, 'endAt'> | undefined> => {
    if (!hint.isSet(ctx)) return undefined;
    // A request to oidc-provider has read it already; what it read may have taken the place of one that was over.
    const { session } = (ctx as unknown as Partial<KoaContextWithOIDC>).oidc ?? {};
    const { accountId, act } = (session ?? (await provider().Session.get(ctx))) as OurSession;
    const [account, actor] = await Promise.all([accountId, act?.oid].map((oid) => oid && directory.accounts.findByOid(oid)));
    return account && actor ? { account, actor } : undefined;
  };
}

/** Who is signed in in the browser that asks, as long as that may go on: a sign-in that was voided, or is too weak for the tenant by now, is none. */
export const createSignedIn =
  ({ directory }: OidcParts, provider: () => Provider) =>
  async (ctx: Context): Promise<BrowserSignIn | undefined> => {
    const session = (await provider().Session.get(ctx)) as OurSession;
    const { accountId: oid, uid, loginTs } = session;
    const key = keyOf('Session', uid);
    const account = oid === undefined || !key ? undefined : await directory.accounts.findByOid(oid);
    if (!account || !key || loginTs === undefined || !isUsable(account, new Date(loginTs * 1000))) return undefined;
    const { amr = [], idp = 'local', provenAt = {}, act, authTime } = ofSession(session);
    if (!isStrongEnough(account, ofSession(session))) return undefined;
    const { method, acting, endsAt } = session;
    return {
      session: digestOfKey(key),
      account,
      oid: account.person.user.id,
      amr,
      idp,
      authTime,
      provenAt,
      ...(method === undefined ? {} : { method }),
      ...(act ? { act } : {}),
      ...(acting === undefined ? {} : { acting }),
      ...(endsAt === undefined ? {} : { endsAt }),
    };
  };
