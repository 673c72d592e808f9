/** Scopes that a client may be allowed: those that exist when it gets them. A scope that is removed later may stay, because it grants nothing. */
import { nearestName } from '../../nearest-name.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import type { DirectoryContext } from '../context.js';
import type { RecordProblem } from './client-metadata.js';

/** Identity scopes, those of the admin API, and the API scopes of all API resources as they are kept now, past every cache; disabled ones count. */
export async function existingScopes({
  collections,
  identityScopes,
  ownApi,
}: Pick<DirectoryContext, 'collections' | 'identityScopes' | 'ownApi'>): Promise<ReadonlySet<string>> {
  const apiResources = await collections.apiResources.find({});
  const ofOthers = apiResources.flatMap(({ scopes }) => scopes.filter((scope) => !isAdminScope(scope)));
  return new Set([...identityScopes, ...(ownApi?.().scopes ?? []), ...ofOthers]);
}

/** The scopes to compare the wanted ones with. The store is asked only when the wanted scopes are not all identity scopes. */
export const existingScopesFor = async (wanted: readonly string[], context: DirectoryContext): Promise<ReadonlySet<string>> =>
  wanted.every((scope) => context.identityScopes.has(scope)) ? context.identityScopes : existingScopes(context);

/** The scopes that a client may not get. @param grantable those that exist, and those that it has. */
export const findScopeProblems = (allowedScopes: readonly string[], grantable: ReadonlySet<string>): readonly RecordProblem[] =>
  allowedScopes.flatMap((scope, index) => {
    if (grantable.has(scope)) return [];
    const didYouMean = nearestName(scope, [...grantable]);
    const problem = { path: `/allowedScopes/${index}`, expected: 'a scope of a claim set or of an API resource' };
    return [didYouMean === undefined ? problem : { ...problem, didYouMean }];
  });
