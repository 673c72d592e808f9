import { type Account, type Directory, isUsable, subOf } from '../../directory/index.js';
import { ownerOf, type PinnedLogin, sessionNameOf } from './login-context.js';
import { isAllowedMethod } from './requirements.js';

/** What a session says about its sign-in. */
interface SignedIn {
  readonly uid?: string | undefined;
  readonly accountId?: string | undefined;
  readonly loginTs?: number | undefined;
  readonly sub?: string | undefined;
  readonly idp?: string | undefined;
  readonly owner?: string | undefined;
  readonly act?: PinnedLogin['act'] | undefined;
}

/**
 * The accounts that this sign-in is good for, the current one first: those linked to it whose `sub` it proved, which are usable, whose tenants
 * allow its method, and whose account links count. What else a tenant asks is asked after the switch.
 */
export async function reachableAccounts({ accounts, means }: Directory, session: SignedIn): Promise<readonly Account[]> {
  const { accountId, loginTs = 0, sub, act } = session;
  const current = accountId === undefined ? undefined : await accounts.findByOid(accountId);
  const since = new Date(loginTs * 1000);
  const owner = accountId === undefined ? undefined : ownerOf(accountId, session);
  const name = sessionNameOf(session);
  if (!current || !isUsable(current, since, owner, name)) return [];
  // Who acts as somebody does not go on as somebody else.
  if (act !== undefined) return [current];
  const family = await accounts.family(current.person);
  const reached = family.filter(
    (account) =>
      account.person.user.id === accountId ||
      (subOf(account.person.user) === sub && isUsable(account, since, owner, name) && isAllowedMethod(account, session)),
  );
  // A permission may have been granted since the account was linked.
  const admitted = await Promise.all(reached.map((account) => account.person.user.id === accountId || means.admits(account)));
  return reached.filter((_, index) => admitted[index]);
}

/** Members of a sign-in that depend on its account. */
interface OfAccount {
  readonly accountId?: string | undefined;
  readonly owner?: string | undefined;
  readonly amr?: readonly string[] | undefined;
  /** Set where the provider said `mfa`. */
  readonly mfaIn?: string | undefined;
  readonly provenAt?: Readonly<Record<string, number>> | undefined;
}

/** Returns the members of a sign-in for another account that it opens. The owner of the credential stays the same. */
export const signInAs = (
  signIn: OfAccount,
  account: Account,
): { readonly accountId: string; readonly owner?: string; readonly amr: string[] } => {
  const owner = signIn.owner ?? signIn.accountId;
  return { accountId: account.person.user.id, ...(owner === undefined ? {} : { owner }), amr: amrFor(account, signIn) };
};

/**
 * Returns the `amr` of a sign-in for an account. `mfa` from a provider of one tenant counts in that tenant alone. A second factor of this service, which
 * has its time in `provenAt`, counts in every tenant.
 */
export function amrFor({ tenant }: Account, { amr = [], mfaIn, provenAt }: OfAccount): string[] {
  if (mfaIn === undefined) return [...amr];
  const others = amr.filter((each) => each !== 'mfa');
  return mfaIn === tenant.id || provenAt?.mfa !== undefined ? [...others, 'mfa'] : others;
}
