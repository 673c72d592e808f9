import { type Account, type Directory, isUsable, subOf } from '../../directory/index.js';
import type { PinnedLogin } from './login-context.js';
import { isAllowedMethod } from './requirements.js';

/** What a session says about its sign-in. */
interface SignedIn {
  readonly accountId?: string | undefined;
  readonly loginTs?: number | undefined;
  readonly sub?: string | undefined;
  readonly idp?: string | undefined;
  readonly act?: PinnedLogin['act'] | undefined;
}

/**
 * The accounts that this sign-in is good for, the current one first: those linked to it whose `sub` it proved, which are usable, and whose tenants
 * allow its method. What else a tenant asks is asked after the switch.
 */
export async function reachableAccounts({ accounts }: Directory, session: SignedIn): Promise<readonly Account[]> {
  const { accountId, loginTs = 0, sub, act } = session;
  const current = accountId === undefined ? undefined : await accounts.findByOid(accountId);
  const since = new Date(loginTs * 1000);
  if (!current || !isUsable(current, since)) return [];
  // Who acts as somebody does not go on as somebody else.
  if (act !== undefined) return [current];
  const family = await accounts.family(current.person);
  return family.filter(
    (account) =>
      account.person.user.id === accountId ||
      (subOf(account.person.user) === sub && isUsable(account, since) && isAllowedMethod(account, session)),
  );
}
