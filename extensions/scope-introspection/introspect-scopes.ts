import { type Caller, type Client, type ExtensionContext, IdpError } from '../../lib/extension-door.js';

interface Query {
  /** A `sub` or `oid`, as the caller sees it. */
  readonly sub: string;
  readonly scope?: string | undefined;
  readonly tid?: string | undefined;
  /** Client that got `sub`, if that is not the caller. */
  readonly clientId?: string | undefined;
}

type Claims = Record<string, unknown>;

/**
 * Returns the current claims of a user for these scopes. A user who may not sign in, or is of a tenant that is not the caller's, does not exist.
 * @param caller absent for the service itself, which sees everything
 * @throws IdpError `invalid_scope`, `insufficient_scope`, `tid_required`, `not_found`.
 */
export async function introspectScopes(
  { claims, directory }: ExtensionContext,
  { sub, scope, tid, clientId }: Query,
  caller?: Caller,
): Promise<Claims> {
  const scopes = scopesOf(scope);
  for (const name of scopes) if (!claims.scopes.has(name)) throw new IdpError('invalid_scope');
  if (caller && 'allowedScopes' in caller)
    for (const name of scopes) if (!caller.allowedScopes.includes(name)) throw new IdpError('insufficient_scope');

  // Reads and writes ids as one client sees them. A caller that could read them as every client does could compare pseudonyms.
  const viewer = clientId === undefined ? caller : await clientOf(directory, clientId, caller);
  const id = await claims.userIdOf(sub, viewer);
  const named = id === undefined ? [] : await directory.accounts.recentNamed(id);
  const [account, other] = named.filter(
    ({ tenant }) =>
      [caller, viewer].every((each) => each?.allowedTenants?.includes(tenant.id) ?? true) && (tid === undefined || tenant.id === tid),
  );
  if (!account) throw new IdpError('not_found');
  if (other) throw new IdpError('tid_required');
  return claims.about(account, scopes, 'scope_introspection', caller, viewer);
}

/** Returns the client whose tokens the caller may introspect, so that the caller knows its users. @throws IdpError `not_found`. */
async function clientOf({ clients }: ExtensionContext['directory'], id: string, caller: Caller | undefined): Promise<Client> {
  const client = await clients.get(id);
  const ownScopes = caller && 'scopes' in caller ? caller.scopes : [];
  const mayIntrospect = !caller || caller.introspects === 'all' || client?.allowedScopes.some((scope) => ownScopes.includes(scope));
  if (client?.status !== 'active' || !mayIntrospect) throw new IdpError('not_found');
  return client;
}

const scopesOf = (scope = ''): ReadonlySet<string> => {
  const names = scope.split(' ').filter((name) => name !== '');
  return new Set(names.length > 0 ? names : ['perms']);
};

/** Calls {@link introspectScopes} in process, for a named caller instead of an authenticated caller. @throws IdpError also `invalid_client`. */
export const introspectScopesFor =
  (context: ExtensionContext) =>
  async ({ client: id, ...query }: Query & { readonly client?: string }): Promise<Claims> => {
    const { clients, apiResources } = context.directory;
    const caller = id === undefined ? undefined : ((await clients.get(id)) ?? (await apiResources.get(id)));
    if (id !== undefined && caller?.status !== 'active')
      throw new IdpError('invalid_client', {}, { cause: caller ? 'the client is disabled' : 'the client is unknown' });
    return introspectScopes(context, query, caller);
  };
