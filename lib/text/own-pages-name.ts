/**
 * Returns the name of the internal clients that sign users in to the service's own pages: the host of the issuer. Pages say “your account” instead of this
 * name.
 * @example
 * ```ts
 * import { type ExtensionContext, type InternalClient, ownPagesName } from 'tenant-idp/extension';
 *
 * export const badgesClient = ({ service }: ExtensionContext): InternalClient => ({
 *   name: ownPagesName(service.issuer),
 *   returnTo: '/badges/return',
 * });
 * ```
 */
export const ownPagesName = (issuer: string): string => new URL(issuer).host;
