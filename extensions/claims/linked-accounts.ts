import type { ClaimContext, LinkedAccount } from '../../lib/claims/contract.js';

/** Whether there can be other accounts: spares everybody else the look-up. */
export const isLinked = ({ user }: ClaimContext): boolean => user.isParent || user.parentUserId !== undefined;

/** The accounts of the family but for the subject's own; undefined when there are none. */
export async function otherAccounts({ user, lookups }: ClaimContext): Promise<readonly LinkedAccount[] | undefined> {
  const accounts = await lookups.linkedAccounts();
  const others = accounts.filter(({ person }) => person.user.id !== user.id);
  return others.length === 0 ? undefined : others;
}
