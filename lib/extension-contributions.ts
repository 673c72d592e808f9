/** What extensions add to one whole, where each part has one owner. */
import { ConfigError } from './errors.js';
import type { Extension, ExtensionContext } from './extension.js';

/**
 * Members of the discovery document.
 * @throws ConfigError `extension_conflict` when two extensions add the same.
 */
export function discoveryOf(extensions: readonly Extension[], context: ExtensionContext): Record<string, unknown> {
  const owners = new Map<string, string>();
  const document: Record<string, unknown> = {};
  for (const { name, discovery } of extensions) {
    for (const [member, value] of Object.entries(discovery?.(context) ?? {})) {
      const owner = owners.get(member);
      if (owner) throw conflict(`one owner of ${member} in discovery`, `${owner} and ${name}`);
      owners.set(member, name);
      document[member] = value;
    }
  }
  return document;
}

/** @throws ConfigError `extension_conflict` unless exactly one extension shows pages. */
export function pagesOf(extensions: readonly Extension[]): NonNullable<Extension['pages']> {
  const [owner, other] = extensions.filter(({ pages }) => pages !== undefined);
  if (owner?.pages && !other) return owner.pages;
  throw conflict('one extension that shows pages', [owner, other].flatMap((extension) => extension?.name ?? []).join(' and ') || 'none');
}

const conflict = (expected: string, received: string): ConfigError =>
  new ConfigError('extension_conflict', [{ path: 'extensions', expected, received }]);
