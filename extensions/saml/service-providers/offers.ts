/** What the service has to give service providers. */
import type { ExtensionContext } from '../../../lib/extension-door.js';

/** Beside those that are declared. */
const ofSignIn = ['sub', 'oid', 'tid', 'idp', 'amr', 'act'];

/** Claims that service providers may get. */
export const claimNames = ({ claims }: Pick<ExtensionContext, 'claims'>): ReadonlySet<string> =>
  new Set([...ofSignIn, ...claims.declared.flatMap(({ name, targets }) => (targets.includes('saml') ? [name] : []))]);

/** Whether a user can have another name at each service provider. */
export const hasPseudonyms = ({ pseudonyms }: Pick<ExtensionContext, 'pseudonyms'>): boolean => pseudonyms !== undefined;
