/** Claims that a request asks for by name, with the parameter `claims`. @see OpenID Connect Core §5.5 */
import type { ClaimResolver } from '../../claims/resolver.js';
import type { Client } from '../../store/records/records.js';

type Claims = Pick<ClaimResolver, 'declarations'>;

/** Returns the scopes that would grant these claims. */
export function scopesOfClaims({ declarations }: Claims, names: readonly string[]): readonly string[] {
  return [...new Set(declarations.filter(({ name }) => names.includes(name)).map(({ scope }) => scope))];
}

/** Returns the requested claims that the client could have by a scope, and the requested claims that the protocol always issues. */
export function claimsAllowed({ declarations }: Claims, client: Client, asked: readonly string[]): ReadonlySet<string> {
  const { allowedScopes } = client;
  return new Set(asked.filter((name) => scopesOfClaims({ declarations }, [name]).every((scope) => allowedScopes.includes(scope))));
}

/** Returns the names in a `claims` parameter that was checked. */
export function claimsAskedFor(parameter: string | undefined): readonly string[] {
  if (parameter === undefined) return [];
  const { userinfo = {}, id_token: idToken = {} } = JSON.parse(parameter) as Record<string, object | undefined>;
  return [...new Set([...Object.keys(userinfo), ...Object.keys(idToken)])];
}
