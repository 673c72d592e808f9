/** Scopes that a client may be allowed: the scopes that exist at that time. A scope that is removed later may stay, because it grants nothing. */
import { nearestName } from '../../nearest-name.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import type { DirectoryContext } from '../context.js';
import type { RecordProblem } from './client-metadata.js';

/** Returns identity scopes, the scopes of the admin API, and the API scopes of all API resources, disabled ones included. Reads the store and no cache. */
export async function existingScopes({
  collections,
  identityScopes,
  ownApi,
}: Pick<DirectoryContext, 'collections' | 'identityScopes' | 'ownApi'>): Promise<ReadonlySet<string>> {
  const apiResources = await collections.apiResources.find({});
  const ofOthers = apiResources.flatMap(({ scopes }) => scopes.filter((scope) => !isAdminScope(scope)));
  return new Set([...identityScopes, ...(ownApi?.().scopes ?? []), ...ofOthers]);
}

/** Returns the scopes to compare the wanted ones with. Reads the store only if some wanted scope is not an identity scope. */
export const existingScopesFor = async (wanted: readonly string[], context: DirectoryContext): Promise<ReadonlySet<string>> =>
  wanted.every((scope) => context.identityScopes.has(scope)) ? context.identityScopes : existingScopes(context);

/** Returns problems for the scopes that a client may not get. @param grantable existing scopes, and scopes that the client has. */
export const findScopeProblems = (allowedScopes: readonly string[], grantable: ReadonlySet<string>): readonly RecordProblem[] =>
  allowedScopes.flatMap((scope, index) => {
    if (grantable.has(scope)) return [];
    const didYouMean = nearestName(scope, [...grantable]);
    const problem = { path: `/allowedScopes/${index}`, expected: 'a scope of a claim set or of an API resource' };
    return [didYouMean === undefined ? problem : { ...problem, didYouMean }];
  });
