/** Choice of the parent account of two accounts. The child account takes the `sub` and the credentials of the parent account. */
import { type Account, type Directory, type ExtensionContext, mayLinkAccounts } from '../../lib/extension-door.js';

/** Reasons why two accounts cannot be linked. */
export type Refusal = 'same' | 'linked' | 'tenant' | 'families' | 'privileged' | 'policy';

export interface Pairing {
  readonly parent: Account;
  readonly child: Account;
}

/** Returns the ways to link two accounts, the default first, or the reason why there is none. */
export async function pairingsOf(
  { directory, service: { personalTenant } }: Pick<ExtensionContext, 'directory' | 'service'>,
  one: Account,
  other: Account,
): Promise<readonly Pairing[] | Refusal> {
  if (idOf(one) === idOf(other)) return 'same';
  const [parentOfOne, parentOfOther] = [await parentOf(directory, one), await parentOf(directory, other)];
  if (!parentOfOne || !parentOfOther) return 'families';
  if (idOf(parentOfOne) === idOf(parentOfOther)) return 'linked';
  const pairings = [
    { parent: parentOfOne, child: other },
    { parent: parentOfOther, child: one },
  ].filter(({ child: { person } }) => person.user.parentUserId === undefined && !person.user.isParent);
  if (pairings.length === 0) return 'families';
  if (await shareTenant(directory, one, other)) return 'tenant';
  const open = pairings.filter(({ parent, child }) => mayLinkAccounts(parent.tenant) && mayLinkAccounts(child.tenant));
  if (open.length === 0) return 'policy';
  // The account of a user with privileges in the admin API never becomes a child account, because the parent account could sign in to it.
  const allowed: Pairing[] = [];
  for (const pairing of open) if ((await directory.privileges.of(pairing.child.person)).length === 0) allowed.push(pairing);
  if (allowed.length === 0) return 'privileged';
  return allowed.sort((left, right) => Number(isPersonal(right)) - Number(isPersonal(left)));

  function isPersonal({ parent }: Pairing): boolean {
    return parent.tenant.id === personalTenant;
  }
}

export const idOf = ({ person }: Account): string => person.user.id;

async function parentOf({ accounts }: Directory, account: Account): Promise<Account | undefined> {
  const { parentUserId } = account.person.user;
  return parentUserId === undefined ? account : accounts.findByOid(parentUserId);
}

/** Returns whether both accounts have a linked account in the same tenant. Linked accounts are in different tenants. */
async function shareTenant({ accounts }: Directory, one: Account, other: Account): Promise<boolean> {
  const [tids, others] = await Promise.all(
    [one, other].map(async ({ person }) => (await accounts.family(person)).map(({ tenant }) => tenant.id)),
  );
  return tids?.some((tid) => others?.includes(tid)) === true;
}
