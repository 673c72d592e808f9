/**
 * Uniqueness of NameIDs that administrators of a tenant decide. At a service provider of all tenants, users of two tenants may have the same NameID. Each
 * user could then sign in as the other user.
 */
import type { ExtensionContext } from '../../../lib/extension-door.js';
import type { ServiceProvider } from './records.js';

interface Named extends Pick<ServiceProvider, 'tid' | 'allowedTenants'> {
  readonly nameId: Pick<ServiceProvider['nameId'], 'format' | 'claim'>;
}

/**
 * Returns whether users of two tenants may have the same NameID at the service provider. Tenants in `allowedTenants` trust each other, so they do not
 * count.
 */
export function mayShareNames(
  { tid, nameId: { format, claim }, allowedTenants }: Named,
  { records: { ofInstance } }: Pick<ExtensionContext, 'records'>,
): boolean {
  const isUniqueInTenant = format === 'emailAddress' || (format === 'unspecified' && claim !== 'sub' && claim !== 'oid');
  return isUniqueInTenant && tid === ofInstance && allowedTenants === undefined;
}

/** Alternatives to `allowedTenants` for an administrator who wants a NameID of this kind at the instance's entity. */
export const otherWaysToUniqueNames =
  "register it at a tenant's entity (POST /tenants/{tid}/saml-service-providers; option tenantEntities), or set nameId.format to persistent (option subjectSalt)";
