/**
 * What of the context is one extension's. Its purposes and sectors begin with its name, which is checked. Its counters get the name in front. So neither another
 * extension nor the service comes by the same.
 */
import { namedLimits } from '../contract/attempt-limits.js';
import type { ExtensionLimits } from '../contract/context/limits.js';
import type { ExtensionContext } from '../contract/extension-context.js';
import { createLimits } from '../contract/limit.js';

/** What the contexts of all extensions share. */
export interface SharedContext extends Omit<ExtensionContext, 'limits'> {
  readonly limits: Omit<ExtensionLimits, 'limit'>;
}

/** The context of an extension, made of the one that all of them share. */
export function ownContext(extension: string, shared: SharedContext): ExtensionContext {
  /** @throws TypeError */
  const owned = (what: 'purpose' | 'sector', name: string): string => {
    if (name.split(/[ .:]/, 1)[0] === extension) return name;
    throw new TypeError(`the extension '${extension}' has the ${what} '${name}', which does not begin with its name`);
  };
  const { pseudonyms } = shared.claims;
  const attempts: ExtensionLimits['attempts'] = (counter, window, by) => shared.limits.attempts(`${extension} ${counter}`, window, by);
  return {
    ...shared,
    limits: { ...shared.limits, attempts, limit: namedLimits(shared.limits.rules, createLimits(attempts, shared.service.now)) },
    keys: { ...shared.keys, seal: (purpose) => shared.keys.seal(owned('purpose', purpose)) },
    ...(pseudonyms && {
      claims: {
        ...shared.claims,
        pseudonyms: {
          of: (sector, oid) => pseudonyms.of(owned('sector', sector), oid),
          oidOf: (sector, pseudonym) => pseudonyms.oidOf(owned('sector', sector), pseudonym),
        },
      },
    }),
  };
}
