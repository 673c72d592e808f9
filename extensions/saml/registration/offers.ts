/** What the service has to give service providers. */
import type { ExtensionContext } from '../../../lib/extension-door.js';

/** Claims that service providers may get: those about accounts, which can be somebody's name there, and all. */
export function claimNames({ claims }: Pick<ExtensionContext, 'claims'>) {
  const declared = claims.declared.flatMap(({ name, targets }) => (targets.includes('saml') ? [name] : []));
  const ofAccounts: ReadonlySet<string> = new Set(['sub', 'oid', 'tid', ...declared]);
  const all: ReadonlySet<string> = new Set(['idp', 'amr', 'act', ...ofAccounts]);
  return { ofAccounts, all };
}

/** Whether a user can have another name at each service provider. */
export const hasPseudonyms = ({ claims: { pseudonyms } }: Pick<ExtensionContext, 'claims'>): boolean => pseudonyms !== undefined;
