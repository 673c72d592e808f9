/** What extensions add to one whole, where each part has one owner. */
import { ConfigError } from '../errors.js';
import type { Extension, ExtensionContext } from './extension.js';
import type { GrantType } from './grant-type.js';
import { sharedClaims } from './shared-claims.js';

/**
 * Members of the discovery document.
 * @throws ConfigError `extension_conflict` when two extensions add the same.
 */
export function discoveryOf(extensions: readonly Extension[], context: ExtensionContext): Record<string, unknown> {
  const added = extensions.map(({ name: owner, discovery }) => ({ owner, members: discovery?.(context) ?? {} }));
  const conflicts = sharedClaims(added, ({ members }) => Object.keys(members).map((member) => `${member} in discovery`));
  if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
  return Object.assign({}, ...added.map(({ members }) => members));
}

/** What clients may be registered with here. */
export const clientRulesOf = ({ configure }: { readonly configure?: unknown }, extensions: readonly Extension[]) => ({
  ownMetadata: configure !== undefined,
  takenPrefixes: extensions.flatMap(({ name, clients }) => (clients ? [`${name}:`] : [])),
  grantTypes: new Set(extensions.flatMap(({ grantTypes = {} }) => Object.keys(grantTypes))),
  addedMetadata: new Map(extensions.flatMap(({ clientMetadata = {} }) => Object.entries(clientMetadata))),
});

/** One thing of each extension that has it, by the extension's name; made when they are first asked for. */
export function byExtension<T>(
  extensions: readonly Extension[],
  context: () => ExtensionContext,
  of: (extension: Extension) => ((context: ExtensionContext) => T) | undefined,
): () => ReadonlyMap<string, T> {
  let made: ReadonlyMap<string, T> | undefined;
  return () => {
    made ??= new Map(
      extensions.flatMap((extension) => {
        const create = of(extension);
        return create ? [[extension.name, create(context())] as const] : [];
      }),
    );
    return made;
  };
}

/** Grant types by name, each made when it is first asked for. */
export function grantTypesOf(extensions: readonly Extension[], context: () => ExtensionContext): ReadonlyMap<string, () => GrantType> {
  const all = extensions.flatMap(({ grantTypes = {} }) => Object.entries(grantTypes));
  return new Map(
    all.map(([name, create]) => {
      let made: GrantType | undefined;
      return [name, () => (made ??= create(context()))];
    }),
  );
}

/** Of the extension that shows pages: the options were checked for one. */
export function pagesOf(extensions: readonly Extension[]): NonNullable<Extension['pages']> {
  const [pages] = extensions.flatMap((extension) => extension.pages ?? []);
  return pages as NonNullable<typeof pages>;
}
