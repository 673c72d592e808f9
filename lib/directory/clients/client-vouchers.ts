/**
 * Vouchers of clients. A voucher has the scopes of the admin API that all writers of a client's credentials, redirect URIs and other metadata held.
 * - The service does not grant the client a scope that the voucher does not cover.
 * - A login hint signs in no user whose privileges exceed the voucher.
 *
 * So a secret or a redirect URI from before a grant gives no access until a holder of the scopes confirms it.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import type { Client, Voucher } from '../../store/records/records.js';
import type { Authority, DirectoryContext } from '../context.js';
import { type VouchedMeans, weaker } from '../vouchers.js';

/** A client with the voucher of its writers. */
export type Vouched = Pick<Client, 'vouchedBy'>;

/** Returns the voucher of the context's caller for a client. Callers administer all tenants, so only their scopes limit the voucher. */
export function clientVoucherFor({ vouching }: Pick<DirectoryContext, 'vouching'>): Voucher {
  if ('by' in vouching) return vouching;
  return { by: 'tenant', tids: [], permissionIds: vouching.permissionIds.filter(isAdminScope) };
}

/** Returns whether the voucher of a client covers a scope. Only scopes of the admin API need a voucher. */
const isCovered = ({ vouchedBy }: Vouched, scope: string): boolean =>
  vouchedBy?.by !== 'tenant' || !isAdminScope(scope) || vouchedBy.permissionIds?.includes(scope) === true;

/**
 * Returns the scopes that the client may have: its allowed scopes, except scopes of the admin API that its voucher does not cover.
 * @example
 * ```ts
 * import { scopesOfClient } from 'tenant-idp/extension';
 *
 * const vouchedBy = { by: 'tenant', permissionIds: ['idp.clients:read'] } as const;
 * console.log(scopesOfClient({ allowedScopes: ['openid', 'idp.clients:read', 'idp.users:read'], vouchedBy })); // ['openid', 'idp.clients:read']
 * ```
 */
export const scopesOfClient = (client: Pick<Client, 'allowedScopes' | 'vouchedBy'>): readonly string[] =>
  client.vouchedBy?.by === 'tenant' ? client.allowedScopes.filter((scope) => isCovered(client, scope)) : client.allowedScopes;

/**
 * Returns the authority of the writers of a client together: the scopes that all of them held.
 * @example
 * ```ts
 * import { authorityOfClient } from 'tenant-idp/extension';
 *
 * const { holds } = authorityOfClient({ vouchedBy: { by: 'tenant', permissionIds: ['idp.clients:read'] } });
 * console.log(holds('idp.clients:read'), holds('idp.users:read')); // true false
 * ```
 */
export const authorityOfClient = (client: Vouched): Authority => ({
  ofAllTenants: true,
  administers: () => true,
  permissionIds: client.vouchedBy?.permissionIds ?? [],
  holds: (scope) => isCovered(client, scope),
});

/** A client as a means of sign-in: a writer of its credentials, redirect URIs or other metadata can get its privileges. */
export interface ClientMeans extends Omit<VouchedMeans, 'tid'> {
  /** Names of members that others wrote. */
  readonly members: readonly string[];
}

/**
 * Returns the members of a client that others wrote, as a means to its privileges.
 * @example
 * ```ts
 * import { type Client, meansOfClient } from 'tenant-idp/extension';
 *
 * export const writtenMembers = (client: Client): readonly string[] => meansOfClient(client).members;
 * ```
 */
export const meansOfClient = ({ id, secrets, metadata, vouchedBy }: Client): ClientMeans => ({
  kind: 'client',
  id,
  members: [...(secrets.length > 0 ? ['secrets'] : []), ...Object.keys(metadata).map((name) => `metadata.${name}`)],
  vouchedBy,
  revision: createHash('sha256')
    .update(JSON.stringify([secrets, metadata]))
    .digest('base64url'),
});

/**
 * Returns the client with the voucher of its last write.
 * @param vouchedBy of the writer
 * @param isConfirmed whether the writer also vouches for members that others wrote
 */
export function withClientVoucher(before: Client, next: Client, vouchedBy: Voucher, isConfirmed = false): Client {
  const isWritten = !isDeepStrictEqual([before.secrets, before.metadata], [next.secrets, next.metadata]);
  const written = isWritten ? weaker(before.vouchedBy, vouchedBy) : before.vouchedBy;
  const given = isConfirmed ? vouchedBy : written;
  // Only a limited voucher is recorded.
  const recorded = given?.by === 'tenant' ? given : undefined;
  if (isDeepStrictEqual(recorded, before.vouchedBy)) return next;
  const { vouchedBy: _, ...rest } = next;
  return { ...rest, ...(recorded && { vouchedBy: recorded }) };
}
