/**
 * Whether a scope is of the admin API. These belong to the service's own API resource, are granted only when they are asked for by name, and discovery lists
 * none.
 * @example
 * ```ts
 * import { isAdminScope } from 'tenant-idp/extension';
 *
 * console.log(isAdminScope('idp.users:read'), isAdminScope('orders.read')); // true false
 * ```
 */
export const isAdminScope = (scope: string): boolean => scope.startsWith('idp.');
