import {
  type AccessToken,
  type Administrator,
  type ExtensionContext,
  IdpError,
  type MountedOperation,
  scopesOfClient,
  secondsUntil,
} from '../../lib/extension-door.js';
import { errors } from './errors.js';

/**
 * Returns the administrator that an access token stands for, with the present tenants of the client and the present permissions of the person. The API
 * resource refuses tokens of impersonations, so no token of an impersonation gets here.
 */
export async function administratorOf({ directory }: Pick<ExtensionContext, 'directory'>, token: AccessToken): Promise<Administrator> {
  const { client, account } = token;
  if (!account) return clientAlone(client);
  const { person, tenant } = account;
  const permissions = new Set((await directory.accounts.groups(person)).flatMap(({ permissionIds }) => permissionIds));
  return {
    actor: `user:${person.user.id}`,
    client,
    account,
    ofAllTenants: false,
    administers: (tid) => tid === tenant.id,
    permissionIds: [...permissions],
    holds: (id) => permissions.has(id),
  };
}

function clientAlone(client: Administrator['client']): Administrator {
  const ofAllTenants = client.adminTenants.includes('*');
  const scopes = scopesOfClient(client);
  return {
    actor: `client:${client.id}`,
    client,
    ofAllTenants,
    administers: (tid) => ofAllTenants || client.adminTenants.includes(tid),
    permissionIds: scopes,
    holds: (id) => scopes.includes(id),
  };
}

/**
 * Checks that the administrator may call the operation.
 * @throws IdpError `insufficient_scope`; `all_tenants_required`; `not_found` for a tenant that the administrator does not administer, and for an unknown
 * tenant
 */
export async function checkReach(
  { directory }: Pick<ExtensionContext, 'directory'>,
  administrator: Administrator,
  { scope, reach, path }: MountedOperation,
  { tid }: Readonly<Record<string, string>>,
): Promise<void> {
  if (administrator.account && !administrator.holds(scope)) throw new IdpError('insufficient_scope');
  if (path.startsWith('/tenants/{tid}')) {
    if (!(tid && administrator.administers(tid))) throw new IdpError('not_found');
    // Operations on the tenant itself look for the tenant, because they repair or remove an unreadable one.
    if (path !== '/tenants/{tid}' && !(await directory.tenants.get(tid))) throw new IdpError('not_found');
  }
  if (reach === 'instance' && !administrator.ofAllTenants) throw errors('all_tenants_required');
}

/** Counts a request towards the rate limit. @throws IdpError `rate_limited`. */
export async function countRequest(
  { limits: { limit }, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>,
  actor: string,
): Promise<void> {
  const { isOver, resetsAt } = await limit('adminRequests').attempt(actor);
  if (isOver) throw errors('rate_limited', { retryAfterSeconds: secondsUntil(resetsAt, now) });
}
