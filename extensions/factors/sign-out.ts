import type { Account, Attribution, Directory, ExtensionContext } from '../../lib/extension-door.js';

/**
 * Ends every sign-in that the credential of a user made, of linked users too: which of them rest on a factor that is gone, nobody can tell of one that is
 * on its way.
 */
export async function signOutOf(
  { sessions, directory }: Pick<ExtensionContext, 'sessions'> & { readonly directory: Pick<Directory, 'accounts'> },
  owner: Account,
  by: Attribution,
): Promise<void> {
  for (const { person, tenant } of await directory.accounts.family(owner.person))
    await sessions.endAll({ tid: tenant.id, userId: person.user.id }, by);
}
