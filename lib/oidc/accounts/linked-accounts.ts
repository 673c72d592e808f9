import { type Account, type Directory, isUsable, subOf } from '../../directory/index.js';

/** What a session says about its sign-in. */
interface SignedIn {
  readonly accountId?: string | undefined;
  readonly loginTs?: number | undefined;
  readonly amr?: readonly string[] | undefined;
  readonly sub?: string | undefined;
  readonly idp?: string | undefined;
}

/**
 * The accounts that this sign-in is good for, the current one first: those linked to it whose `sub` it proved, which are usable, and whose tenants
 * ask for nothing stronger.
 */
export async function reachableAccounts({ accounts }: Directory, session: SignedIn): Promise<readonly Account[]> {
  const { accountId, loginTs = 0, sub } = session;
  const current = accountId === undefined ? undefined : await accounts.findByOid(accountId);
  const since = new Date(loginTs * 1000);
  if (!current || !isUsable(current, since)) return [];
  const family = await accounts.family(current.person);
  return family.filter(
    (account) =>
      account.person.user.id === accountId ||
      (subOf(account.person.user) === sub && isUsable(account, since) && isStrongEnough(account, session)),
  );
}

/** Whether the tenant asks for no more than this sign-in. */
export function isStrongEnough({ tenant: { signIn = {} } }: Account, { amr, idp }: SignedIn): boolean {
  const { requireMfa = false, methods } = signIn;
  const isSecured = !requireMfa || amr?.includes('mfa') === true;
  return isSecured && (methods === undefined || methods.includes(idp === 'local' ? 'password' : (idp ?? '')));
}
