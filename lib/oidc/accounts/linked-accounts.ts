import { type Account, subOf } from '../../directory/index.js';
import { present } from '../../present.js';
import type { OidcParts } from '../context.js';
import { goesOn } from './going-on.js';
import type { OurSession } from './login-context.js';
import { isAllowedMethod, ofSession } from './requirements.js';

/**
 * Returns the accounts that the sign-in opens, the current account first. A linked account is among them if:
 * - the account has the `sub` that the sign-in proved,
 * - the account is usable,
 * - the tenant of the account allows the method, and
 * - the account link counts.
 *
 * Other requirements of the tenant are checked after the switch.
 */
export async function reachableAccounts(parts: Pick<OidcParts, 'directory' | 'logger'>, session: OurSession): Promise<readonly Account[]> {
  const { accounts, means } = parts.directory;
  const { accountId, sub, act } = session;
  const signIn = ofSession(session);
  const current = accountId === undefined ? undefined : await accounts.findByOid(accountId);
  if (!current || !(await goesOn(parts, current, signIn))) return [];
  // An impersonator does not switch to other accounts.
  if (act !== undefined) return [current];
  const family = await accounts.family(current.person);
  const isReached = async (account: Account): Promise<boolean> =>
    account.person.user.id === accountId ||
    (subOf(account.person.user) === sub &&
      isAllowedMethod(account, session) &&
      (await goesOn(parts, account, signIn)) &&
      // An account may have got a permission after it was linked.
      (await means.admits(account)));
  const reached = await Promise.all(family.map(isReached));
  return family.filter((_, index) => reached[index]);
}

/** Members of a sign-in that depend on its account. */
interface OfAccount {
  readonly accountId?: string | undefined;
  readonly owner?: string | undefined;
  readonly amr?: readonly string[] | undefined;
  /** Set if the provider sent `mfa`. */
  readonly mfaIn?: string | undefined;
  readonly provenAt?: Readonly<Record<string, number>> | undefined;
}

/** Returns the members of a sign-in for another account that the sign-in opens. The owner of the credential stays the same. */
export const signInAs = (
  signIn: OfAccount,
  account: Account,
): { readonly accountId: string; readonly owner?: string; readonly amr: string[] } => {
  const owner = signIn.owner ?? signIn.accountId;
  return { accountId: account.person.user.id, ...present({ owner }), amr: amrFor(account, signIn) };
};

/**
 * Returns the `amr` of a sign-in for an account. `mfa` from a provider of one tenant counts in that tenant alone. A second factor of this service has its
 * time in `provenAt`, and counts in every tenant.
 */
export function amrFor({ tenant }: Account, { amr = [], mfaIn, provenAt }: OfAccount): string[] {
  if (mfaIn === undefined) return [...amr];
  const others = amr.filter((each) => each !== 'mfa');
  return mfaIn === tenant.id || provenAt?.mfa !== undefined ? [...others, 'mfa'] : others;
}
