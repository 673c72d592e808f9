import type { Account, Attribution, Directory, ExtensionContext } from '../../lib/extension-door.js';

/**
 * Ends every sign-in by the credential of a user, including the sign-ins of linked users. The service cannot tell which sign-ins rest on a removed factor,
 * because a sign-in with the factor may be in progress.
 */
export async function signOutOf(
  { sessions, directory }: Pick<ExtensionContext, 'sessions'> & { readonly directory: Pick<Directory, 'accounts'> },
  owner: Account,
  by: Attribution,
): Promise<void> {
  for (const { person, tenant } of await directory.accounts.family(owner.person))
    await sessions.endAll({ tid: tenant.id, userId: person.user.id }, by, 'factor');
}
