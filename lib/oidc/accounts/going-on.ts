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
export const goesOn = (parts: Pick<OidcParts, 'directory' | 'logger'>, account: Account, signIn: BegunSignIn): Awaitable<boolean> =>
  isUsableStill(account, signIn) && onceThere(isCovered(parts, account, signIn), (may) => may || refuse(parts, account, signIn));

/** {@link goesOn}, without a log line. The calling code asks {@link goesOn} before it refuses the sign-in. */
export const seemsToGoOn = (parts: Pick<OidcParts, 'directory'>, account: Account, signIn: BegunSignIn): Awaitable<boolean> =>
  isUsableStill(account, signIn) && isCovered(parts, account, signIn);

function isUsableStill(account: Account, signIn: BegunSignIn): boolean {
  const { authTime, session } = signIn;
  const owner = ownerOf(account.person.user.id, signIn);
  return isUsable(account, authTime === undefined ? undefined : new Date(authTime * 1000), owner, session);
}

function isCovered({ directory }: Pick<OidcParts, 'directory'>, account: Account, signIn: BegunSignIn): Awaitable<boolean> {
  const { act, used, idp = 'local' } = signIn;
  // An impersonation rests on the means of the impersonator. The means is judged for the impersonator's account.
  return act ? true : directory.means.goesOn({ idp, used, owner: ownerOf(account.person.user.id, signIn) }, account);
}

function refuse({ logger }: Pick<OidcParts, 'logger'>, { person, tenant }: Account, { idp = 'local' }: BegunSignIn): false {
  logger.info({ reason: 'unconfirmed', tenant: tenant.id, user: person.user.id, idp }, 'sign-in not continued');
  return false;
}
