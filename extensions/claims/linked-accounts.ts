import type { ClaimContext, ClaimRecords, LinkedAccount } from '../../lib/extension-door.js';

/** Returns a value of each linked account; undefined if there are none. */
export function ofOtherAccounts<Value>(
  { user, linkedAccounts }: Pick<ClaimContext, 'user'> & Pick<ClaimRecords, 'linkedAccounts'>,
  read: (account: LinkedAccount) => readonly Value[],
): readonly Value[] | undefined {
  if (linkedAccounts.length === 1) return undefined;
  const others = linkedAccounts.filter(({ person }) => person.user.id !== user.id);
  return others.length === 0 ? undefined : others.flatMap(read);
}
