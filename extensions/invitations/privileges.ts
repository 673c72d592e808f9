import type { Directory, PersonWithUser } from '../../lib/extension-door.js';

/** What a user may do in the admin API. */
export async function privilegesOf({ accounts }: Pick<Directory, 'accounts'>, person: PersonWithUser): Promise<readonly string[]> {
  const groups = await accounts.groups(person);
  return groups.flatMap(({ permissionIds }) => permissionIds.filter((id) => id.startsWith('idp.')));
}
