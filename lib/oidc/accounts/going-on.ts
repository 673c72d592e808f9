import { type Awaitable, onceThere } from '../../awaitable.js';
import { type Account, isUsable } from '../../directory/index.js';
import type { OidcParts } from '../context.js';
import { ownerOf, type PinnedLogin } from './login-context.js';

/** An earlier sign-in, as its session or grant stores it. */
export interface BegunSignIn {
  readonly authTime?: number | undefined;
  readonly owner?: string | undefined;
  readonly session?: string | undefined;
  readonly idp?: string | undefined;
  readonly used?: string | undefined;
  readonly act?: PinnedLogin['act'] | undefined;
}

/**
 * Returns whether a session or a grant of the sign-in may continue for the account. All of these have to hold:
 * - The account is usable.
 * - The account of the used credential is usable.
 * - The means of the sign-in still covers the privileges of the account.
 *
 * An administrator of a tenant may have vouched for the means before the account got a privilege.
 */
export function goesOn(
  { directory, logger }: Pick<OidcParts, 'directory' | 'logger'>,
  account: Account,
  signIn: BegunSignIn,
): Awaitable<boolean> {
  const { authTime, session, act, used, idp = 'local' } = signIn;
  const { id } = account.person.user;
  const owner = ownerOf(id, signIn);
  if (!isUsable(account, authTime === undefined ? undefined : new Date(authTime * 1000), owner, session)) return false;
  // An impersonation rests on the means of the impersonator. The means is judged for the impersonator's account.
  if (act) return true;
  return onceThere(directory.means.goesOn({ idp, used, owner }, account), (may) => {
    if (!may) logger.info({ reason: 'unconfirmed', tenant: account.tenant.id, user: id, idp }, 'sign-in not continued');
    return may;
  });
}
