/** `sub`, before the client's own view of it: a grant asserts one for life. */
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Account, subOf } from '../../directory/index.js';
import type { Accounts } from './account.js';
import { currentRequest, type OurGrant, type PinnedLogin, pinnedLogin } from './login-context.js';

/** The one that the sign-in pinned, whatever was linked since; without one (a host's own grant), the account's. */
export const subjectOf = (account: Account, login: Pick<PinnedLogin, 'sub'> | undefined): string =>
  login?.sub ?? subOf(account.person.user);

/** That of the request's grant; where no grant is at hand (a logout token), of the session's grant for the client. */
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
  const account = await accounts.load(request ?? {}, oid);
  return account ? subjectOf(account, undefined) : oid;
}
