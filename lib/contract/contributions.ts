/** What extensions add to one whole, where each part has one owner. */
import { ConfigError } from '../errors.js';
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

/** Of the extension that shows pages: the options were checked for one. */
export function pagesOf(extensions: readonly Extension[]): NonNullable<Extension['pages']> {
  const [pages] = extensions.flatMap((extension) => extension.pages ?? []);
  return pages as NonNullable<typeof pages>;
}

const conflict = (expected: string, received: string): ConfigError =>
  new ConfigError('extension_conflict', [{ path: 'extensions', expected, received }]);
