/** The subject identifier `sub`, before it is made pairwise. A grant asserts one `sub` for its whole life. */
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Account, subOf } from '../../directory/index.js';
import type { Accounts } from './account.js';
import { currentRequest, type OurGrant, type PinnedLogin, pinnedLogin } from './login-context.js';

/** Returns the `sub` that the sign-in stored, even if accounts were linked later. A grant of a host stores no `sub`: returns the account's `sub`. */
export const subjectOf = (account: Account, login: Pick<PinnedLogin, 'sub'> | undefined): string =>
  login?.sub ?? subOf(account.person.user);

/** Returns the `sub` of the request's grant. Without a grant (for a logout token), returns the `sub` of the session's grant for the client. */
export async function subjectForClient(
  accounts: Accounts,
  ctx: KoaContextWithOIDC | undefined,
  oid: string,
  clientId: string,
): Promise<string> {
  const pinned = pinnedLogin(ctx);
  if (pinned) return pinned.sub;
  const request = ctx ?? currentRequest();
  const grantId = request?.oidc.session?.grantIdFor(clientId);
  const grant = grantId ? await request?.oidc.provider.Grant.find(grantId, { ignoreExpiration: true }) : undefined;
  if (grant && (grant as OurGrant).accountId === oid) return (grant as OurGrant).login.sub;
  const account = await accounts.loadFresh(request ?? {}, oid);
  return account ? subjectOf(account, undefined) : oid;
}
