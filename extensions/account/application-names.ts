import type { ExtensionContext, InLanguage } from '../../lib/extension-door.js';

/**
 * Returns the names of applications, by their client ids, in alphabetical order. Leaves out removed and disabled clients, and pages of the service
 * itself.
 */
export async function applicationNames(
  { pages }: Pick<ExtensionContext, 'pages'>,
  clientIds: readonly string[],
): Promise<readonly string[]> {
  const clients = await Promise.all(clientIds.map((id) => pages.application(id)));
  return [...new Set(clients.flatMap((client) => client?.name ?? []))].toSorted();
}

/** Returns names as one text. */
export const listOfNames = (names: readonly string[]): InLanguage => ({
  inLanguage: (locale) => new Intl.ListFormat(locale, { type: 'conjunction' }).format(names),
});
