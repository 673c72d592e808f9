import type { ExtensionContext, InLanguage } from '../../lib/extension-door.js';

/**
 * Returns the names of applications, by their client ids, in alphabetical order. Leaves out removed and disabled clients, and the service itself, for which
 * users sign in to see their own pages.
 */
export async function applicationNames(
  { service, pages }: Pick<ExtensionContext, 'service' | 'pages'>,
  clientIds: readonly string[],
): Promise<readonly string[]> {
  const clients = await Promise.all(clientIds.map((id) => pages.client(id)));
  const own = new URL(service.issuer).host;
  return [...new Set(clients.flatMap((client) => (client && client.name !== own ? client.name : [])))].toSorted();
}

/** Returns names as one text. */
export const listOfNames = (names: readonly string[]): InLanguage => ({
  inLanguage: (locale) => new Intl.ListFormat(locale, { type: 'conjunction' }).format(names),
});
