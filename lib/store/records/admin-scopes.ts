/**
 * Returns whether a scope belongs to the admin API. The admin API is the service's own API resource. Scopes of the admin API are granted only when a
 * request names them, and discovery does not list them.
 * @example
 * ```ts
 * import { isAdminScope } from 'tenant-idp/extension';
 *
 * console.log(isAdminScope('idp.users:read'), isAdminScope('orders.read')); // true false
 * ```
 */
export const isAdminScope = (scope: string): boolean => scope.startsWith('idp.');
